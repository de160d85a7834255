"""The stream of events: one JSON line each, as the schema says, and the same story as the log."""

from __future__ import annotations

import asyncio
import io
import json
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from evaluation.running import asks
from memory.store import MemoryStore
from simulator.events import KINDS, Event, RunFinished, TurnFailed, schema, writer
from simulator.llm import LLM, ModelError
from simulator.manifest import RunSpec
from simulator.run import simulate
from simulator.testing import Faulty, Scripted, distinct

SMALL: dict[str, Any] = {"threads": 2, "retriever": "recency:k=2", "model": "fake:scripted"}


def watched(store: MemoryStore, out: Path, llm: LLM) -> list[Event]:
    seen: list[Event] = []
    work = simulate(RunSpec.of(SMALL), store, llm, asks(["sentiment"]), out, emit=seen.append)
    with suppress(ModelError):
        asyncio.run(work)
    return seen


def test_a_run_is_told_from_its_start_to_its_end(store: MemoryStore, tmp_path: Path) -> None:
    seen = watched(store, tmp_path, Scripted(distinct))
    told = [type(event).__name__ for event in seen]
    count = Counter(told)
    assert (told[0], told[1], told[2], told[3]) == ("RunStarted", "ThreadStarted", "RoundStarted", "TurnStarted")
    assert told[-2:] == ["ThreadFinished", "RunFinished"]
    assert (count["TurnStarted"], count["TurnFinished"], count["ThreadFinished"]) == (14, 28, 2)
    lines = [json.loads(line) for line in (tmp_path / "log.ndjson").read_bytes().splitlines()]
    answers = [json.loads(msgspec.json.encode(e)) for e in seen if type(e).__name__ == "TurnFinished"]
    assert [(a["slot"], a["ask"]) for a in answers] == [(line["slot"]["id"], line["ask"]) for line in lines]


def test_failures_and_a_broken_off_run_are_told(store: MemoryStore, tmp_path: Path) -> None:
    faults = {1: ModelError("limit", "slow down"), 4: ModelError("refused", "no such key", fatal=True)}
    seen = watched(store, tmp_path, Faulty(Scripted(distinct), faults))
    [failed] = [event for event in seen if isinstance(event, TurnFailed)]
    assert (failed.failure, failed.reason, failed.ask) == ("limit", "slow down", "sentiment")
    end = seen[-1]
    assert isinstance(end, RunFinished) and end.stop == "no such key" and end.failed == 1


def test_each_event_is_a_line_that_is_written_at_once(store: MemoryStore, tmp_path: Path) -> None:
    flushed: list[bytes] = []

    class Stream(io.BytesIO):
        def flush(self) -> None:
            flushed.append(self.getvalue())

    stream = Stream()
    seen = watched(store, tmp_path, Scripted(distinct))
    for event in seen:
        writer(stream)(event)
    assert len(flushed) == len(seen) and all(part.endswith(b"\n") for part in flushed)
    for line in stream.getvalue().splitlines():
        found = json.loads(line)
        msgspec.convert(found, type=_union())
        assert {"event", "run", "at"} <= found.keys()


def test_the_schema_names_every_kind_and_every_field(store: MemoryStore, tmp_path: Path) -> None:
    known = schema()["$defs"]
    for event in watched(store, tmp_path, Faulty(Scripted(distinct), {1: ModelError("limit", "slow")})):
        line = json.loads(msgspec.json.encode(event))
        assert line.keys() == known[type(event).__name__]["properties"].keys()
    assert {kind.__name__ for kind in KINDS} == {kind.__name__ for kind in Event.__subclasses__()} - {"Answer"} | {
        "TurnFinished",
        "TurnFailed",
    }


def _union() -> Any:
    found: Any = KINDS[0]
    for kind in KINDS[1:]:
        found = found | kind
    return found
