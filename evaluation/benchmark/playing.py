"""Runs the cells of a benchmark: each has a run folder of its own, with the log and the rules of any other run."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from evaluation.benchmark.items import TaskName
from evaluation.benchmark.spec import BenchSpec, Job
from evaluation.rows import Scored
from evaluation.sides import Side
from memory.store import MemoryStore
from simulator import runlog
from simulator.budget import Spent
from simulator.llm import LLM
from simulator.manifest import agree
from simulator.records import Key, Turn
from simulator.run import Progress, together
from simulator.runlog import RunLog
from simulator.shard import Shard, playing

CELLS = "cells"

Watch = Callable[[Progress, Job], None]


class Log(Protocol):
    @property
    def done(self) -> Mapping[Key, Turn]: ...
    def append(self, turn: Turn) -> None: ...


@dataclass(frozen=True)
class Question:
    """One item of a cell, asked once: `calls` turns come of it. `id`: the thread and item, and which repeat."""

    id: tuple[str, str, int]
    calls: int
    ask: Callable[[LLM, Log, str], Awaitable[None]]  # model, log, name of the run


class Source(Protocol):
    """A protocol over its data: evaluation/benchmark/sources.py."""

    @property
    def data(self) -> Path: ...
    @property
    def store(self) -> MemoryStore | None:
        """The memory of the corpus; None where the data is none."""

    async def again(self, side: Side, row: Scored, store: MemoryStore, llm: LLM) -> Sequence[Turn]:
        """The turns of a row's item in the cell of `side`, as `store` remembers."""

    def questions(self, job: Job) -> Sequence[Question]:
        """In the order of asking; the same items for every job."""

    def keep(self, job: Job, llm: LLM, folder: Path, place: Path) -> None:
        """Where the cell's memory keeps what it asks the model: in its `folder`, `place` for what is new."""

    def decides(self, job: Job) -> dict[str, Any]:
        """What decides the answers of a cell besides the spec: data, items, wording."""

    async def rows(self, job: Job, turns: Sequence[Turn], done: Sequence[Job]) -> list[dict[str, Any]]:
        """One row per (item, task, repeat) of a cell; those of the baselines too, where no job `done` has had them."""

    def counts(self) -> list[tuple[str, TaskName | str, str, int]]:
        """(setting, task, what, how many) of the selection."""

    def close(self) -> None: ...


async def play(spec: BenchSpec, source: Source, out: Path, open_llm: Callable[[str], LLM], watch: Watch) -> Progress:
    """All cells into `out`, or this shard's share of what is missing there. `open_llm`: a model by its name; whoever
    opens it closes it. A budget that is spent ends it, with `stopped` saying how to go on.

    Raises: BadInput where a cell's folder was made otherwise, Busy, a fatal ModelError.
    """
    jobs = list(spec.jobs())
    progress = Progress(threads=len(jobs))
    share = Shard.of(spec.shard).share
    progress.calls = sum(question.calls for job in jobs for question in share(source.questions(job)))
    with playing(out, Shard.of(spec.shard), "bench"):
        try:
            for model in spec.models:
                llm = open_llm(model)
                for job in (j for j in jobs if j.model == model):
                    await _play(spec, job, source, out / CELLS / job.folder, llm, progress, watch)
                    progress.threads_done += 1
        except Spent as spent:
            progress.stopped = str(spent)
    return progress


async def _play(  # noqa: PLR0913 - one caller; the parts of one cell
    spec: BenchSpec, job: Job, source: Source, folder: Path, llm: LLM, progress: Progress, watch: Watch
) -> None:
    def seen(turn: Turn) -> None:
        progress.count(turn)
        watch(progress, job)

    wanted = manifest(spec, job, source, llm.name, folder)
    shard = Shard.of(spec.shard)
    questions = shard.share(source.questions(job))
    mine = {question.id for question in questions}

    def found(turn: Turn) -> None:
        if (turn.slot.thread, turn.slot.id, turn.repeat) in mine:
            progress.found += 1
            progress.count(turn)

    place = shard.place(folder)
    place.mkdir(parents=True, exist_ok=True)
    agree(folder, wanted, place)
    source.keep(job, llm, folder, place)
    log = RunLog(folder, seen, place, found)
    waiting = iter(questions)

    async def worker() -> None:
        for question in waiting:
            await question.ask(llm, log, wanted["run"])

    try:
        await together([worker() for _ in range(spec.concurrency)])
    finally:
        log.close()


def manifest(spec: BenchSpec, job: Job, source: Source, model: str, folder: Path) -> dict[str, Any]:
    """What decides the answers of a cell; a folder goes on only under the same."""
    from os.path import relpath

    cell = {"setting": job.setting, "policy": job.policy, "seed": job.seed}
    decides = runlog.plain({"spec": spec.decides(), "cell": cell, "model": model, **source.decides(job)})
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "format": 1,
        "run": sha256(runlog.canonical(decides)).hexdigest()[:12],
        "decides": decides,
        "corpus": relpath(source.data, folder),
        "versions": {"python": platform.python_version()},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


async def rows(spec: BenchSpec, source: Source, out: Path) -> list[dict[str, Any]]:
    """The rows of all cells that have turns, made from their logs alone; baselines once."""
    found: list[dict[str, Any]] = []
    done: list[Job] = []
    for job in spec.jobs():
        turns = await asyncio.to_thread(runlog.turns, out / CELLS / job.folder)
        if turns:
            found += await source.rows(job, turns, done)
            done.append(job)
    return found
