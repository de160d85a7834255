"""What the memory and the profiles ask is paid once a run and stands in its costs, as do answers that did not stand."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evaluation.costs import costs
from evaluation.playing import Played
from evaluation.summary import summary
from memory.errors import BadInput
from memory.store import MemoryStore
from simulator import asked, runlog
from simulator.asked import FILE, Asked
from simulator.budget import Ledger
from simulator.llm import Completion, ModelError, Request
from simulator.prices import Prices
from simulator.records import Rejected
from simulator.testing import Faulty, Scripted, completion, distinct
from simulator.wrappers import Usage
from tests.small_world import turn
from tests.test_run import play

PRICES = Prices(input=1.0, output=10.0)
SPEC: dict[str, Any] = {"threads": 2, "retriever": "profile_summary:k=2", "profile": True}


def says(request: Request) -> Completion:
    words = distinct(request) if request.about else f"Rides a lot, {len(request.messages[0][1])} letters say."
    return completion(words, request)


def aside(model: Scripted) -> int:
    return sum(request.about is None for request in model.requests)


def test_a_run_that_goes_on_asks_for_its_memory_no_second_time(store: MemoryStore, tmp_path: Path) -> None:
    once, again = Scripted(says), Scripted(says)
    play(store, tmp_path / "once", once, **SPEC)
    stop = ModelError("refused", "no key", fatal=True)
    with pytest.raises(ModelError, match="no key"):
        play(store, tmp_path / "twice", Faulty(again, {len(once.requests) - 3: stop}), **SPEC)
    with (tmp_path / "twice" / FILE).open("ab") as file:
        file.write(b'{"whose":"mem')  # what a kill leaves
    progress, _ = play(store, tmp_path / "twice", again, **SPEC)
    assert runlog.comparable(tmp_path / "twice") == runlog.comparable(tmp_path / "once")
    assert len(again.requests) == len(once.requests) and aside(again) == aside(once) > progress.memory_calls
    kept = asked.read(tmp_path / "twice")
    assert {a.whose for a in kept} == {"memory", "profile"} and len(kept) == aside(once)
    assert len({(a.whose, a.prompt) for a in kept}) == len(kept)


def test_an_answer_without_words_is_counted_and_asked_for_again(tmp_path: Path) -> None:
    llm = Scripted([Completion(" ", tokens_in=5, tokens_out=1), Completion("fine", tokens_in=5, tokens_out=2)])
    for words in ("no words", ""):
        asking = Asked(llm, "memory", prices=PRICES)
        asking.keep(tmp_path, tmp_path)
        if words:
            with pytest.raises(ModelError, match=words):
                asyncio.run(asking("who?"))
        else:
            assert asyncio.run(asking("who?")) == "fine"
    [row] = [row for row in costs([], asked.read(tmp_path)) if row.name == "asked by the memory"]
    assert (row.calls, row.tokens_in, row.tokens_out, row.cost) == (2, 10, 3, pytest.approx((10 + 30) / 1e6))


def test_a_line_that_is_no_answer_is_named(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{}\n")
    with pytest.raises(BadInput, match=r"asked\.ndjson line 1 is no answer .*; take it out to ask again"):
        asked.read(tmp_path)


def test_answers_that_did_not_stand_are_in_every_row_of_the_costs() -> None:
    wrong = Rejected("copied", "12 words", 1, Completion("copy", "stop", 100, 7, seconds=0.25))
    failed = replace(turn("reply", None), rejected=(wrong, wrong), attempts=2)
    mended = replace(turn("reply", "I ride."), rejected=(wrong,), attempts=3, cost=0.5)
    reply, both = costs([failed, mended])
    assert both == replace(reply, name="all")
    assert (reply.calls, reply.retries, reply.rejected) == (2, 1, 3)
    assert (reply.tokens_in, reply.tokens_out, reply.seconds, reply.cost) == (400, 26, 1.25, 0.5)


def test_the_summary_says_what_was_asked_beside_the_turns_and_what_did_not_stand(
    store: MemoryStore, tmp_path: Path
) -> None:
    progress, _ = play(store, tmp_path, Scripted(says), **SPEC)
    [memory, profiles] = costs([], asked.read(tmp_path))[:2]
    progress.rejected, progress.rejected_in, progress.rejected_out = 3, 1200, 30
    lines = list(summary(Played(progress, Usage(), Ledger(tmp_path), 1.0)))
    for row in (memory, profiles):
        told = f"{row.name} of all sittings: {row.calls} answers, {row.tokens_in:,} tokens in, {row.tokens_out:,} out"
        assert told in lines and row.tokens_in and row.tokens_out
    assert "3 answers did not stand and were asked for again or failed: 1,200 tokens in, 30 out" in lines


def test_a_run_counts_its_rejected_answers_when_it_goes_on_too(store: MemoryStore, tmp_path: Path) -> None:
    model = Scripted(lambda request: Completion("", tokens_in=10, tokens_out=1))
    for _ in range(2):
        progress, turns = play(store, tmp_path, model, mode="replay", threads=1)
        assert (progress.rejected, progress.rejected_in, progress.rejected_out) == (14, 140, 14)
    assert len(turns) == 7
