"""How likely the true text is as a reply: asked where a server can tell, in bits a byte, failures counted as 8."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_world import small_store, turn

from bench.stub_server import completion
from evaluation.benchmark import tables
from evaluation.benchmark.command import bench
from evaluation.benchmark.spec import BenchSpec
from evaluation.likelihood import WEIGHS, likelihood, weighing
from evaluation.metrics import UNIFORM
from evaluation.running import asks
from evaluation.scoring import MODEL, score, table
from memory.errors import BadInput
from simulator.answering import WEIGHED
from simulator.likelihood import by_prompt, by_steps
from simulator.llm import Completion, Likelihood, ModelError, Request
from simulator.testing import Scripted
from tests.dumps import imported
from tests.test_benchmark_corrected import dump
from tests.test_benchmark_run import loaded, say

REQUEST = Request((("user", "x" * 400),), 1, given="so it is")


def asked(answer: Any, ask: Any) -> tuple[Likelihood, list[tuple[str, dict[str, Any]]]]:
    seen: list[tuple[str, dict[str, Any]]] = []

    async def post(path: str, body: dict[str, Any]) -> Any:
        seen.append((path, body))
        return answer(path, body)

    return asyncio.run(ask(post)), seen


def test_a_prompt_with_log_probabilities_is_read_from_where_the_words_begin() -> None:
    def answer(path: str, body: dict[str, Any]) -> Any:
        characters = sum(len(m["content"]) for m in body["messages"])
        return completion(body, 0, characters // 4)

    found, seen = asked(answer, lambda post: by_prompt(post, "m", "openai:m", REQUEST))
    assert found == Likelihood(0.5 * 2, 2, 8)  # 400 and 408 characters, 4 of them a token, each -0.5
    assert [body.get("continue_final_message") for _, body in seen] == [None, True]
    assert seen[1][1]["messages"][-1] == {"role": "assistant", "content": "so it is"}


@pytest.mark.parametrize("told", [{}, {"prompt_logprobs": None}, {"prompt_logprobs": [None]}])
def test_an_endpoint_that_cannot_tell_ends_the_run_with_one_sentence(told: dict[str, Any]) -> None:
    def answer(path: str, body: dict[str, Any]) -> Any:
        return {"usage": {"prompt_tokens": 100}} | told

    with pytest.raises(ModelError, match=r"openai:m gives no probabilities.*prompt_logprobs") as error:
        asked(answer, lambda post: by_prompt(post, "m", "openai:m", REQUEST))
    assert error.value.fatal


def test_steps_force_each_token_and_look_parts_of_characters_up_in_the_whole_list() -> None:
    tokens = {"prompt": [1, 2], "so it is": [10, 11, 12], ".": [9]}

    def answer(path: str, body: dict[str, Any]) -> Any:
        if path == "/apply-template":
            return {"prompt": "prompt"}
        if path == "/tokenize":
            return {"tokens": tokens[body["content"]]}
        [[forced, _]] = body["logit_bias"]
        if forced == 11:  # half a character
            return {"content": ""}
        top = [{"id": 10, "logprob": -9.0}, {"id": 11, "logprob": -2.0}]
        return {"completion_probabilities": [{"id": forced, "logprob": -1.0, "top_logprobs": top}]}

    found, seen = asked(answer, lambda post: by_steps(post, REQUEST))
    assert found == Likelihood(4.0, 3, 8)
    assert [b["prompt"] for p, b in seen if p == "/completion"] == [[1, 2], [1, 2, 10], [1, 2, 10], [1, 2, 10, 11]]


def weighed(found: Completion | None, failure: Any = None) -> Any:
    return replace(turn("reply", "x"), ask=WEIGHS, completion=found, failure=failure)


def test_bits_a_byte_stand_in_the_row_of_the_reply_and_a_failure_costs_eight() -> None:
    known = weighed(Completion("", likelihood=Likelihood(math.log(2) * 12, 5, 6)))
    failed = replace(weighed(None, "transport"), slot=turn("reply", "y", "t1_x").slot)
    turns = [turn("reply", "x"), turn("reply", "y", "t1_x"), known, failed]
    rows = {r.slot: r for r in asyncio.run(score(turns, small_store())) if r.system == MODEL}
    assert rows["t1_z"].metrics["bits_per_byte"] == 2.0 and rows["t1_z"].detail["likelihood_tokens"] == 5.0
    assert rows["t1_x"].metrics["bits_per_byte"] == UNIFORM and rows["t1_x"].detail["likelihood"] == "transport"
    [cell] = table(rows.values())
    assert (cell.metrics["bits_per_byte"], cell.metrics["likelihood_failed"]) == (5.0, 0.5)
    assert f"first {WEIGHED} tokens" in cell.stamps["bits_per_byte"]
    [plain] = [c for c in table(asyncio.run(score(turns[:2], small_store()))) if c.system == MODEL]
    assert "bits_per_byte" not in plain.metrics


def test_it_is_asked_after_the_reply_in_its_words_and_only_in_a_replay() -> None:
    reply, likely, *rest = weighing(asks(["impact"]))
    assert (likely.question, likely.examples, likely.weighs) == (reply.question, reply.examples, True)
    assert [ask.name for ask in rest] == ["impact"]
    with pytest.raises(BadInput, match="mode replay"):
        weighing(asks(), "rollout")
    with pytest.raises(BadInput, match="generation"):
        BenchSpec.of({"likelihood": True, "tasks": ["impact"]})
    with pytest.raises(BadInput, match="corrected"):
        BenchSpec.of({"likelihood": True, "protocol": "reference"})


def test_a_benchmark_asks_it_and_keeps_no_words(tmp_path: Path) -> None:
    imported(tmp_path, *dump())
    asked: list[str] = []

    def answer(request: Request) -> Any:
        if not request.given:
            return say(request)
        asked.append(request.given)
        return Completion("", likelihood=Likelihood(3.0, 1, len(request.given)))

    spec = BenchSpec.of(
        {"data": str(tmp_path / "corpus"), "tasks": ["generation"], "settings": ["own/tree"], "models": ["fake"],
         "policies": ["recency:k=2"], "items": 3, "earlier": 3, "likelihood": True}
    )  # fmt: skip
    assert bench(spec, tmp_path / "out", lambda name: Scripted(answer)).calls == 6
    [line] = [line for line in tables.lines(loaded(tmp_path / "out")) if line.cell[0] == "own/tree" and not line.place]
    assert 0 < line.values["bits_per_byte"] < UNIFORM and line.values["likelihood_failed"] == 0
    logs = "".join(file.read_text() for file in (tmp_path / "out" / "cells").rglob("*.ndjson"))
    assert asked and not any(words in logs for words in asked)
    assert likelihood(weighed(None, "limit")) == {"likelihood": "limit"}
