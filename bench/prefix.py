"""What a prefix cache serves of a run's prompts: both prompt orders, slots free and pinned, one probe and four.

    python -m bench.prefix [--threads 4] [--turns 2] [--slots one apart ...] [--orders thread person]

Replays threads of the shipped sample with four probes on each turn, every line with a fresh server of the embedded
model, cut to its first layer: tokens and cache are the same, the words are not looked at. `read` are the prompt tokens
that the model had to read, which the endpoint's usage tells: they depend on no other load of the machine. `first probe`
are those of the first of the four, which is what a run with one probe reads.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.shallow import shallow
from evaluation.running import asks, import_sample
from memory.store import MemoryStore
from memory.weights import SMOLLM2, locate
from simulator import runlog
from simulator.embedded import CONTEXT
from simulator.llm import Request
from simulator.manifest import RunSpec
from simulator.openai_chat import OpenAIChat
from simulator.records import Ask
from simulator.run import ONE_SLOT, simulate

SLOTS = {"one": (1, 1), "apart": (1, 1), "turns@4": (1, 4), "one@4": (1, 4), "four@4": (4, 4), "pinned@4": (4, 4)}
"""Slots of the server, threads at once. one: all threads share a slot; turns: all asks of a turn one after the other;
apart: and nothing that other turns left is used, as the embedded model is asked; four: a thread's asks go to any slot,
pinned: to the thread's own."""
MORE = (
    Ask("answered", "The message by {author}: will anybody answer it? One word, yes or no.", 4, judges=True),
    Ask("tone", "The message by {author}: what is its tone? One word.", 4, judges=True),
)
PERSON_FIRST = "{persona}\n{memory}\n\n{thread}\n"


class Pinning(OpenAIChat):
    """The endpoint, asked for a slot by thread where `slots` > 0."""

    slots = 0

    def _body(self, request: Request) -> dict[str, Any]:
        body = super()._body(request)
        if self.slots:
            body["id_slot"] = zlib.crc32((request.about or ("",))[0].encode()) % self.slots
        return body


@contextmanager
def serving(model: Path, slots: int) -> Iterator[str]:
    """The base URL of a server of `model` with so many slots, each of the usual context."""
    import xllamacpp

    params: Any = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.n_parallel, params.n_ctx, params.kv_unified = slots, slots * CONTEXT, False
    params.n_gpu_layers = params.verbosity = 0
    params.warmup = False
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = 1
    server: Any = xllamacpp.Server(params)
    server.handle_completions({"prompt": ".", "max_tokens": 1})
    yield f"{server.listening_address}/v1"
    del server


@dataclass(frozen=True)
class Read:
    """Prompt tokens a turn: in all prompts, and those that the model had to read, of them for the first probe."""

    asked: float
    read: float
    first: float

    def row(self) -> str:
        cached, times = 1 - self.read / self.asked, self.read / self.first
        return f"| {self.asked:.0f} | {self.read:.0f} | {cached:.0%} | {self.first:.0f} | {times:.2f} |"


async def run(model: Path, store: MemoryStore, spec: RunSpec, wanted: tuple[Ask, ...], slots: int, name: str) -> Read:
    with serving(model, slots) as url, tempfile.TemporaryDirectory() as folder:
        llm = Pinning("smollm2", url, 600.0)
        llm.slots = slots if name.startswith("pinned") else 0
        llm.name = ONE_SLOT + "smollm2" if name.startswith("turns") else llm.name
        llm.apart = name == "apart"
        try:
            await simulate(spec, store, llm, wanted, Path(folder, "run"))
        finally:
            await llm.close()
        told = [(turn.ask, given) for turn in runlog.turns(Path(folder, "run")) for given in turn.answers]
    number = len(told) // len(wanted)
    asked = sum(given.tokens_in or 0 for _, given in told) / number
    read = [(ask, (given.tokens_in or 0) - (given.cached or 0)) for ask, given in told]
    first = sum(tokens for ask, tokens in read if ask == wanted[0].name)
    return Read(asked, sum(tokens for _, tokens in read) / number, first / number)


def _templates(folder: Path) -> Path:
    folder.mkdir()
    (folder / "scene.txt").write_text(PERSON_FIRST)
    return folder


async def main(given: argparse.Namespace) -> None:
    os.environ.setdefault("OPENAI_API_KEY", "unset")
    probes = (*asks(["sentiment", "impact"])[1:], *MORE)
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "shallow.gguf")
        shallow(locate(SMOLLM2), model)
        templates = _templates(Path(folder, "templates"))
        store = MemoryStore.open(import_sample(Path(folder, "corpus"), embedder="none"))
        print("| prompt, slots@threads at once | tokens a turn | read | cached | first probe | times first probe |")
        print("| --- | --- | --- | --- | --- | --- |")
        for order in given.orders:
            for name in given.slots:
                slots, at_once = SLOTS[name]
                spec = RunSpec(
                    mode="replay",
                    model="openai:smollm2",
                    retriever="recency:k=3",
                    threads=given.threads,
                    max_turns=given.turns,
                    concurrency=at_once,
                    thread_tokens=given.thread_tokens,
                    memory_tokens=given.memory_tokens,
                    prompt_templates=str(templates) if order == "person" else None,
                )
                found = await run(model, store, spec, probes, slots, name)
                print(f"| {order} first, {name} {found.row()}", flush=True)
        store.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--thread-tokens", type=int, default=250)
    parser.add_argument("--memory-tokens", type=int, default=150)
    parser.add_argument("--slots", nargs="+", default=list(SLOTS), choices=SLOTS)
    parser.add_argument("--orders", nargs="+", default=["thread", "person"], choices=["thread", "person"])
    asyncio.run(main(parser.parse_args()))
