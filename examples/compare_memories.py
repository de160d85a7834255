"""Does a memory help? The same slots, real context, one model, six memories: each gain over none in its parts.

python examples/compare_memories.py [CORPUS]. No persona card is shown, so that memories alone differ. A leak fails it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from evaluation.cli import guarded
from evaluation.console import show
from evaluation.helping import show_gain
from evaluation.results import make
from evaluation.running import import_sample, play
from evaluation.scoring import MODEL, Cell
from evaluation.sides import sides
from memory.store import MemoryStore
from simulator.llm import LLM
from simulator.manifest import RunSpec

MEMORIES = ("none", "random_other:k=3", "random_own:k=3", "recency:k=3", "dense:k=3", "oracle:k=3")


def main(corpus: Path, out: Path, threads: int = 2, turns: int = 5, llm: LLM | None = None) -> None:
    cells: dict[str, list[Cell]] = {}
    folders = [out / memory.partition(":")[0] for memory in MEMORIES]
    for memory, folder in zip(MEMORIES, folders, strict=True):
        spec = RunSpec(mode="replay", retriever=memory, card=False, threads=threads, max_turns=turns)
        play(spec, corpus, folder, llm=llm)
        cells[memory] = make(folder).cells
    for task in dict.fromkeys(cell.task for cell in cells["none"]):
        own = [(memory, c) for memory, found in cells.items() for c in found if (c.task, c.system) == (task, MODEL)]
        others = [(c.system, c) for c in cells["none"] if c.task == task and c.system != MODEL]
        columns = ["memory", "asked", "failed", *own[0][1].metrics]
        rows = [(name, c.asked, c.failed, *(f"{v:.3f}" for v in c.metrics.values())) for name, c in own + others]
        show(task, columns, rows, right=columns[1:])
    store = MemoryStore.open(corpus)
    try:
        show_gain(sides(folders), store, folders)
    finally:
        store.close()


if __name__ == "__main__":
    given = sys.argv[1:]
    where = Path(given[0]) if given else Path("demo/corpus")
    sys.exit(guarded(lambda: main(where if given else import_sample(where), Path("runs/memories"))))
