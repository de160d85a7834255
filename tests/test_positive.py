"""What counts as well received is a definition of the task, resolved from the community's earlier scores."""

from __future__ import annotations

import asyncio

import pytest
from small_world import small_store, turn

from evaluation.benchmark.spec import BenchSpec
from evaluation.options import of_asks, opted, split
from evaluation.positive import Cut, Positive
from evaluation.running import asks
from evaluation.scoring import Scored, score
from evaluation.tasks import ask as ask_of
from evaluation.tasks import load
from memory.errors import BadInput, PersonaconvError
from memory.message import Message

EARLIER = [4, 3, 0, 2]


def scored(positive: str) -> dict[tuple[str, str], Scored]:
    turns = [turn("sentiment", "positive"), turn("sentiment", "positive", "t1_x")]
    rows = asyncio.run(score(turns, small_store(), {"sentiment": {"positive": positive}}))
    return {(row.slot, row.system.removeprefix("baseline:")): row for row in rows}


@pytest.mark.parametrize(
    ("text", "cut", "positive", "not_positive"),
    [
        (">0", Cut(0), [1], [0, -1]),
        (">=5", Cut(5, True), [5, 9], [4]),
        (">-3", Cut(-3), [-2, 0], [-3]),
        (">median", Cut(2.5), [3], [2]),
        (">q0.9", Cut(3.7), [4], [3]),
    ],
)
def test_a_definition_is_resolved_from_earlier_scores(
    text: str, cut: Cut, positive: list[int], not_positive: list[int]
) -> None:
    found = Positive.of(text).cut(EARLIER)
    assert (round(found.at, 9), found.ends) == (cut.at, cut.ends)
    assert all(found.holds(s) for s in positive) and not any(found.holds(s) for s in not_positive)


@pytest.mark.parametrize("text", ["", "0", "<3", ">q1.5", ">=", ">many", ">1e5"])
def test_what_is_no_definition_is_said_with_the_forms(text: str) -> None:
    with pytest.raises(BadInput, match=r">0, >=5, >median, >q0\.9"):
        Positive.of(text)


@pytest.mark.parametrize(
    ("text", "truths", "share"),
    [(">0", "np", 2 / 3), (">median", "np", 1 / 3), (">=7", "nn", 0.0), (">-3", "pp", 1.0), (">q0.9", "np", 1 / 3)],
)
def test_truths_and_baselines_go_by_the_same_definition_and_every_row_names_it(
    text: str, truths: str, share: float
) -> None:
    rows = scored(text)
    assert "".join(str(rows[slot, "model"].truth)[0] for slot in ("t1_x", "t1_z")) == truths
    majority = rows["t1_z", "community_majority"]
    assert majority.detail["p"] == share and majority.value == ("positive" if share >= 0.5 else "negative")
    assert all(row.options == {"positive": text} for row in rows.values())
    assert all(("cut" in row.detail) == (text != ">0") for row in rows.values())


def test_later_scores_move_no_threshold() -> None:
    assert scored(">median")["t1_x", "model"].detail["cut"] == 2.0  # not 50, the score of the latest message


def test_the_question_says_the_definition_and_its_examples_fit_it() -> None:
    for text in (">=5", ">-3", ">median", ">q0.9"):
        [_, ask] = asks([f"sentiment:positive={text}"])
        positive = Positive.of(text)
        assert positive.said in ask.question and "above 0" not in ask.question.replace(positive.said, "")
        cut = positive.cut([3.0])
        for question, answer in ask.examples:
            got = int(question.partition("One got ")[2].partition(":")[0].partition(",")[0])
            assert load("sentiment").truth(Message("", "", None, None, 0, "", got), cut) == answer
    assert of_asks({"sentiment": {"options": [["positive", ">=5"]]}, "reply": {}}) == {
        "sentiment": {"positive": ">=5"},
        "reply": {},
    }


def test_without_options_nothing_changes() -> None:
    ask = ask_of("sentiment")
    assert opted(ask, {}) is ask and opted(ask, {"positive": ">0"}).question == ask.question
    assert asks() == asks(["sentiment", "impact"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("sentiments:positive=>0", "sentiment"),
        ("sentiment:positve=>0", "positive"),
        ("sentiment:positive", "samples=5"),
        ("sentiment:positive=many", ">median"),
        ("generation:positive=>0", "generation"),
    ],
)
def test_a_wrong_option_is_said_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(PersonaconvError, match=said):
        split(text)
    with pytest.raises(BadInput, match=said):
        BenchSpec.of({"tasks": [text]})


def test_a_benchmark_takes_options_with_its_tasks_or_by_name() -> None:
    named = BenchSpec.of({"tasks": ["sentiment:positive=>median", "impact"]})
    assert (named.tasks, named.options) == (("sentiment", "impact"), {"sentiment": {"positive": ">median"}})
    listed = {"tasks": ["sentiment", "impact"], "options": {"sentiment": {"positive": ">median"}}}
    assert BenchSpec.of(listed) == named
    with pytest.raises(BadInput, match="corrected protocol"):
        BenchSpec.of({"protocol": "reference", "tasks": ["sentiment:positive=>median"]})
