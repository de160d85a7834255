"""A thread as a LangGraph: schedule -> Send -> speak, once for each slot of a round -> merge -> schedule.

Merging has two halves: LangGraph's reducers add up what the speakers of a round return, and schedule takes what they
said into the thread before it gives out the next round. State holds counters only: the words are in the run log, from
which a resumed thread rebuilds itself. The only file that knows LangGraph.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from operator import add
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from memory.errors import BadInput
from memory.message import Thread
from simulator.events import RoundStarted
from simulator.records import Slot, Turn
from simulator.schedulers.skeleton import Plan
from simulator.turn import Cast, logged, take_turn, unanswerable

CHECKPOINTS = "checkpoints.sqlite"


class State(TypedDict):
    """What a checkpoint keeps: its size does not grow with the thread."""

    round: int
    turns: Annotated[int, add]
    failed: Annotated[int, add]
    stop: str


class Place(TypedDict):
    """Where a speaker stands: the nth slot of a round."""

    round: int
    n: int


@dataclass
class Stage:
    """What a run of one thread needs besides its state. `thread` is as it stands after `merged` rounds."""

    plan: Plan
    real: Thread
    cast: Cast
    repeat: int = 0
    gate: AbstractAsyncContextManager[object] = field(default_factory=nullcontext)  # bounds turns in flight
    thread: Thread = field(init=False)
    merged: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.thread = self.plan.opening

    def merge(self, rounds: int) -> None:
        """Adds what the first `rounds` rounds posted; a resumed thread catches up here, from the log."""
        while self.merged < rounds:
            posted = [self._posted(slot) for slot in self.plan.rounds[self.merged]]
            if self.plan.mode == "rollout":
                self.thread = self.thread.plus(*(m for m in posted if m is not None))
            self.merged += 1

    def _posted(self, slot: Slot) -> Any:
        turn = self.cast.log.done.get((slot.thread, slot.id, "reply", self.repeat))
        return turn.message(self.real[slot.id].place) if turn else None

    async def speak(self, slot: Slot) -> list[Turn]:
        if slot.parent not in self.thread.by_id:
            return self._skip(slot)
        judged = self.real[slot.id].words if self.plan.mode == "replay" else None
        async with self.gate:
            return await take_turn(slot, self.thread, self.cast, judged, self.repeat)

    def _skip(self, slot: Slot) -> list[Turn]:
        reason = "the message it answers was never written"
        return logged([unanswerable(slot, ask, self.cast, self.repeat, reason) for ask in self.cast.asks], self.cast)


def schedule(state: State, runtime: Runtime[Stage]) -> Command[Literal["speak", "__end__"]]:
    stage, round = runtime.context, state["round"]
    if round >= len(stage.plan.rounds):
        return Command(update={"stop": "the skeleton has no further slot"}, goto="__end__")
    stage.merge(round)
    places = range(len(stage.plan.rounds[round]))
    cast = stage.cast
    cast.emit(RoundStarted(run=cast.run, thread=stage.real.id, repeat=stage.repeat, round=round, slots=len(places)))
    return Command(update={"round": round + 1}, goto=[Send("speak", Place(round=round, n=n)) for n in places])


async def speak(state: Place, runtime: Runtime[Stage]) -> dict[str, int]:
    stage = runtime.context
    stage.merge(state["round"])
    turns = await stage.speak(stage.plan.rounds[state["round"]][state["n"]])
    return {"turns": 1, "failed": sum(turn.failure is not None for turn in turns)}


@cache
def _builder() -> StateGraph[State, Stage, State, State]:
    graph = StateGraph(State, context_schema=Stage)
    graph.add_node("schedule", schedule)
    graph.add_node("speak", speak, input_schema=Place)
    graph.add_edge(START, "schedule")
    graph.add_edge("speak", "schedule")
    return graph


class Threads:
    """The compiled graph with its checkpoints open."""

    def __init__(self, saver: Any) -> None:
        self._graph = _builder().compile(checkpointer=saver)

    async def run(self, stage: Stage) -> str:
        """Plays one thread to its end, from its last checkpoint where it has one. Returns why it ended.

        Raises: ModelError, a fatal one; what was finished before stays in the log and the checkpoint.
        """
        config: Any = {
            "configurable": {"thread_id": f"{stage.real.id}#{stage.repeat}"},
            "recursion_limit": 2 * len(stage.plan.rounds) + 10,
            "max_concurrency": None,
        }
        saved = await self._graph.aget_state(config)
        if saved.values.get("stop"):
            return str(saved.values["stop"])
        start = None if saved.next else State(round=0, turns=0, failed=0, stop="")
        result = await self._graph.ainvoke(start, config, context=stage, durability="async")
        return str(result["stop"])


@asynccontextmanager
async def open_threads(run: Path) -> AsyncIterator[Threads]:
    """The graph over run/checkpoints.sqlite.

    Raises: BadInput, OSError: the file is damaged, or cannot be written.
    """
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    file = run / CHECKPOINTS
    try:
        async with AsyncSqliteSaver.from_conn_string(str(file)) as saver:
            await saver.conn.execute("PRAGMA journal_mode=WAL")
            await saver.conn.execute("PRAGMA synchronous=NORMAL")  # a kill loses nothing; the log is the record anyway
            yield Threads(saver)
    except sqlite3.OperationalError as error:
        raise OSError(errno.EIO, f"{error}; all finished turns are in the log", str(file)) from error
    except sqlite3.Error as error:
        raise BadInput(
            f"{file} is damaged ({error}); remove it and run the command again: it is made anew from the log"
        ) from error
