"""Habits: what is counted, and that a text cannot say more through them than single words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.habits import HABITS, card, traits
from memory.message import Message
from tests.threads import message


def said(*texts: str, place: str = "cycling") -> list[Message]:
    return [replace(message(f"m{n}", "t", None, "ann", n, text), place=place) for n, text in enumerate(texts)]


def shown(text: str) -> set[str]:
    found = traits(said(text)[0])
    assert found
    return {habit for habit, shows in zip(HABITS, found.shows, strict=True) if shows}


@pytest.mark.parametrize(
    ("text", "habits"),
    [
        ("Fine.", set()),
        ("fine then.", {"no capital at the start", "all in lower case"}),
        ("fine, Bob.", {"no capital at the start"}),
        ("Really?!", {"questions", "exclamation marks"}),
        ("Well...", {"trailing dots"}),
        ("Well… no", {"trailing dots", "no final full stop"}),
        ("One.\n\nTwo.", {"several paragraphs"}),
        ("See https://x.org/.", {"links"}),
        ("Nice 🚲.", {"emoji"}),
        ("But I’m here.", {"the word I"}),
        ("それは違う。", set()),
        ("42.", set()),
    ],
)
def test_each_habit_is_seen_where_it_is_and_nowhere_else(text: str, habits: set[str]) -> None:
    assert shown(text) == habits


def test_the_card_says_length_habits_openers_stance_emoji_place_and_hours() -> None:
    texts = ["yeah maybe 🚲 you are right", "yeah maybe not, 🚲", "yeah! I definitely see it 🚲 so", "Hm"]
    assert card(said(*texts)).split("\n") == [
        "Usually about 6 words, half of the messages 4 to 7.",
        "Often: no capital at the start, all in lower case, no final full stop, emoji.",
        "Never: questions, trailing dots, several paragraphs, links.",
        "Often begins with: yeah.",
        "Stance: yeah (agreeing), maybe (hedging).",
        "Favourite emoji: 🚲.",
        "Writes in: cycling.",
        "Mostly between 00:00 and 06:00 UTC.",
    ]


def test_what_is_quoted_is_nobodys_habit() -> None:
    assert card(said("> WHAT?!\nno.", "> maybe maybe", "> x")).startswith("Usually about 1 words.")
    assert card(said("> maybe", "")) == ""


def test_a_skin_tone_is_no_emoji_of_its_own() -> None:
    found = traits(said("👍🏽 👍🏽")[0])
    assert found and found.emoji == ("👍",)


@given(st.lists(st.text(), min_size=1, max_size=4), st.text(max_size=60))
def test_a_card_has_at_most_eight_lines_whatever_the_texts_and_places_hold(texts: list[str], place: str) -> None:
    made = card(said(*texts, *texts, *texts, place=place))
    assert len(made.splitlines()) <= 8
    assert not set(made) & set("<>|\x1b\u202e")


def test_equal_messages_make_equal_cards_in_any_order_of_equals() -> None:
    messages = said("b maybe", "a perhaps", "b perhaps", "a maybe")
    assert card(messages) == card(reversed(messages))
