"""What a prefix cache serves of a run's prompts: both prompt orders, three slot policies, one probe and four.

    python -m bench.prefix [--threads 4] [--turns 3] [--policies one four pinned] [--orders thread person]

Replays threads of the shipped sample on the embedded model, every line with a fresh server. `evaluated` are the prompt
tokens that the model had to read, which the endpoint's usage tells: they depend on no other load of the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.running import asks, import_sample
from memory.store import MemoryStore
from memory.weights import SMOLLM2, locate
from simulator import runlog
from simulator.embedded import CONTEXT, threads
from simulator.llm import Request
from simulator.manifest import RunSpec
from simulator.openai_chat import OpenAIChat
from simulator.records import Ask
from simulator.run import simulate

POLICIES = {"one": 1, "four": 4, "pinned": 4}  # slots of the server; pinned: all turns of a thread go to one of them
MORE = (
    Ask("answered", "{author} now writes:\n{text}\nWill anybody answer it? One word, yes or no.", 4, judges=True),
    Ask("tone", "{author} now writes:\n{text}\nWhat is its tone? One word.", 4, judges=True),
)


class Arranged(OpenAIChat):
    """The endpoint, asked for a slot by thread where `slots` > 0, the person before the thread where `person_first`."""

    slots = 0
    person_first = False

    def _body(self, request: Request) -> dict[str, Any]:
        body = super()._body(request)
        if self.slots:
            body["id_slot"] = zlib.crc32((request.about or ("",))[0].encode()) % self.slots
        if self.person_first:
            said = body["messages"][1]
            thread, you, rest = said["content"].partition("\n\nYou are ")
            person, ask = rest.split("\n\n", 1)
            said["content"] = f"{you.strip()} {person}\n\n{thread}\n\n{ask}"
        return body


@contextmanager
def serving(slots: int) -> Iterator[str]:
    """The base URL of the embedded model with so many slots, each of the usual context."""
    import xllamacpp

    params: Any = xllamacpp.CommonParams()
    params.model.path = str(locate(SMOLLM2))
    params.n_parallel, params.n_ctx, params.kv_unified = slots, slots * CONTEXT, False
    params.n_gpu_layers = params.verbosity = 0
    params.warmup = False
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = threads()
    server: Any = xllamacpp.Server(params)
    server.handle_completions({"prompt": ".", "max_tokens": 1})
    yield f"{server.listening_address}/v1"
    del server


@dataclass(frozen=True)
class Read:
    """Prompt tokens of a run."""

    turns: int
    asked: int
    evaluated: int
    seconds: float

    def row(self, name: str, beside: float) -> str:
        each = self.evaluated / self.turns
        return (
            f"| {name} | {self.asked / self.turns:.0f} | {each:.0f} | {1 - self.evaluated / self.asked:.0%} "
            f"| {each / beside:.2f} | {self.seconds / self.turns:.1f} |"
        )


async def run(store: MemoryStore, spec: RunSpec, wanted: tuple[Ask, ...], policy: str, person_first: bool) -> Read:
    with serving(POLICIES[policy]) as url, tempfile.TemporaryDirectory() as folder:
        llm = Arranged("smollm2", url, 600.0)
        llm.slots, llm.person_first = POLICIES[policy] if policy == "pinned" else 0, person_first
        began = time.perf_counter()
        try:
            await simulate(spec, store, llm, wanted, Path(folder, "run"))
        finally:
            await llm.close()
        done = [turn.completion for turn in runlog.turns(Path(folder, "run")) if turn.completion]
        asked = sum(c.tokens_in or 0 for c in done)
        turns = len(done) // len(wanted)
        return Read(turns, asked, asked - sum(c.cached or 0 for c in done), time.perf_counter() - began)


async def main(given: argparse.Namespace) -> None:
    os.environ.setdefault("OPENAI_API_KEY", "unset")
    probes = (*asks(["sentiment", "impact"])[1:], *MORE)
    with tempfile.TemporaryDirectory() as folder:
        store = MemoryStore.open(import_sample(Path(folder, "corpus"), embedder="bag"))
        print("| prompt, slots, threads at once, probes | tokens a turn | evaluated | cached | beside one probe | s |")
        print("| --- | --- | --- | --- | --- | --- |")
        for order in given.orders:
            for policy in given.policies:
                spec = RunSpec(
                    mode="replay",
                    model="openai:smollm2",
                    threads=given.threads,
                    max_turns=given.turns,
                    concurrency=POLICIES[policy],
                    thread_tokens=given.thread_tokens,
                    memory_tokens=given.memory_tokens,
                )
                one = await run(store, spec, probes[:1], policy, order == "person")
                four = await run(store, spec, probes, policy, order == "person")
                beside = one.evaluated / one.turns
                for n, found in ((1, one), (4, four)):
                    print(found.row(f"{order} first, {policy}, {spec.concurrency}, {n}", beside), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--thread-tokens", type=int, default=700)
    parser.add_argument("--memory-tokens", type=int, default=500)
    parser.add_argument("--policies", nargs="+", default=list(POLICIES), choices=POLICIES)
    parser.add_argument("--orders", nargs="+", default=["thread", "person"], choices=["thread", "person"])
    asyncio.run(main(parser.parse_args()))
