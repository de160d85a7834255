"""The impact probe by option: several answers, an expectation, a JSON schema, an interval; read as it is declared."""

from __future__ import annotations

import asyncio
import json
import math
from dataclasses import replace
from typing import Any

import pytest
from small_world import NEW, small_store, turn

from evaluation.metrics.numbers import interval_score
from evaluation.options import split
from evaluation.running import asks
from evaluation.scoring import MODEL, Scored, score, table
from evaluation.tasks import ask, load
from memory.errors import BadInput
from memory.retrievers.none import Policy as Nothing
from simulator.llm import Completion, ModelError, Request
from simulator.openai_chat import OpenAIChat
from simulator.records import Turn
from simulator.testing import Scripted
from simulator.turn import Cast, take_turn

IMPACT = load("impact")


class Kept:
    def __init__(self) -> None:
        self.done: dict[Any, Turn] = {}

    def append(self, turn: Turn) -> None:
        self.done[turn.key] = turn


def played(probe: str, *says: Any) -> tuple[Turn, list[Request]]:
    """One impact turn under the options of `probe`, answered in turn by `says`."""
    model = Scripted(list(says))
    cast = Cast("run", "replay", small_store(), Nothing(), "none", model, Kept(), (asks([probe])[1],))
    [made] = asyncio.run(take_turn(turn("impact", "").slot, NEW, cast, "true words"))
    return made, model.requests


def rows(probe: str, *turns: Turn) -> list[Scored]:
    return asyncio.run(score(list(turns), small_store(), {"impact": split(probe)[1]}))


def test_several_answers_are_drawn_kept_and_counted_with_the_failed_ones() -> None:
    lost = ModelError("transport", "gone")
    made, requests = played("impact:samples=5", "3", "about 9", lost, "none", "4")
    assert len({r.seed for r in requests}) == 5 and {r.temperature for r in requests} == {0.7}
    assert [c.text if c else None for c in made.samples] == ["about 9", None, "none", "4"]
    assert len(made.answers) == 4
    assert IMPACT.read(made) == 4.0 and IMPACT.read(made, {"by": "mean"}) == pytest.approx(16 / 3)
    told = IMPACT.detail(made)
    assert told == {"path": "text", "samples": 5.0, "unread": 2.0, "mean": pytest.approx(16 / 3), "median": 4.0}


def said(text: str, **odds: float) -> Completion:
    return Completion(text, logprobs={token.replace("_", ""): math.log(p) for token, p in odds.items()})


WHOLE = said("12", _12=0.5, _4=0.2, _100=0.05, many=0.25)  # a tokenizer that writes three digits at once


@pytest.mark.parametrize(
    ("done", "known", "mass"),
    [
        (WHOLE, "known", 0.75),
        (said("12", _1=0.6, _4=0.2), "cut", 0.8),  # digit by digit, as it shows in the answer
        (said("4", _1=0.3, _4=0.6), "cut", 0.9),  # as it may be: "1" can begin 123
        (said("1234", _123=0.6, _12=0.2), "cut", 0.8),
        (said("1,200", _1=0.6, _12=0.2), "cut", 0.8),
        (said("12.5", _12=0.6, _4=0.2), "cut", 0.8),
        (said("12", _12=0.3, _4=0.1, about=0.6), "weak", 0.4),
        (Completion("12"), "weak", 0.0),
    ],
)
def test_an_expectation_is_known_where_numbers_are_whole_tokens(done: Completion, known: str, mass: float) -> None:
    found = IMPACT.expected(done)  # type: ignore[attr-defined]
    assert found[1:] == (pytest.approx(mass), known)


def test_an_expectation_weighs_the_numbers_among_the_first_tokens() -> None:
    made, [request] = played("impact:by=expected", WHOLE)
    assert request.top_logprobs > 0
    assert IMPACT.read(made, {"by": "expected"}) == pytest.approx((12 * 0.5 + 4 * 0.2 + 100 * 0.05) / 0.75)
    told = IMPACT.detail(made, {"by": "expected"})
    assert told == {"path": "logprobs", "expectation": "known", "mass": pytest.approx(0.75)}


