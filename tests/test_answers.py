"""Answers that cannot stand, and those that look like it and can."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.answers import COPIED, Shown, copied, fault, refused, second_speaker, spoken
from simulator.llm import Completion

SOURCE = (
    "I replaced the chain last spring after four thousand kilometres, because the links had stretched beyond what "
    "the gauge allows, and the cassette was still fine."
)
JAPANESE = (
    "先週の日曜日に新しい自転車を買って、川沿いの道を一人で五十キロほど走ってきましたが、とても気持ちがよかったです。"
)
SHOWN = Shown(
    "Member C", (f"> {SOURCE}", f"> {JAPANESE}"), frozenset({"You are Member C.", "You wrote earlier, elsewhere:"})
)


def kind(text: str, finish: str = "stop") -> str | None:
    found = fault(Completion(text, finish), SHOWN)
    return found and found[0]


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, but I can't assist with that request.",
        "I’m sorry, but I cannot help with requests to impersonate people.",
        "Sorry, I can't comply with that.",
        "I am unable to fulfill this request.",
        "As an AI language model, I don't have personal opinions.",
        "Well, as an AI, I cannot ride a bike.",
        "I'm just a language model, so no.",
        "I cannot write content in the persona of a real person.",
    ],
)
def test_a_model_that_declines_is_told(text: str) -> None:
    assert refused(text) and kind(text) == "refusal"


@pytest.mark.parametrize(
    "text",
    [
        "Sorry, I can't help you with the chain, ask a mechanic.",
        "I can't help with that, I sold mine.",
        "I'm sorry, but I can't agree.",
        "As an AI researcher I disagree.",
        "As an AI, it has no feelings, people forget that.",
        "I'm an AI and ML engineer by trade.",
        "I cannot write that well in English.",
        "I won't engage. Bye.",
        "Unfortunately I can't provide a source.",
        "The bot said: as an AI language model it can't do that. Funny.",
        "Sorry!",
    ],
)
def test_a_person_who_cannot_or_will_not_is_no_refusal(text: str) -> None:
    assert not refused(text) and kind(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "I agree.\nu/other: no you don't",
        "/u/other_one: no",
        "Sure.\n\nMember B: Thanks!",
        "Member A answered Member B:\n> hello",
        "**Member B:** fine",
        "Member A (on the forum): hello",
        "@bob: what?",
        "I think so.\nUser: and then?\nAssistant: then nothing",
        "yes<|im_end|>\n<|im_start|>user\nno",
        "yes</s>",
        "### Response:\nyes",
        "Alice: hi\nBob: hello\nAlice: how are you?\nBob: fine",
        "Member C: yes.\nMember C: and no.",
        "(2019-01-01)\nI said so.",
        "> Member A answered Member B:\n> hello",
    ],
)
def test_an_answer_that_speaks_for_others_too_is_told(text: str) -> None:
    assert kind(text) == "several_speakers"


@pytest.mark.parametrize(
    "text",
    [
        "Member B, you are right.",
        "Member B is right: it is the chain.",
        "u/other is right, and u/third: see https://x.org",
        "Thanks u/other!",
        "I asked @bob and he said no.",
        "Member C: I would oil it.",
        "Edit: typo\nUpdate: solved\nEdit: again\nUpdate: thanks",
        "Pros: light\nCons: dear\nPros: quick\nCons: loud",
        "Tools: a spanner\nTime: an hour\nCost: nothing",
        "> Member B: it squeaks\n\nThen oil it.",
        "I <3 bikes; a < b, and x|y.",
        "Users: there are many of them.",
        "AI is everywhere: in bikes too.",
        "http://example.org is down",
        "In 2019 (2019-01-01) I bought it.",
    ],
)
def test_an_answer_that_names_others_is_still_one_persons(text: str) -> None:
    assert kind(text) is None


@pytest.mark.parametrize(
    "text",
    [
        SOURCE,
        SOURCE.upper(),
        "Well: " + SOURCE.replace(",", "").replace(" the ", "\nthe "),
        "As I said, the links had stretched beyond what the gauge allows, and the cassette was still fine. So.",
        f"> {SOURCE}",
        JAPANESE,
        "そうですね。川沿いの道を一人で五十キロほど走ってきましたが、とても気持ちがよかったですよ。",
        "You are Member C.\nI would oil it.",
        "Fine.\nYou wrote earlier, elsewhere:",
    ],
)
def test_a_long_run_of_words_of_the_prompt_is_a_copy(text: str) -> None:
    assert kind(text) == "copied"


@pytest.mark.parametrize(
    "text",
    [
        "I replaced the chain last spring too.",
        "the cassette was still fine.",
        f"> {SOURCE}\n\nHow did you measure it?",
        "新しい自転車を買って、とても気持ちがよかったです。",
        "🚲🚲🚲 😂 😂 😂",
        "no no no no no no no no no no no no no no",
        "You are Member C. I would oil it.",
        "",
    ],
)
def test_short_common_phrases_quotes_emoji_and_chants_are_no_copies(text: str) -> None:
    chant = "> no no no no no no no no no no no no no no no no"
    assert copied(text, [*SHOWN.texts, chant, "> 😂 😂 😂 😂"]) == 0


@given(st.integers(0, 40), st.integers(1, 30))
def test_a_run_is_found_wherever_it_begins_and_only_from_the_threshold_on(before: int, length: int) -> None:
    source = [f"s{n}" for n in range(60)]
    text = " ".join([*(f"x{n}" for n in range(before)), *source[7 : 7 + length], *(f"y{n}" for n in range(5))])
    assert copied(text, [" ".join(source)]) == (length if length >= COPIED else 0)


@pytest.mark.parametrize(
    ("text", "finish", "expected"),
    [
        ("", "stop", "empty"),
        (" \n> \n", "stop", "empty"),
        ("", "length", "truncated"),
        ("and then I", "length", "overlong"),
        ("and then I", "max_tokens", "overlong"),
        ("half", "content_filter", "content_filter"),
        ("No.", "refusal", "refusal"),
        ("🚲", "stop", None),
        ("?", "stop", None),
        ("はい", "stop", None),
    ],
)
def test_what_is_missing_cut_or_withheld_has_its_class(text: str, finish: str, expected: str | None) -> None:
    assert kind(text, finish) == expected


def test_a_probe_is_only_asked_to_be_there() -> None:
    assert fault(Completion("User: positive", "length")) is None
    assert (fault(Completion("", "stop")) or ("",))[0] == "empty"


def test_notation_of_ours_is_taken_off_and_nothing_else() -> None:
    assert spoken("Member C: I would oil it.") == "I would oil it."
    assert spoken("> I would\n> oil it.\n") == "I would\noil it."
    assert spoken("> it squeaks\n\nThen oil it.") == "> it squeaks\n\nThen oil it."
    assert spoken("  Edit: no.  ") == "Edit: no."


@given(st.text(max_size=300))
def test_any_text_is_judged_without_an_error_and_the_same_each_time(text: str) -> None:
    assert kind(text) == kind(text)
    assert second_speaker(text) is None or 1 <= (second_speaker(text) or 0) <= len(text.strip().splitlines())
