"""One thread that grows to thousands of turns: what its first turns cost, and its last.

    python -m bench.deep [--turns 2000] [--width 1] [--retriever dense]

Rolls out a chain in which each message answers the one before (20 people), with a model that answers at once in this
process, checkpoints on. Then scores it. Whatever grows with the thread shows here, and nothing of a client hides it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import msgspec

from bench.turns import EARLIER, WORDS
from evaluation.running import asks
from evaluation.scoring import score
from memory.importing import import_corpus
from memory.store import MemoryStore
from simulator import runlog
from simulator.graph import CHECKPOINTS
from simulator.llm import Completion, Request
from simulator.manifest import RunSpec
from simulator.records import Turn
from simulator.run import Progress, simulate
from simulator.testing import completion

PEOPLE = 20
PART = 100  # turns looked at, at the beginning (after the tenth) and at the end


@dataclass
class Counting:
    """Answers with a sentence that no other answer has; counts the characters it was asked with."""

    name: str = "fake:counting"
    asked: list[int] = field(default_factory=list)

    async def __call__(self, request: Request) -> Completion:
        self.asked.append(sum(len(text) for _, text in request.messages))
        return completion(f"I see it differently, number {request.seed} is fine.", request)

    async def close(self) -> None:
        pass


def rows(turns: int, width: int) -> Iterator[dict[str, Any]]:
    """An earlier thread of EARLIER messages a person; then the one that is played: `width` answers to each message."""
    for kind, size, start in (("h", PEOPLE * EARLIER, 1_000_000), ("t", turns, 2_000_000)):
        for j in range(size + 1):
            text = " ".join(WORDS[(7 * j + i) % len(WORDS)] for i in range(18))
            row = {"id": f"{kind}x{j}", "author": f"p{j % PEOPLE}", "created_utc": start + j, "score": j % 9}
            row["subreddit"] = "bikes"
            if j == 0:
                yield row | {"title": "A thread", "selftext": text}
            else:
                parent = (j - 1) // width
                yield row | {
                    "body": text,
                    "parent_id": f"t1_{kind}x{parent}" if parent else f"t3_{kind}x0",
                    "link_id": f"t3_{kind}x0",
                }


def ratio(each: list[float]) -> str:
    first, last = each[10 : 10 + PART], each[-PART:]
    return f"{median(first):8.3f} first, {median(last):8.3f} last, ratio {median(last) / median(first):.2f}"


async def main(given: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = (json.dumps(row) + "\n" for row in rows(given.turns, given.width))
        (folder / "dump.ndjson").write_text("".join(lines))
        import_corpus([folder / "dump.ndjson"], folder / "corpus", embedder="bag", keep_names=True)
        store, llm = MemoryStore.open(folder / "corpus"), Counting()
        spec = RunSpec(threads=("t3_tx0",), retriever=given.retriever, model="fake")
        at: list[float] = []

        def seen(progress: Progress, turn: Turn | None) -> None:
            at.append(1000 * time.process_time())

        await simulate(spec, store, llm, asks(["none"]), folder / "run", seen)
        turns = runlog.turns(folder / "run")
        assert len(turns) == given.turns, f"{len(turns)} turns in the log"
        failed = [turn for turn in turns if turn.failure]
        assert not failed, f"{len(failed)} turns failed, the first: {failed[0].failure}, {failed[0].reason}"
        kept = sum(file.stat().st_size for file in (folder / "run").glob(f"{CHECKPOINTS}*"))
        print(f"{given.turns} turns of one thread, {given.retriever}, load {os.getloadavg()[0]:.1f}; medians of {PART}")
        print(f"CPU ms a turn      {ratio([b - a for a, b in pairwise(at)])}")
        print(f"prompt characters  {ratio([float(n) for n in llm.asked])}")
        print(f"log bytes          {ratio([float(len(msgspec.json.encode(turn))) for turn in turns])}")
        print(f"checkpoints        {kept / given.turns:8.0f} bytes a turn on disk, all turns")
        began = time.process_time()
        scored = await score(turns, store)
        spent = time.process_time() - began
        print(f"scoring            {1000 * spent / given.turns:8.3f} CPU ms a turn, {len(scored)} rows, all turns")
        store.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--width", type=int, default=1)
    parser.add_argument("--retriever", default="dense")
    asyncio.run(main(parser.parse_args()))
