"""Many threads under one limit: the run folder, resume, progress."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import memory.retrievers
from memory import policy
from memory.asking import Remembering
from memory.doors import CorpusDoors, Timed
from memory.errors import PersonaconvError
from memory.store import MemoryStore
from simulator.budget import Spent
from simulator.casting import choose, named
from simulator.events import (
    BudgetSpent,
    Emit,
    RunFinished,
    RunStarted,
    ThreadFinished,
    ThreadStarted,
    finished,
    ignore,
)
from simulator.llm import LLM, asking, first_line
from simulator.manifest import RunSpec, agree, manifest
from simulator.prices import Prices
from simulator.prompt import Budget
from simulator.records import Ask, Turn
from simulator.runlog import RunLog
from simulator.schedulers.skeleton import Policy as Skeleton
from simulator.shard import Shard, playing
from simulator.turn import Cast

Job = tuple[str, int]  # thread, repeat
Watch = Callable[["Progress", Turn | None], None]


@dataclass
class Progress:
    """How far a run is, earlier sittings included. `left_out`: real messages that nobody could be asked to write."""

    threads: int = 0
    calls: int = 0
    threads_done: int = 0
    calls_done: int = 0
    found: int = 0  # of calls_done, already in the log when the run was opened
    failed: int = 0
    failures: dict[str, int] = field(default_factory=dict)  # failed, by class
    left_out: int = 0
    memory_calls: int = 0  # of the model by the memory, beside `calls`
    recall_seconds: float = 0.0  # of this sitting, added up over turns, with the memory's model calls
    stops: dict[str, int] = field(default_factory=dict)  # why threads ended
    stopped: str = ""  # why the run ended before its threads did, and how to go on

    def count(self, turn: Turn) -> None:
        self.calls_done += 1
        if turn.failure is not None:
            self.failed += 1
            self.failures[turn.failure] = self.failures.get(turn.failure, 0) + 1


async def simulate(  # noqa: PLR0913 - what is played, where, and who watches
    spec: RunSpec,
    store: MemoryStore,
    llm: LLM,
    asks: Sequence[Ask],
    folder: Path,
    watch: Watch = lambda *_: None,
    emit: Emit = ignore,
    prices: Prices | None = None,
) -> Progress:
    """Plays the threads of `spec` into `folder`, or what is missing there. Every finished call is logged at once.

    `watch` is called with the progress after each call (and its turn) and after each thread (None); `emit` with each
    event of simulator/events.py. `prices`: of the model, for the cost that each turn says.

    Raises:
        BadInput: `folder` holds a run made otherwise; the message lists the differences.
        UnknownName: a policy or thread that is not there. Busy: another process is at it. ModelError: a fatal one.
    """
    retriever = policy.load(memory.retrievers, spec.retriever)
    model = Remembering(asking(llm, spec.seed))
    doors = Timed(CorpusDoors(store, model))
    doors.check(retriever)
    ids = _threads(spec, store)
    progress = Progress()

    def seen(turn: Turn) -> None:
        progress.count(turn)
        progress.memory_calls = model.calls
        progress.recall_seconds = doors.seconds
        emit(finished(turn))
        watch(progress, turn)

    shard = Shard.of(spec.shard)
    jobs = shard.share([(id, repeat) for id in ids for repeat in range(spec.repeats)])
    with playing(folder, shard, "simulate") as place:
        wanted = manifest(spec, asks, store, ids, llm.name, folder)
        agree(folder, wanted, place)
        log = RunLog(folder, seen, place)
        mine = set(jobs)
        found = [turn for turn in log.done.values() if (turn.slot.thread, turn.repeat) in mine]
        for turn in found:
            progress.count(turn)
        progress.found = len(found)
        ended = "interrupted"
        try:
            cast = Cast(
                run=wanted["run"],
                mode=spec.mode,
                past=store,
                retriever=retriever,
                retriever_name=spec.retriever,
                llm=llm,
                log=log,
                asks=tuple(asks),
                seed=spec.seed,
                budget=Budget(spec.thread_tokens, spec.memory_tokens, spec.message_tokens),
                show_card=spec.card,
                keep_prompts=spec.keep_prompts,
                wording=spec.wording(),
                doors=doors,
                emit=emit,
                prices=prices,
            )
            await _play(spec, store, cast, jobs, place, progress, watch)
            ended = "done"
        except Spent as spent:
            progress.stopped, ended = str(spent), "budget"
            emit(BudgetSpent(run=wanted["run"], reason=str(spent)))
        except PersonaconvError as error:
            ended = first_line(error)
            raise
        finally:
            emit(RunFinished(run=wanted["run"], stop=ended, calls=progress.calls_done, failed=progress.failed))
            log.close()
    return progress


def _threads(spec: RunSpec, store: MemoryStore) -> list[str]:
    if isinstance(spec.threads, int):
        return choose(store.corpus, store, spec.threads, spec.seed)
    return named(store.corpus, spec.threads)


async def _play(  # noqa: PLR0913 - one caller; the parts of one run
    spec: RunSpec, store: MemoryStore, cast: Cast, jobs: list[Job], place: Path, progress: Progress, watch: Watch
) -> None:
    from simulator.graph import Stage, open_threads

    skeleton = Skeleton(cut=spec.cut, max_turns=spec.max_turns)
    people = store.corpus.people()
    ids = dict.fromkeys(id for id, _ in jobs)
    plans = {id: skeleton.plan(store.corpus.thread(id), spec.mode, people) for id in ids}
    progress.threads = len(jobs)
    progress.calls = sum(plans[id].slots for id, _ in jobs) * len(cast.asks)
    progress.left_out = sum(plan.left_out for plan in plans.values())
    about = RunStarted(
        run=cast.run,
        mode=spec.mode,
        model=cast.llm.name,
        threads=len(jobs),
        calls=progress.calls,
        found=progress.found,
    )
    cast.emit(about)
    gate = asyncio.Semaphore(spec.concurrency)
    queue = iter(jobs)

    async with open_threads(place) as threads:

        async def worker() -> None:
            for id, repeat in queue:
                cast.emit(ThreadStarted(run=cast.run, thread=id, repeat=repeat))
                stop = await threads.run(Stage(plans[id], store.corpus.thread(id), cast, repeat, gate))
                progress.threads_done += 1
                progress.stops[stop] = progress.stops.get(stop, 0) + 1
                cast.emit(ThreadFinished(run=cast.run, thread=id, repeat=repeat, stop=stop))
                watch(progress, None)

        await together([worker() for _ in range(min(spec.concurrency, len(jobs)))])


async def together(work: Sequence[Coroutine[None, None, None]]) -> None:
    """Runs all at once, and raises the first error itself rather than a group of them."""
    first: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            for coroutine in work:
                group.create_task(coroutine)
    except* (PersonaconvError, OSError, sqlite3.Error) as errors:
        first = errors.exceptions[0]
    if first is not None:
        raise first
