"""What a turn costs beside the model: N threads against the stub, retrieval and checkpoints on, and the bare client.

    python -m bench.turns [--people 10 100 1000] [--replies 10] [--repeats 3] [--processes 2] [--retriever dense]

Every row is one sitting on one machine: compare turns/s within it only, CPU ms a turn more freely. "ours" rolls out
threads of a made-up corpus (20 earlier messages a person), "openai" is the bare client with prompts of the same size.
Ours and the clients take turns `--repeats` times, and each row is its least disturbed one: that of least CPU.

With `--processes 2` two processes then play the threads of the largest N between them, as `--shard 1/2` and `2/2` of
one run, beside one process that plays them all.
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
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.stub_server import running
from evaluation.running import asks
from memory.importing import import_corpus
from memory.store import MemoryStore
from simulator import runlog
from simulator.manifest import RunSpec
from simulator.models import open_llm
from simulator.run import simulate
from simulator.shard import Shard

EARLIER = 20
TEXT = "the chain on my old touring bike skips under load so I would check the cassette for wear first"
WORDS = TEXT.split()


@dataclass(frozen=True)
class Cost:
    """Of one measured block."""

    name: str
    people: int
    turns: int
    seconds: float
    cpu: float

    def row(self) -> str:
        each, rate = 1000 * self.cpu / self.turns, self.turns / self.seconds
        return f"{self.name:22} N={self.people:<5} {self.turns:6} turns {rate:8.1f} turns/s {each:7.2f} CPU ms/turn"


async def measured(name: str, people: int, turns: int, work: Callable[[], Awaitable[object]]) -> Cost:
    start, began = _cpu(), time.perf_counter()
    await work()
    return Cost(name, people, turns, time.perf_counter() - began, _cpu() - start)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def dump(file: Path, people: int, replies: int) -> None:
    """`people` earlier threads of EARLIER comments, then as many to play, each a tree of `replies` comments."""
    rows = []
    for kind, size, start in (("h", EARLIER, 1_000_000), ("t", replies, 2_000_000)):
        for n in range(people):
            for j in range(size + 1):
                id = f"{kind}{n}x{j}"
                at, who = start + 100 * n + j, f"p{(n + j) % people}"
                text = " ".join(WORDS[(n + j + i) % len(WORDS)] for i in range(18))
                if j == 0:
                    post = {"id": id, "title": f"Thread {id}", "selftext": text, "author": who, "created_utc": at}
                    rows.append(post | {"score": 1, "subreddit": "bikes"})
                else:
                    parent = f"t3_{kind}{n}x0" if j == 1 else f"t1_{kind}{n}x{j // 2}"
                    comment = {"id": id, "body": text, "author": who, "created_utc": at, "parent_id": parent}
                    rows.append(comment | {"link_id": f"t3_{kind}{n}x0", "score": j, "subreddit": "bikes"})
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


async def ours(store: MemoryStore, people: int, replies: int, url: str, given: argparse.Namespace) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        return await played(store, people, replies, url, given, Path(folder))


async def played(  # noqa: PLR0913 - what a measured run is made of
    store: MemoryStore,
    people: int,
    replies: int,
    url: str,
    given: argparse.Namespace,
    folder: Path,
    shard: str = "1/1",
    start: Callable[[], object] = lambda: None,
) -> Cost:
    """A run in folder/run, after a small one that warms up; `start` is called between the two."""
    threads = tuple(f"t3_t{n}x0" for n in range(people))
    spec = RunSpec(threads=threads, retriever=given.retriever, concurrency=people, model="openai:stub", shard=shard)
    llm = open_llm(spec.model, url)
    try:
        warm = spec.model_copy(update={"threads": threads[:2], "concurrency": 2, "shard": "1/1"})
        await simulate(warm, store, llm, asks(["none"]), folder / f"warm-{os.getpid()}")
        start()
        run, name = folder / "run", "ours" if shard == "1/1" else f"ours, {shard}"
        expected = len(Shard.of(shard).share(threads)) * replies
        cost = await measured(name, people, expected, lambda: simulate(spec, store, llm, asks(["none"]), run))
        turns = [turn for turn in runlog.turns(run) if turn.slot.thread in set(Shard.of(shard).share(threads))]
        assert len(turns) == expected, f"{len(turns)} turns in the log"
        assert not [turn for turn in turns if turn.failure], "a turn failed"
        return cost
    finally:
        await llm.close()


def among(n: int, corpus: Path, people: int, url: str, given: argparse.Namespace) -> list[Cost]:
    """What each of `n` processes measures that play one run between them, begun at one moment."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bench.turns", "--part", str(corpus), folder, url, "--people", str(people)]
        command += ["--replies", str(given.replies), "--retriever", given.retriever]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        workers = [subprocess.Popen([*command, "--shard", f"{i}/{n}"], **pipes) for i in range(1, n + 1)]  # type: ignore[call-overload]
        for worker in workers:
            assert worker.stdout.readline() == "ready\n"
        for worker in workers:
            worker.stdin.write("go\n")
            worker.stdin.flush()
        return [Cost(**json.loads(worker.communicate()[0])) for worker in workers]


