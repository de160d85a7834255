"""Who speaks: cards rest on enough messages, are renewed in steps, and are made once."""

from __future__ import annotations

import pytest

from memory.message import Thread
from simulator.persona import LATEST, REFRESH, Cards, Persona, community_card, milestone, own_card
from simulator.testing import Leaves, Shelf
from tests.threads import message


def past(n: int) -> Leaves:
    own = [message(f"m{i}", "t", None, "ann", i, " ".join(["word"] * (i + 1))) for i in range(n)]
    return Shelf((Thread.of("t", own),)).history("ann", before=n)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_too_few_messages_make_no_card(n: int) -> None:
    assert own_card(past(n)) == community_card(past(n).messages) == Persona()


def test_a_card_is_the_same_until_enough_has_been_written() -> None:
    assert own_card(past(3)).habits != own_card(past(4)).habits
    assert own_card(past(REFRESH)) == own_card(past(2 * REFRESH - 1)) != own_card(past(2 * REFRESH))
    assert [milestone(n) for n in (0, 7, 10, 19, 20)] == [0, 7, 10, 10, 20]


def test_a_card_looks_at_the_latest_messages_alone() -> None:
    long = past(4 * LATEST)
    assert own_card(long).habits == community_card(long.messages[-LATEST:]).habits


def test_a_card_says_whose_messages_it_rests_on() -> None:
    assert (own_card(past(5)).source, community_card(past(5).messages).source, Persona().source) == (
        "own",
        "community",
        "none",
    )


def test_a_card_is_made_once_for_each_state_of_a_past() -> None:
    cards = Cards()
    assert cards.of(past(12)) is cards.of(past(15))
    assert cards.of(past(15)) is not cards.of(past(15), "t")
