"""What a turn costs beside the model: N threads against the stub, retrieval and checkpoints on, and the bare client.

    python -m bench.turns [--people 10 100] [--replies 10] [--retriever dense] [--embedder bag] [--latency-ms 50]

Every row is one sitting on one machine: compare turns/s within it only, CPU ms a turn more freely. "ours" rolls out
threads of a made-up corpus (20 earlier messages a person), "openai" is the bare client with prompts of the same size.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from bench.stub_server import running
from evaluation.running import asks
from memory.importing import import_corpus
from memory.store import MemoryStore
from simulator import runlog
from simulator.manifest import RunSpec
from simulator.models import open_llm
from simulator.run import simulate

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
    threads = tuple(f"t3_t{n}x0" for n in range(people))
    spec = RunSpec(threads=threads, retriever=given.retriever, concurrency=people, model="openai:stub")
    llm = open_llm(spec.model, url)
    try:
        with tempfile.TemporaryDirectory() as folder:
            warm = spec.model_copy(update={"threads": threads[:2], "concurrency": 2})
            await simulate(warm, store, llm, asks(["none"]), Path(folder, "warm"))
            run = Path(folder, "run")
            cost = await measured(
                "ours", people, people * replies, lambda: simulate(spec, store, llm, asks(["none"]), run)
            )
            turns = runlog.turns(run)
            assert len(turns) == people * replies, f"{len(turns)} turns in the log"
            assert not [turn for turn in turns if turn.failure], "a turn failed"
            return cost
    finally:
        await llm.close()


async def bare(people: int, turns: int, url: str, transport: str) -> Cost:
    """The openai client alone, with prompts as long as ours."""
    from openai import AsyncOpenAI, DefaultAioHttpClient

    http = DefaultAioHttpClient() if transport == "aiohttp" else None
    client = AsyncOpenAI(base_url=url, api_key="stub", http_client=http, max_retries=0)
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
                file = Path(folder, "dump.ndjson")
                dump(file, people, given.replies)
                import_corpus([file], Path(folder, "corpus"), embedder=given.embedder, keep_names=True)
                store = MemoryStore.open(Path(folder, "corpus"))
                cost = await ours(store, people, given.replies, url, given)
                store.close()
            floors = [await bare(people, cost.turns, url, transport) for transport in ("httpx", "aiohttp")]
            print(cost.row())
            for floor in floors:
                times = cost.cpu / floor.cpu
                print(f"{floor.row()}   ours costs {times:.2f} times as much, {given.retriever}, {given.embedder}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--replies", type=int, default=10)
    parser.add_argument("--retriever", default="dense")
    parser.add_argument("--embedder", default="bag")
    parser.add_argument("--latency-ms", type=float, default=50.0)
    asyncio.run(main(parser.parse_args()))