async def part(given: argparse.Namespace) -> None:
    """One of several processes: says that it is ready, waits for a line, plays its share, says what it measured."""
    corpus, folder, url = given.part
    store = MemoryStore.open(Path(corpus))

    def start() -> None:
        print("ready", flush=True)
        sys.stdin.readline()

    [people] = given.people
    cost = await played(store, people, given.replies, url, given, Path(folder), given.shard, start)
    print(json.dumps(asdict(cost)))
    store.close()


async def bare(people: int, turns: int, url: str, transport: str) -> Cost:
    """The openai client alone, with prompts as long as ours."""
    from openai import AsyncOpenAI, DefaultAioHttpClient

    http = DefaultAioHttpClient() if transport == "aiohttp" else None
    client = AsyncOpenAI(base_url=url, api_key="stub", http_client=http, max_retries=0, timeout=600)
    text = " ".join(WORDS * 20)
    queue = iter(range(turns))

    async def worker() -> None:
        for n in queue:
            messages = [{"role": "system", "content": f"{n}"}, {"role": "user", "content": text}]
            await client.chat.completions.create(model="stub", messages=messages, max_tokens=80, seed=n)  # type: ignore[arg-type]

    async def all_of_them() -> None:
        await asyncio.gather(*(worker() for _ in range(people)))

    await client.chat.completions.create(model="stub", messages=[{"role": "user", "content": text}])
    try:
        return await measured(f"openai ({transport})", people, turns, all_of_them)
    finally:
        await client.close()


async def main(given: argparse.Namespace) -> None:
    with running(given.latency_ms) as url:
        for people in given.people:
            with tempfile.TemporaryDirectory() as folder:
                corpus = Path(folder, "corpus")
                dump(Path(folder, "dump.ndjson"), people, given.replies)
                import_corpus([Path(folder, "dump.ndjson")], corpus, embedder=given.embedder, keep_names=True)
                store = MemoryStore.open(corpus)
                rows: dict[str, list[Cost]] = {"ours": [], "httpx": [], "aiohttp": []}
                for _ in range(given.repeats):
                    rows["ours"].append(await ours(store, people, given.replies, url, given))
                    for transport in ("httpx", "aiohttp"):
                        rows[transport].append(await bare(people, rows["ours"][-1].turns, url, transport))
                store.close()
                cost, *floors = (min(costs, key=lambda cost: cost.cpu) for costs in rows.values())
                print(f"{cost.row()}   load {os.getloadavg()[0]:.1f}, {given.retriever}, {given.embedder}")
                for floor in floors:
                    more = 1000 * (cost.cpu - floor.cpu) / cost.turns
                    print(f"{floor.row()}   ours: {cost.cpu / floor.cpu:.2f} times as much, {more:+.2f} ms", flush=True)
                if given.processes > 1 and people == max(given.people):
                    several(given.processes, corpus, people, url, given)


def several(n: int, corpus: Path, people: int, url: str, given: argparse.Namespace) -> None:
    one = among(1, corpus, people, url, given)[0]
    parts = among(n, corpus, people, url, given)
    rate = sum(part.turns for part in parts) / max(part.seconds for part in parts)
    for cost in (one, *parts):
        print(cost.row())
    times = rate * one.seconds / one.turns
    print(f"{n} processes: {rate:.1f} turns/s, {times:.2f} times as many as one, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--replies", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--retriever", default="dense")
    parser.add_argument("--embedder", default="bag")
    parser.add_argument("--latency-ms", type=float, default=50.0)
    parser.add_argument("--part", nargs=3, help=argparse.SUPPRESS)
    parser.add_argument("--shard", default="1/1", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    asyncio.run(part(arguments) if arguments.part else main(arguments))
