"""kill -9 at random moments: a run of many threads that is killed and gone on with ends as one that never was.

    python -m bench.survival [--kills 100] [--people 12] [--replies 10] [--concurrency 16] [--seed 0] [--replay]

One process has imported everything and forks the processes that play. Each is killed at a random moment (after a random
growth of the log and a random time, or while it is opening its files) until its run is finished; then the next run
begins. The model is the stub server, which lists what it was asked. Held to: every log equals the unbroken one's byte
for byte, sorted and without what was measured (runlog.comparable); nothing that was in the log at a kill was asked
again; asked twice were at most the calls in flight. Exit status 1 where that does not hold.

With `--replay` the unbroken run is recorded, with an attempt that fails before every fifth answer, and the others are
answered from the recording: then every log has the unbroken one's lines, byte for byte, with seconds and attempts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import Request as Post
from urllib.request import urlopen

import aiohttp
import langgraph.checkpoint.sqlite.aio

import simulator.graph
from bench.stub_server import running
from bench.turns import dump
from evaluation.running import asks
from memory.importing import import_corpus
from memory.store import MemoryStore
from simulator import runlog
from simulator.identity import Identity
from simulator.llm import LLM, Completion, ModelError, Request
from simulator.manifest import RunSpec
from simulator.models import open_llm
from simulator.recording import Recorded, Recording, Replayed
from simulator.run import simulate
from simulator.wrappers import Retried

IMPORTED = (aiohttp, langgraph.checkpoint.sqlite.aio, simulator.graph)  # once, before any fork


@dataclass
class Count:
    """What happened in all runs. `twice`: calls asked again though their turn was in the log."""

    kills: int = 0
    early: int = 0  # kills before the first turn of a run
    half: int = 0  # kills that left half a line
    runs: int = 0
    repeated: int = 0  # asked again: they were in flight
    twice: int = 0
    different: int = 0  # logs that are not the unbroken one's

    @property
    def good(self) -> bool:
        return not (self.twice or self.different) and self.kills > 0


@dataclass
class Late:
    """An LLM around an LLM: every answer comes after `seconds`; with `flaky` every fifth call fails at first."""

    inner: LLM
    seconds: float = 0.0
    flaky: bool = False
    _failed: set[int] = field(default_factory=set)

    @property
    def name(self) -> str:
        return self.inner.name

    async def __call__(self, request: Request) -> Completion:
        await asyncio.sleep(self.seconds)
        if self.flaky and request.seed % 5 == 0 and request.seed not in self._failed:
            self._failed.add(request.seed)
            raise ModelError("transport", "reset by peer")
        return await self.inner(request)

    async def close(self) -> None:
        await self.inner.close()


async def sitting(spec: RunSpec, corpus: Path, url: str, run: Path, recording: Recording | None = None) -> None:
    store, who = MemoryStore.open(corpus), Identity(spec.model)
    llm: LLM = open_llm(spec.model, url)
    if recording is not None and recording.record:
        llm = Recorded(Late(llm, flaky=True), recording, who)
    elif recording is not None:
        await llm.close()
        llm = Late(Replayed(recording, who), 0.02)
    try:
        retried = Retried(llm, first_wait=0.0, longest_wait=0.0) if recording else Retried(llm)
        await simulate(spec, store, retried, asks(["sentiment"]), run)
    finally:
        await llm.close()
        store.close()


def forked(work: Callable[[], object]) -> int:
    """The id of a process that does `work` and ends."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    return child


def killed(child: int, log: Path, after: int, seconds: float) -> bool:
    """Kills `child` when `log` has grown by `after` bytes and `seconds` have passed then. Returns whether it did."""
    size, since = length(log) + after, None
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        if since is None and length(log) >= size:
            since = time.monotonic()
        if since is not None and time.monotonic() >= since + seconds:
            os.kill(child, signal.SIGKILL)
            return os.WIFSIGNALED(os.waitpid(child, 0)[1])
        time.sleep(0.001)
    return False


