"""A thread as a LangGraph: schedule -> Send -> speak, once for each slot of a round -> merge -> schedule.

All modes and schedulers play in this graph. Merging has two halves: LangGraph's reducers add up what the speakers of a
round return, and schedule takes what they said into the thread before it gives out the next round. State holds counters
only: the words are in the run log, from which a resumed thread rebuilds itself. The only file that knows LangGraph.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from operator import add
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from memory.errors import BadInput
from simulator.events import RoundStarted
from simulator.stage import Stage

CHECKPOINTS = "checkpoints.sqlite"
ENDLESS = 1_000_000_000  # steps: a thread ends by a reason of its own


class State(TypedDict):
    """What a checkpoint keeps: its size does not grow with the thread."""

    round: int
    turns: Annotated[int, add]
    failed: Annotated[int, add]
    lines: Annotated[int, add]  # of the run log that this rests on
    stop: str


class Place(TypedDict):
    """Where a speaker stands: the nth slot of a round."""

    round: int
    n: int


async def schedule(state: State, runtime: Runtime[Stage]) -> Command[Literal["speak", "__end__"]]:
    stage, round, aside = runtime.context, state["round"], runtime.context.aside
    stop = await stage.reach(round)
    lines = stage.aside - aside
    if stop:
        return Command(update={"stop": stop, "lines": lines}, goto="__end__")
    cast, slots = stage.roles.cast, range(len(stage.slots))
    cast.emit(RoundStarted(run=cast.run, thread=stage.id, repeat=stage.repeat, round=round, slots=len(slots)))
    return Command(
        update={"round": round + 1, "lines": lines}, goto=[Send("speak", Place(round=round, n=n)) for n in slots]
    )


async def speak(state: Place, runtime: Runtime[Stage]) -> dict[str, int]:
    turns = await runtime.context.speak(state["n"])
    return {"turns": 1, "failed": sum(turn.failure is not None for turn in turns), "lines": len(turns)}


@cache
def _builder() -> StateGraph[State, Stage, State, State]:
    graph = StateGraph(State, context_schema=Stage)
    graph.add_node("schedule", schedule)
    graph.add_node("speak", speak, input_schema=Place)
    graph.add_edge(START, "schedule")
    graph.add_edge("speak", "schedule")
    return graph


class Ended(NamedTuple):
    """How a thread ended: why, after how many rounds and turns, how many turns had a failure, and how many lines of the
    run log it has."""

    stop: str
    round: int
    turns: int
    failed: int
    lines: int


class Checkpoints(SqliteSaver):
    """LangGraph's checkpoints in SQLite, read and written in the event loop: a played thread has one write, which takes
    less time than handing it to another thread of the process (note 24)."""

    async def aget_tuple(self, config: Any) -> Any:
        return self.get_tuple(config)

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.put_writes(config, writes, task_id, task_path)


class Threads:
    """The compiled graph with its checkpoints open."""

    def __init__(self, saver: Checkpoints) -> None:
        self._saver = saver
        self._graph = _builder().compile(checkpointer=saver)

    async def run(self, stage: Stage, logged: int = 0) -> Ended:
        """Plays one thread to its end, from where it was broken off. `logged`: lines of it that the run log has.

        A checkpoint that rests on more lines than the log has is dropped (the power was cut: lines were lost), as is
        one of an end that nobody has noted: the thread is rebuilt from the log.

        Raises: ModelError, a fatal one; what was finished before stays in the log and the checkpoint.
        """
        config: Any = {
            "configurable": {"thread_id": f"{stage.id}#{stage.repeat}"},
            "recursion_limit": ENDLESS,
            "max_concurrency": None,
        }
        start: State | None = State(round=0, turns=0, failed=0, lines=0, stop="")
        if self._saver.get_tuple(config) is not None:
            saved = await self._graph.aget_state(config)
            if saved.next and saved.values.get("lines", 0) <= logged:
                start = None
                await stage.reach(saved.values["round"] - 1)  # speakers of a round that was broken off need its slots
            else:
                self._saver.delete_thread(config["configurable"]["thread_id"])
        # One checkpoint when the thread ends or breaks off, not two a turn: a killed one is rebuilt from the log.
        end: Any = None
        async for values in self._graph.astream(start, config, context=stage, durability="exit", stream_mode="values"):
            end = values
        return Ended(**{name: end[name] for name in Ended._fields})


@contextmanager
def open_threads(run: Path) -> Iterator[Threads]:
    """The graph over run/checkpoints.sqlite.

    Raises: BadInput, OSError: the file is damaged, or cannot be written.
    """
    file = run / CHECKPOINTS
    try:
        with closing(sqlite3.connect(file)) as sql:
            sql.execute("PRAGMA synchronous=NORMAL")  # a kill loses nothing; the log is the record anyway
            saver = Checkpoints(sql)
            saver.setup()
            yield Threads(saver)
    except sqlite3.OperationalError as error:
        raise OSError(errno.EIO, f"{error}; all finished turns are in the log", str(file)) from error
    except sqlite3.Error as error:
        raise BadInput(
            f"{file} is damaged ({error}); remove it and run the command again: it is made anew from the log"
        ) from error
