"""How likely the true text is as a reply: asked where a server can tell, in bits a byte, failures counted as 8."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_world import small_store, turn

from evaluation.benchmark import tables
from evaluation.benchmark.command import bench
from evaluation.benchmark.spec import BenchSpec
from evaluation.likelihood import WEIGHS, likelihood, weighing
from evaluation.metrics import UNIFORM
from evaluation.running import asks
from evaluation.scoring import MODEL, score, table
from memory.embed import MiniLM
from memory.errors import BadInput
from memory.store import MemoryStore
from memory.tokens import clip_tokens
from simulator import runlog
from simulator.answering import WEIGHED
from simulator.likelihood import by_steps
from simulator.llm import Completion, Likelihood, ModelError, Request
from simulator.manifest import RunSpec
from simulator.run import simulate
from simulator.testing import Scripted
from tests.dumps import imported
from tests.test_benchmark_corrected import dump
from tests.test_benchmark_run import loaded, reference, say

REQUEST = Request((("user", "x" * 400),), 1, given="so it is")


def asked(answer: Any, ask: Any) -> tuple[Likelihood, list[tuple[str, dict[str, Any]]]]:
    seen: list[tuple[str, dict[str, Any]]] = []

    async def post(path: str, body: dict[str, Any]) -> Any:
        seen.append((path, body))
        return answer(path, body)

    return asyncio.run(ask(post)), seen


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


def test_it_is_asked_after_the_reply_in_its_words_and_where_somebody_really_wrote() -> None:
    reply, likely, *rest = weighing(asks(["impact"]))
    assert (likely.question, likely.examples, likely.weighs) == (reply.question, reply.examples, True)
    assert [ask.name for ask in rest] == ["impact"]
    assert weighing(asks(), "rollout") == weighing(asks())
    with pytest.raises(BadInput, match="mode replay or rollout"):
        weighing(asks(), "free")
    with pytest.raises(BadInput, match="generation"):
        BenchSpec.of({"likelihood": True, "tasks": ["impact"]})


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
         "policies": ["recency:k=2"], "items": 3, "earlier": 3, "repeats": 2, "likelihood": True}
    )  # fmt: skip
    progress = bench(spec, tmp_path / "out", lambda name: Scripted(answer))
    assert progress.calls == progress.calls_done == 3 * 2 + 3  # once for all answers to an item
    line, *_ = [
        line for line in tables.lines(loaded(tmp_path / "out")) if line.cell[0] == "own/tree" and not line.place
    ]
    assert 0 < line.values["bits_per_byte"] < UNIFORM and line.values["likelihood_failed"] == 0
    logs = "".join(file.read_text() for file in (tmp_path / "out" / "cells").rglob("*.ndjson"))
    assert asked and not any(words in logs for words in asked)
    assert likelihood(weighed(None, "limit")) == {"likelihood": "limit"}


def test_the_reference_asks_it_once_an_item_beside_ten_answers_and_no_oracle_chooses_it(tmp_path: Path) -> None:
    first = iter([ModelError("refused", "too long")])

    def answer(request: Request) -> Any:
        if not request.given:
            return say(request)
        return next(first, Completion("", likelihood=Likelihood(3.0, 1, 9)))

    wanted = reference(likelihood=True, tasks=["generation"], settings=["p-conv"], repeats=3)
    model = Scripted(answer)
    progress = bench(wanted, tmp_path, lambda name: model)
    found = [row for row in loaded(tmp_path) if row["system"] == MODEL]
    assert len(found) == 12 and progress.calls == progress.calls_done == 16
    given = [request.given for request in model.requests if request.given]
    assert sorted(given) == sorted({clip_tokens(row["truth"], WEIGHED) for row in found})
    plain = {request.messages for request in model.requests if not request.given}
    assert {request.messages for request in model.requests if request.given} == plain
    for row in found:
        failed = row["likelihood"] != {"likelihood": "known", "bits_per_byte": 0.480898, "likelihood_tokens": 1.0}
        assert (row["metrics"]["bits_per_byte"] == UNIFORM) == failed == bool(row["metrics"]["likelihood_failed"])
    mean, *oracle = [x for x in tables.lines(loaded(tmp_path)) if x.cell[0] == "p-conv" and not x.place]
    assert mean.values["likelihood_failed"] == 0.25
    assert mean.values["bits_per_byte"] == pytest.approx(0.25 * UNIFORM + 0.75 * 0.480898)
    assert oracle and all("bits_per_byte" not in line.values for line in oracle)
    bench(wanted, tmp_path, lambda name: Scripted([]))


def test_what_defines_the_reference_is_no_option_there_and_how_texts_are_measured_is_one(tmp_path: Path) -> None:
    for wrong in ({"sentiment": {"positive": ">median"}}, {"impact": {"by": "expected"}}):
        with pytest.raises(BadInput, match=r"what is positive.*corrected protocol"):
            reference(options=wrong)
    wanted = reference(options={"generation": {"token_match": "minilm"}}, tasks=["generation"], settings=["p-conv"])
    bench(wanted, tmp_path, lambda name: Scripted(say))
    rows = [row for row in loaded(tmp_path) if row["truth"] and row["metrics"]]
    assert all(0 <= row["metrics"]["token_match"] <= 1 for row in rows)
    assert all(row["stamps"].keys() == row["metrics"].keys() for row in rows)
    assert rows[0]["stamps"]["token_match"].endswith(f"empty = 0, {MiniLM.name}")
    assert rows[0]["stamps"]["sbert"].endswith("cosine, bag")
    assert rows[0]["stamps"]["bleu"].startswith("nltk") and rows[0]["stamps"]["bleu"].endswith("lower-cased")


def test_a_rollout_asks_it_of_the_true_words_below_the_simulated_thread(tmp_path: Path) -> None:
    imported(tmp_path, *dump())
    given: list[Request] = []

    def answer(request: Request) -> Any:
        if not request.given:
            return f"I would say {request.seed}."
        given.append(request)
        return Completion("", likelihood=Likelihood(3.0, 1, 9))

    store = MemoryStore.open(tmp_path / "corpus")
    spec = RunSpec.of({"threads": 2, "retriever": "recency:k=2", "model": "fake:scripted", "mode": "rollout"})
    asyncio.run(simulate(spec, store, Scripted(answer), weighing(asks(["none"]), spec.base), tmp_path / "run"))
    turns = runlog.turns(tmp_path / "run")
    real = {t.slot.id: store.corpus.message(t.slot.id).words for t in turns}
    assert sorted(r.given for r in given) == sorted(clip_tokens(words, WEIGHED) for words in real.values())
    assert any("I would say" in text for request in given for _, text in request.messages)
    assert not any(request.given in text for request in given for _, text in request.messages)
    rows = [r for r in asyncio.run(score(turns, store)) if r.system == MODEL]
    assert rows and {r.metrics["bits_per_byte"] for r in rows} == {round(3.0 / math.log(2) / 9, 6)}
    store.close()