def length(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def asked(url: str) -> list[int]:
    """The seeds asked since it was last called."""
    root = url.removesuffix("/v1")
    with urlopen(f"{root}/calls", timeout=60) as answer:
        seeds: list[int] = json.load(answer)
    urlopen(Post(f"{root}/reset", b"{}"), timeout=60).close()
    return seeds


def lines(file: Path) -> list[bytes]:
    return file.read_bytes().split(b"\n") if file.exists() else [b""]


def exactly(run: Path) -> list[bytes]:
    """The lines of a log, sorted, as they are."""
    return sorted(filter(None, lines(run / runlog.LOG)))


def survive(given: argparse.Namespace, folder: Path, url: str) -> Count:
    dice = random.Random(given.seed)
    dump(folder / "dump.ndjson", given.people, given.replies)
    corpus = folder / "corpus"
    os.waitpid(
        forked(lambda: import_corpus([folder / "dump.ndjson"], corpus, embedder="bag", keep_names=True)), 0
    )  # Chroma leaves threads behind, and a process with threads cannot be forked
    threads = tuple(f"t3_t{n}x0" for n in range(given.people))
    settings: dict[str, Any] = {"threads": threads, "retriever": "dense", "concurrency": given.concurrency}
    spec = RunSpec.of(settings | {"model": "openai:stub"})
    calls_of, told = folder / "calls.ndjson", exactly if given.replay else runlog.comparable
    recording = Recording(calls_of, record=True) if given.replay else None
    asyncio.run(sitting(spec, corpus, url, folder / "unbroken", recording))
    recording = Recording(calls_of) if given.replay else None
    assert threading.active_count() == 1, threading.enumerate()
    unbroken, calls = told(folder / "unbroken"), len(asked(url))
    assert len(unbroken) == calls == 2 * given.people * given.replies, (len(unbroken), calls)
    size = length(folder / "unbroken" / runlog.LOG)

    count = Count()
    while count.kills < given.kills:
        run, alive = folder / f"run{count.runs}", True
        log, seeds = run / runlog.LOG, list[int]()
        while alive:
            done = {json.loads(line)["seed"] for line in lines(log)[:-1]}
            child = forked(lambda run=run: asyncio.run(sitting(spec, corpus, url, run, recording)))  # type: ignore[misc]
            early = dice.random() < 0.2  # while it is opening its files
            grown, later = (0, dice.uniform(0, 0.3)) if early else (dice.randrange(1, size // 3), dice.uniform(0, 0.05))
            alive = killed(child, log, 10 * size if count.kills == given.kills else grown, later)
            count.kills += alive
            count.early += alive and len(lines(log)) == 1
            count.half += alive and bool(lines(log)[-1])
            new = asked(url)
            count.twice += sum(seed in done for seed in new)
            seeds += new
        count.runs += 1
        count.repeated += len(seeds) - (0 if given.replay else calls)
        count.different += told(run) != unbroken
    return count


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--people", type=int, default=12, help="threads")
    parser.add_argument("--replies", type=int, default=10, help="of each thread; two calls for each")
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--latency-ms", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--replay", action="store_true", help="answer from a recording, and compare whole lines")
    given = parser.parse_args(arguments)
    with running(given.latency_ms) as url, tempfile.TemporaryDirectory() as folder:
        count = survive(given, Path(folder), url)
    most = given.concurrency * count.kills
    print(
        f"{count.kills} kills in {count.runs} runs of {2 * given.people * given.replies} calls, {count.early} before "
        f"the first turn, {count.half} within a line; {count.repeated} of at most {most} calls in flight asked again; "
        f"{count.twice} finished calls paid twice; {count.different} logs differ from the unbroken one"
    )
    return 0 if count.good and count.repeated <= most else 1


if __name__ == "__main__":
    sys.exit(main())
