"""What happens in a run, as a stream of small records: one JSON line each, written at once, for programs that watch.

Every line has `event` (the kind, in snake case), `run` (its id) and `at` (UTC seconds). Kinds and fields are only ever
added. Order: run_started, then thread_started, round_started, turn_started, turn_finished or turn_failed (one for each
ask of a turn), thread_finished, maybe budget_spent, then run_finished, also where the run is broken off.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any, BinaryIO

import msgspec

from simulator.records import Slot, Turn


def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


class Event(msgspec.Struct, kw_only=True, frozen=True, tag_field="event", tag=_snake):
    run: str
    at: float = msgspec.field(default_factory=lambda: round(time.time(), 3))


class RunStarted(Event, frozen=True):
    """`calls`: as far as can be known; `found` of them were in the log already."""

    mode: str
    model: str
    threads: int
    calls: int
    found: int


class ThreadStarted(Event, frozen=True):
    thread: str
    repeat: int


class RoundStarted(Event, frozen=True):
    """`round` counts from 0; its `slots` speakers see the same thread."""

    thread: str
    repeat: int
    round: int
    slots: int


class TurnStarted(Event, frozen=True):
    """`whom`: who wrote the message that is answered, null for an account that is gone. `time`: of the slot, UTC s."""

    thread: str
    repeat: int
    slot: str
    author: str
    parent: str
    whom: str | None
    time: int


class Answer(Event, frozen=True):
    """One ask of a turn: "reply" or a probe's name."""

    thread: str
    repeat: int
    slot: str
    author: str
    parent: str
    time: int
    ask: str


class TurnFinished(Answer, frozen=True):
    """Token counts are the endpoint's, null where it is silent; `seconds` is the call's own time."""

    words: str | None
    tokens_in: int | None
    tokens_out: int | None
    cached: int | None
    seconds: float


class TurnFailed(Answer, frozen=True):
    """`failure` is one of simulator.llm.Failure."""

    failure: str
    reason: str
    attempts: int


class ThreadFinished(Event, frozen=True):
    thread: str
    repeat: int
    stop: str


class BudgetSpent(Event, frozen=True):
    """`reason` says which budget, what was spent of it and how to go on."""

    reason: str


class RunFinished(Event, frozen=True):
    """`stop`: "done", "budget", "interrupted", or the first line of the error that ended it."""

    stop: str
    calls: int
    failed: int


Emit = Callable[[Event], None]
KINDS: tuple[type[Event], ...] = (
    RunStarted,
    ThreadStarted,
    RoundStarted,
    TurnStarted,
    TurnFinished,
    TurnFailed,
    ThreadFinished,
    BudgetSpent,
    RunFinished,
)


def ignore(event: Event) -> None:
    """For runs that nobody watches."""


def started(run: str, slot: Slot, repeat: int, whom: str | None) -> TurnStarted:
    return TurnStarted(
        run=run,
        thread=slot.thread,
        repeat=repeat,
        slot=slot.id,
        author=slot.author,
        parent=slot.parent,
        whom=whom,
        time=slot.time,
    )


def finished(turn: Turn) -> TurnFinished | TurnFailed:
    slot, done = turn.slot, turn.completion
    about: dict[str, Any] = {
        "run": turn.run, "thread": slot.thread, "repeat": turn.repeat, "slot": slot.id, "author": slot.author,
        "parent": slot.parent, "time": slot.time, "ask": turn.ask,
    }  # fmt: skip
    if done is None:
        return TurnFailed(**about, failure=turn.failure or "", reason=turn.reason, attempts=turn.attempts)
    used: dict[str, Any] = {name: getattr(done, name) for name in ("tokens_in", "tokens_out", "cached", "seconds")}
    return TurnFinished(**about, **used, words=turn.words)


def schema() -> dict[str, Any]:
    """JSON Schema of a line."""
    _, components = msgspec.json.schema_components(KINDS)
    return {"anyOf": [{"$ref": f"#/$defs/{kind.__name__}"} for kind in KINDS], "$defs": components}


def writer(stream: BinaryIO) -> Emit:
    """Writes each event as one line to `stream`, and flushes it."""
    encode = msgspec.json.Encoder().encode

    def write(event: Event) -> None:
        stream.write(encode(event) + b"\n")
        stream.flush()

    return write
