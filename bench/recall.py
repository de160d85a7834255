"""What a recall costs beside a bare numpy slice, at several sizes of corpus, and what opening the corpus costs.

    python -m bench.recall [--sizes 10000 100000 1000000] [--people 1000] [--policy dense:k=10] [--keep DIR]

The corpora are made up and written without Chroma (see made.py). Histories are cut at a drawn moment; the query is a
stored text, as in a run. "bare" is the same slice, widened from float16 by numpy, one product and argpartition;
"float32" is that product and argpartition on rows widened before, as if file and memory were twice as large.
"cold" is the policy where neither slice, texts nor hashes are in the page cache.
The person "fixed" has as many messages in every corpus: what their recall costs shows whether it grows with the corpus.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.made import FIXED, corpus
from memory import policy, retrievers
from memory.store import MemoryStore
from memory.stored import Array

OPENED = """
import json, resource, sys, time
from pathlib import Path
from memory.store import MemoryStore
began = time.perf_counter()
store = MemoryStore.open(Path(sys.argv[1]))
store.history(sys.argv[2], before=2**40)
took = time.perf_counter() - began
print(json.dumps([took, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024]))
"""


@dataclass(frozen=True)
class Asked:
    """One recall: whose, when, and a text of the corpus."""

    user: str
    before: int
    query: str


def questions(store: MemoryStore, number: int, people: list[str], seed: int = 0) -> list[Asked]:
    """Drawn people at a moment in the last 40 % of their history, asked with words of somebody else."""
    dice, known = np.random.default_rng(seed), store.corpus.people()
    found: list[Asked] = []
    while len(found) < number:
        user = people[int(dice.integers(len(people)))]
        if known.get(user, 0) < 5:
            continue
        messages = store.history(user, before=2**40).messages
        at = messages[int(len(messages) * dice.uniform(0.6, 1)) - 1].time + 1
        other = store.history(people[int(dice.integers(len(people)))], before=at).messages
        if len(other):
            found.append(Asked(user, at, other[int(dice.integers(len(other)))].words))
    return found


def bare(vectors: Array, times: Array, before: int, asked: Array, k: int) -> Array:
    """The least that any exact recall of one person does."""
    near = vectors[: int(np.searchsorted(times, before))].astype(np.float32, copy=False) @ asked
    best = np.argpartition(-near, min(k, len(near) - 1))[:k]
    found: Array = best[np.argsort(-near[best])]
    return found


async def measured(store: MemoryStore, made: Any, asked: list[Asked], k: int) -> dict[str, float]:
    """Milliseconds of the policy (p50 and p95) and of the bare slices (p50), one after the other for each question."""
    took: dict[str, list[float]] = {"ours": [], "bare": [], "float32": []}
    for one in asked:
        [vector] = await store.embed([one.query])
        times, _, read = store.corpus.past(one.user, 2**40)
        vectors = read()
        wide = vectors.astype(np.float32)
        for name, held in (("bare", vectors), ("float32", wide)):
            began = time.perf_counter()
            bare(held, times, one.before, vector, k)
            took[name].append(time.perf_counter() - began)
        began = time.perf_counter()
        await made(store.history(one.user, before=one.before), one.query)
        took["ours"].append(time.perf_counter() - began)
    found = {name: 1000 * float(np.median(seconds)) for name, seconds in took.items()}
    return {**found, "p95": 1000 * float(np.percentile(took["ours"], 95)), "ratio": found["ours"] / found["bare"]}


def cold(path: Path, made: Any, asked: list[Asked]) -> float:
    """Median milliseconds of a recall by a store that was just opened, no file of which is in the page cache."""
    took = []
    for one in asked:
        store = MemoryStore.open(path)
        for file in path.rglob("*.*"):
            with file.open("rb") as held:
                os.posix_fadvise(held.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        began = time.perf_counter()
        asyncio.run(made(store.history(one.user, before=one.before), one.query))
        took.append(time.perf_counter() - began)
        store.close()
    return 1000 * float(np.median(took))


def warm(path: Path) -> None:
    """Reads every file once, so that all are in the page cache."""
    for file in path.rglob("*.*"):
        with file.open("rb") as held:
            while held.read(1 << 20):
                pass


def opening(path: Path) -> tuple[float, float]:
    """Seconds and peak MB of a new process that opens the corpus and one history; the best of three."""
    runs = [
        json.loads(subprocess.run([sys.executable, "-c", OPENED, path, FIXED], capture_output=True, check=True).stdout)
        for _ in range(3)
    ]
    return min(r[0] for r in runs), min(r[1] for r in runs)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    options.add_argument("--people", type=int, default=1000)
    options.add_argument("--policy", default="dense:k=10")
    options.add_argument("--queries", type=int, default=400)
    options.add_argument("--keep", type=Path, help="Where the corpora are kept for another run.")
    given = options.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp())
    made = policy.load(retrievers, given.policy)
    print(f"{given.policy}; corpora made up and written without Chroma, vectors drawn")
    print("messages      history  who     p50 ms   p95 ms  bare ms  ratio  float32 ms  cold ms   open s  peak MB")
    try:
        for size in given.sizes:
            path = folder / f"messages-{size}"
            if not path.exists():
                corpus(path, size, given.people)
            seconds, megabytes = opening(path)
            store = MemoryStore.open(path)
            for who, people in (("anybody", sorted(store.corpus.people())), ("fixed", [FIXED])):
                asked = questions(store, given.queries, people)
                warm(path)
                asyncio.run(measured(store, made, asked[:50], made.k))
                took = asyncio.run(measured(store, made, asked, made.k))
                frozen = cold(path, made, asked[:40])
                length = int(np.median([len(store.history(a.user, before=a.before)) for a in asked]))
                print(
                    f"{size:9,} {length:11,}  {who:7} {took['ours']:7.3f}  {took['p95']:7.3f}  {took['bare']:7.3f}"
                    f"  {took['ratio']:5.2f}  {took['float32']:10.3f}  {frozen:7.2f}  {seconds:7.3f}  {megabytes:7.0f}",
                    flush=True,
                )
            store.close()
    finally:
        if given.keep is None:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
