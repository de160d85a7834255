"""Ten thousand threads queued at once: time to the first turn, memory in the end, and going on half way.

    python -m bench.queue [--threads 10000] [--turns 1] [--concurrency 8] [--drawn]

A made-up corpus of so many threads of 20 messages (bench/made.py), all named or, with `--drawn`, all drawn by seed,
each played for `--turns` turns by a model that answers at once in this process. Every row is a process of its own:
"one thread" is the floor, "all" plays the whole queue, "half" is broken off after half of it and "rest" goes on.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

BEGAN = time.perf_counter()  # before anything of ours is imported


@dataclass(frozen=True)
class Sitting:
    """`imports`: seconds that a process needs before it can begin; `first`: from there to the first call of the model,
    of which `first_cpu` is its own processor time.

    Memory in MB: resident when the process was ready, at the first call, and its peak; in the end, what is its own and
    what are pages of the corpus' files, which the system takes back when it needs them."""

    imports: float
    first: float
    first_cpu: float
    seconds: float
    cpu: float
    ready: int
    at_first: int
    peak: int
    own: int
    pages: int
    turns: int

    def row(self, name: str) -> str:
        return (
            f"{name:12} first turn {self.first:6.2f} s, {self.first_cpu:5.2f} CPU s "
            f"({self.first + self.imports:5.2f} s with imports), {self.turns:6} turns in {self.seconds:6.1f} s, "
            f"{self.cpu:6.1f} CPU s; peak MB {self.ready} ready, {self.at_first} at the first turn, {self.peak} in the "
            f"end ({self.own} its own, {self.pages} of files)"
        )


def peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def resident(kind: str) -> int:
    """MB of "RssAnon" or "RssFile" now."""
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[kind].split()[0]) // 1024


def sitting(corpus: Path, run: Path, given: argparse.Namespace) -> Sitting:
    """Plays the queue, or `given.most` turns of it, in this process."""
    import aiohttp  # noqa: F401 - what a run imports when it first needs it

    import simulator.graph  # noqa: F401
    from evaluation.running import asks
    from memory.corpus import Corpus
    from memory.store import MemoryStore
    from simulator.llm import Completion, ModelError, Request
    from simulator.manifest import RunSpec
    from simulator.run import simulate
    from simulator.testing import completion

    imports, ready = time.perf_counter() - BEGAN, peak()
    first: list[tuple[float, float]] = []
    at_first: list[int] = []
    calls = 0

    class Model:
        name = "fake:distinct"

        async def __call__(self, request: Request) -> Completion:
            nonlocal calls
            if not first:
                first.append((time.perf_counter() - began, time.process_time() - used))
                at_first.append(peak())
            if calls == given.most:
                raise ModelError("refused", "broken off on purpose", fatal=True)
            calls += 1
            return completion(f"I have {request.seed} reasons.", request)

        async def close(self) -> None:
            pass

    if given.drawn or given.threads == 1:
        threads: int | tuple[str, ...] = given.threads
    else:
        listing = Corpus.open(corpus)
        threads = tuple(listing.thread_ids())
        listing.close()
    began, used = time.perf_counter(), time.process_time()
    store = MemoryStore.open(corpus)
    spec = RunSpec(
        threads=threads,
        retriever="dense",
        model="fake",
        max_turns=given.turns,
        concurrency=given.concurrency,
    )
    try:
        asyncio.run(simulate(spec, store, Model(), asks(["none"]), run))
    except ModelError:
        assert calls == given.most
    seconds, own, pages = time.perf_counter() - began, resident("RssAnon"), resident("RssFile")
    store.close()
    cpu = time.process_time() - used
    start, start_cpu = first[0] if first else (seconds, cpu)
    return Sitting(imports, start, start_cpu, seconds, cpu, ready, (at_first or [peak()])[0], peak(), own, pages, calls)


def apart(name: str, corpus: Path, run: Path, given: argparse.Namespace, threads: int, most: int = -1) -> Sitting:
    """A sitting in a process of its own, shown."""
    command = [sys.executable, "-m", "bench.queue", "--part", str(corpus), str(run), "--threads", str(threads)]
    command += ["--turns", str(given.turns), "--concurrency", str(given.concurrency), "--most", str(most)]
    command += ["--drawn"] if given.drawn else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = Sitting(**json.loads(done.stdout))
    print(f"{found.row(name)}; load {os.getloadavg()[0]:.1f}", flush=True)
    return found


def main(given: argparse.Namespace) -> None:
    from bench.made import corpus as make

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus = given.corpus or make(folder / "corpus", 20 * given.threads, given.threads // 10)
        floor = apart("one thread", corpus, folder / "one", given, 1)
        whole = apart("all", corpus, folder / "all", given, given.threads)
        apart("half", corpus, folder / "half", given, given.threads, whole.turns // 2)
        apart("rest", corpus, folder / "half", given, given.threads)
        again = apart("nothing left", corpus, folder / "half", given, given.threads)
        assert again.turns == 0, f"{again.turns} turns were played again"
        each = sum(file.stat().st_size for file in (folder / "all").iterdir()) / max(1, whole.turns)
        print(f"{whole.own - floor.own} MB of its own above one thread; {each:,.0f} bytes a turn on disk")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--drawn", action="store_true", help="draw the threads by seed instead of naming them")
    parser.add_argument("--corpus", type=Path, help="one that is there already")
    parser.add_argument("--part", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--most", type=int, default=-1, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.part:
        made, place = arguments.part
        print(json.dumps(asdict(sitting(made, place, arguments))))
    else:
        main(arguments)
