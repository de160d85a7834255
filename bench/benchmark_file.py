"""A made-up PersonaConvBench file of any size, and what selecting a benchmark's items from it costs in time and memory.

    python -m bench.benchmark_file [--mb 180]

The file has the released one's shape: a raw list, 19,215 posts of 2,796 people, 390,000 comments down to level 101.
Reference: all three tasks in all three settings, from the file alone. Corrected: 1,000 items, from the corpus that the
file makes (its vectors are drawn, not encoded: selecting reads none). Each runs in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.made import _WORDS, corpus_of
from evaluation.benchmark.domains import DOMAINS
from evaluation.benchmark.items import SETTINGS, TASKS

POSTS, PEOPLE, COMMENTS, MB = 19_215, 2_796, 390_000, 180


def generate(path: Path, mb: float, seed: int = 0) -> None:
    """Writes the file post by post; the shape is that of 180 MB, scaled."""
    dice = random.Random(seed)
    share = mb / MB
    posts, people = max(1, int(POSTS * share)), [f"person{n}" for n in range(max(5, int(PEOPLE * share)))]
    weights = [dice.lognormvariate(0, 1) for _ in people]
    with path.open("w", encoding="utf-8") as file:
        file.write("[")
        for n in range(posts):
            author = dice.choices(people, weights)[0]
            file.write((",\n" if n else "") + json.dumps(_post(dice, n, author, people)))
        file.write("]\n")


def _post(dice: random.Random, n: int, author: str, people: list[str]) -> dict[str, object]:
    when = 1_700_000_000 + n * 600
    post: dict[str, object] = {
        "title": _text(dice, 8), "author": author, "url": f"https://forum.example/{n}", "score": _score(dice),
        "num_comments": 0, "content": _text(dice, 60), "timestamp": _stamp(when), "comments": [],
        "__sub__": dice.choice(list(DOMAINS)), "__srcfile__": "made.json",
    }  # fmt: skip
    size = COMMENTS // POSTS
    nodes: list[tuple[list[object], int]] = [(post["comments"], 0)]  # type: ignore[list-item]
    for m in range(dice.randint(0, 2 * size) if n % 2000 else 101):
        above, level = nodes[-1] if n % 2000 == 0 else dice.choice(nodes)
        replies: list[object] = []
        above.append(
            {
                "author": author if dice.random() < 0.2 else dice.choice(people),
                "body": _text(dice, int(dice.lognormvariate(4.25, 0.6))) if dice.random() > 0.05 else "[deleted]",
                "score": _score(dice),
                "timestamp": _stamp(when + 60 * (m + 1)),
                "replies": replies,
            }
        )
        nodes.append((replies, level + 1))
    return post


def _text(dice: random.Random, words: int) -> str:
    return " ".join(dice.choices(_WORDS, k=max(1, words)))


def _score(dice: random.Random) -> int:
    return int(dice.lognormvariate(1, 1.2)) * (1 if dice.random() < 0.9 else -1)


def _stamp(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def reference(path: Path) -> str:
    """Selects everything; says how much that is."""
    from evaluation.benchmark.posts import read_posts
    from evaluation.benchmark.reference import Reference

    made = Reference(read_posts(path))
    counts = {(task, setting): len(made.select(task, setting).items) for task in TASKS for setting in SETTINGS}
    return ", ".join(f"{task} {setting} {n}" for (task, setting), n in counts.items())


def corrected(folder: Path) -> str:
    """Draws 1,000 items with their controls; says how many came."""
    from evaluation.benchmark.targets import choose
    from memory.store import MemoryStore

    store = MemoryStore.open(folder)
    try:
        n = min(1000, len(store.corpus.people()) // 3)
        return f"{len(choose(store, n, seed=0))} items"
    finally:
        store.close()


def imported(path: Path, out: Path) -> Path:
    """The corpus of the file, as an import makes it but for Chroma."""
    from memory.readers.personaconv import read
    from memory.reading import Source, Tally

    return corpus_of(out, read(Source(path), Tally()))


def measured(what: str, path: Path) -> str:
    """Runs `what` in a process of its own; its seconds and its peak memory are measured there."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.benchmark_file", "--only", what, "--path", str(path)],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    return f"{what:10} {done.stdout.strip()}"


def only(what: str, path: Path) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    said = reference(path) if what == "reference" else corrected(path)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    spent, used = time.perf_counter() - began, time.process_time() - cpu
    print(f"{spent:6.1f} s ({used:.1f} s CPU), peak {peak:.0f} MB: {said}")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--mb", type=float, default=MB)
    options.add_argument("--only", choices=["reference", "corrected"], help=argparse.SUPPRESS)
    options.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.only:
        only(given.only, given.path)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "benchmark.json"
        generate(path, given.mb)
        print(f"file: {path.stat().st_size / 1e6:.0f} MB")
        print(measured("reference", path))
        print(measured("corrected", imported(path, Path(folder) / "corpus")))


if __name__ == "__main__":
    main()
