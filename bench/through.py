"""Tokens a second of a whole run on the embedded model, beside the same requests sent straight to its server.

    python -m bench.through [--threads 2] [--turns 2] [--rounds 3] [--concurrency 1]

Rolls out threads of the shipped sample with the reply and both probes, memory, card and checkpoints on; then a fresh
server gets the very same requests in the same order and number at once, from a loop that does nothing else. The two
take turns, `rounds` times, so that what else the machine does hits both alike; the medians of their ratios are told.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from evaluation.running import asks, import_sample
from memory.store import MemoryStore
from simulator.estimate import Dry
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


async def measured(name: str, llm: Noting, work: Coroutine[Any, Any, object]) -> tuple[float, float]:
    """Tokens a second by the clock and by the processor, printed."""
    began, spent = time.perf_counter(), time.process_time()
    try:
        await work
    finally:
        seconds, cpu = time.perf_counter() - began, time.process_time() - spent
        await llm.close()
    rates = llm.tokens / seconds, llm.tokens / cpu
    print(
        f"{name:9} {len(llm.requests)} calls {llm.tokens:6} tokens {rates[0]:7.1f} tokens/s {rates[1]:7.1f} a CPU s"
        f", load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
    return rates


async def main(given: argparse.Namespace) -> None:
    spec = RunSpec(
        threads=given.threads,
        max_turns=given.turns,
        concurrency=given.concurrency,
        thread_tokens=250,
        memory_tokens=150,
    )
    wanted, ratios = asks(model="embedded"), []
    with tempfile.TemporaryDirectory() as folder:
        store = MemoryStore.open(import_sample(Path(folder, "corpus")))
        await simulate(spec, store, Dry("warm"), wanted, Path(folder, "warm"))  # imports, and what is read once
        for n in range(given.rounds):
            first = Noting(open_llm("embedded", timeout=900.0))
            run = await measured("a run", first, simulate(spec, store, first, wanted, Path(folder, f"run {n}")))
            second = Noting(open_llm("embedded", timeout=900.0))
            bare = await measured("straight", second, straight(second, first.requests, given.concurrency))
            ratios.append((run[0] / bare[0], run[1] / bare[1]))
        store.close()
    clock, cpu = (median(one) for one in zip(*ratios, strict=True))
    print(f"a run reaches {clock:.0%} of the tokens/s, {cpu:.0%} of those a CPU second (medians of {given.rounds})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--concurrency", type=int, default=1)
    asyncio.run(main(parser.parse_args()))
