"""Tokens a second of a whole run on the embedded model, beside the same requests sent straight to its server.

    python -m bench.through [--threads 3] [--turns 3] [--concurrency 1]

Rolls out threads of the shipped sample with the reply and both probes, memory, card and checkpoints on; then a fresh
server gets the very same requests in the same order and number at once, from a loop that does nothing else.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from evaluation.running import asks, import_sample
from memory.store import MemoryStore
from simulator.llm import LLM, Completion, Request
from simulator.manifest import RunSpec
from simulator.models import open_llm
from simulator.run import simulate


@dataclass
class Noting:
    """An LLM around an LLM that keeps what was asked and counts tokens."""

    inner: LLM
    requests: list[Request] = field(default_factory=list)
    tokens: int = 0

    @property
    def name(self) -> str:
        return self.inner.name

    async def __call__(self, request: Request) -> Completion:
        self.requests.append(request)
        completion = await self.inner(request)
        self.tokens += (completion.tokens_in or 0) + (completion.tokens_out or 0)
        return completion

    async def close(self) -> None:
        await self.inner.close()


async def straight(llm: LLM, requests: list[Request], at_once: int) -> None:
    queue = iter(requests)

    async def worker() -> None:
        for request in queue:
            await llm(request)

    await asyncio.gather(*(worker() for _ in range(at_once)))


async def main(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = MemoryStore.open(import_sample(Path(folder, "corpus")))
        spec = RunSpec(threads=given.threads, max_turns=given.turns, concurrency=given.concurrency)
        rates = []
        first = Noting(open_llm("embedded"))
        for name in ("a run", "straight"):
            llm = first if name == "a run" else Noting(open_llm("embedded"))
            began, spent = time.perf_counter(), time.process_time()
            if name == "a run":
                await simulate(spec, store, llm, asks(model="embedded"), Path(folder, "run"))
            else:
                await straight(llm, first.requests, given.concurrency)
            seconds, cpu = time.perf_counter() - began, time.process_time() - spent
            await llm.close()
            rates.append((llm.tokens / seconds, llm.tokens / cpu))
            print(
                f"{name:9} {len(llm.requests)} calls {llm.tokens:7} tokens {rates[-1][0]:8.1f} tokens/s "
                f"{rates[-1][1]:8.1f} tokens a CPU second, load {os.getloadavg()[0]:.1f}",
                flush=True,
            )
        store.close()
        (wall, cpu), (wall_straight, cpu_straight) = rates
        print(
            f"a run reaches {wall / wall_straight:.0%} of the tokens/s, {cpu / cpu_straight:.0%} of those a CPU second"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=3)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=1)
    asyncio.run(main(parser.parse_args()))
