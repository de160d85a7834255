"""What an import adds to encoding: texts per second of the embedder alone, and of an import with its caches and index.

    python -m bench.encode [--texts 1500] [--embedder minilm]

Both see the same different texts in one run; half of them are encoded alone before the import and half after it.
Compared is CPU time, since the wall clock of a shared machine tells more about its other users: of the embedder alone,
and of the whole import, which reads, repairs and writes besides. The step "encode" is given by the wall clock too.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.ingest import dump
from bench.made import rows
from memory.embed import open_embedder
from memory.importing import import_corpus


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--texts", type=int, default=1500)
    options.add_argument("--embedder", default="minilm")
    given = options.parse_args()
    model = open_embedder(given.embedder)
    made = list(rows(given.texts, 100))
    texts = ["\n\n".join(part for part in (m.title, m.text) if part) for m in made]
    model(texts[:50])
    with tempfile.TemporaryDirectory() as folder:
        dump(Path(folder) / "dump.zst", iter(made))
        import_corpus(
            [Path(folder) / "dump.zst"], Path(folder) / "warm", embedder="bag"
        )  # imports what an import needs
        halves = texts[: len(texts) // 2], texts[len(texts) // 2 :]
        before = spent(lambda: model(halves[0]))
        began = time.process_time()
        report = import_corpus([Path(folder) / "dump.zst"], Path(folder) / "corpus", embedder=given.embedder)
        whole = time.process_time() - began
        after = spent(lambda: model(halves[1]))
    if report.encoded != len(texts):
        raise SystemExit(f"{report.encoded} texts were encoded where there are {len(texts)}")
    cpu, wall = before[0] + after[0], before[1] + after[1]
    print(f"{model.name}, {len(texts)} texts: {len(texts) / cpu:.1f} texts a CPU second alone, ", end="")
    print(f"{len(texts) / whole:.1f} in a whole import: {cpu / whole:.0%}", end="; ")
    print(f"{len(texts) / wall:.1f} texts/s alone, {len(texts) / report.seconds['encode']:.1f} in its step")


def spent(work: Callable[[], object]) -> tuple[float, float]:
    """CPU and wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


if __name__ == "__main__":
    main()