def test_without_one_the_mean_of_the_answers_is_taken_and_the_share_is_a_column() -> None:
    by = {"by": "expected"}
    cut, _ = played("impact:by=expected,samples=3", said("12", _1=0.6, _4=0.2), "3", "9")
    assert IMPACT.read(cut, by) == 8.0
    assert (IMPACT.detail(cut, by)["path"], IMPACT.detail(cut, by)["expectation"]) == ("text", "cut")
    known, _ = played("impact:by=expected", WHOLE)
    lost = replace(known, slot=turn("impact", "", "t1_x").slot, completion=None, failure="transport")
    model, *others = table(rows("impact:by=expected", known, lost))
    assert (model.system, model.metrics["expectations"]) == (MODEL, 0.5)
    assert all("expectations" not in cell.metrics for cell in others)


def test_a_json_schema_is_sent_and_the_answer_read_by_its_fields_else_as_text() -> None:
    made, [request] = played("impact:schema=yes,interval=80", '{"score": 3, "low": -1, "high": 9}')
    assert json.loads(request.schema)["required"] == ["score", "low", "high"]
    told = IMPACT.detail(made, {"interval": "80"})
    assert (IMPACT.read(made), told) == (3.0, {"path": "json", "low": -1.0, "high": 9.0})
    chat = OpenAIChat.__new__(OpenAIChat)
    chat._model, chat._limit = "m", "max_tokens"
    assert chat._body(request)["response_format"]["json_schema"]["schema"] == json.loads(request.schema)
    assert "response_format" not in chat._body(replace(request, schema=""))
    assert IMPACT.read(turn("impact", "about 4")) == 4.0 and IMPACT.read(turn("impact", '{"score": "high"}')) is None


@pytest.mark.parametrize(
    ("text", "ends"),
    [("3 (1 to 9)", (1, 9)), ("3 (-2 to 0)", (-2, 0)), ("3", None), ("3 (9 to 1)", None), ('{"low": 1}', None)],
)
def test_an_interval_has_two_ends_the_right_way_round(text: str, ends: tuple[float, float] | None) -> None:
    assert IMPACT.interval(text) == ends  # type: ignore[attr-defined]


def test_coverage_counts_the_unread_and_stands_beside_the_communitys_quantiles() -> None:
    probe = "impact:interval=80"
    found = rows(probe, turn("impact", "3 (1 to 9)"), turn("impact", "many", "t1_x"))  # true: 6 and -1
    cells = {cell.system: cell for cell in table(found)}
    model = {r.slot: r.metrics for r in found if r.system == MODEL}
    assert (model["t1_z"]["covered"], model["t1_z"]["interval_score"]) == (1.0, 8.0)
    assert (model["t1_x"]["covered"], model["t1_x"]["interval_score"]) == (0.0, pytest.approx(10 * 3))  # stands at 2
    assert cells[MODEL].metrics["coverage"] == 0.5 and cells[MODEL].stamps["coverage"].endswith(", 80 %")
    there = cells["baseline:community_median"].metrics  # of 3 0 2: 0.4 to 2.8
    assert there["coverage"] == 0.0 and "coverage" not in cells["baseline:one"].metrics
    assert "coverage" not in table(rows("impact", turn("impact", "3")))[0].metrics
    assert interval_score(5, 1, 9, 80) == 8 and interval_score(10, 1, 9, 80) == pytest.approx(8 + 10)


@pytest.mark.parametrize(
    ("text", "said"),
    [("samples=1", "from 2 to 50"), ("by=most", "median, mean, expected"), ("schema=no", "yes"), ("interval=x", "50")],
)
def test_what_an_option_cannot_be_is_said(text: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        split(f"impact:{text}")


def test_without_options_the_question_is_as_it_was() -> None:
    assert asks(["impact"])[1] == ask("impact")
