"""Shape of threads that a scheduler let grow, against real threads of the same community at the same size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from evaluation.analysis.lines import silent, where
from evaluation.analysis.trees import Shape, Tree, grown, known, place_of, shape
from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Sheet, Value
from evaluation.stats import Interval, interval
from simulator.records import Turn

if TYPE_CHECKING:
    from memory.store import MemoryStore

SPLITS = 200  # seeded halvings of the real threads
LEAST = 4  # real threads of a size below which they say nothing
NAME, TITLE = "shape", "Shape of threads: simulated against real ones of the same size"
ABOUT = (
    "Each simulated thread against all real ones that its community had before it, cut to their first messages so that "
    "both have as many. The floor is the same difference with real threads in the place of the simulated ones: drawn "
    f"from one half of the real threads against the mean of the other, {SPLITS} seeded splits, the middle 95 % of them."
)
TITLES = {
    "depth": ("Depth", "replies on the longest path"),
    "breadth": ("Breadth", "messages on the widest level"),
    "virality": ("Structural virality", "mean distance between two messages (Goel et al. 2015)"),
    "reciprocity": ("Reciprocity", "share of who-answers-whom pairs that also go the other way"),
}
COLUMNS = (
    Column("feature", "Feature"),
    Column("about", "What it is"),
    Column("threads", "Threads", "simulated ones with enough real ones of their size", 0),
    Column("real_threads", "Real threads", "of their communities before them", 0),
    Column("size", "Size", "mean messages of the simulated threads", 1),
    Column("simulated", "Simulated", "mean; intervals count threads"),
    Column("real", "Real", "mean of real threads of the same sizes"),
    Column("gap", "Difference", "simulated minus real"),
    Column("floor", "Floor", "the difference that real threads show; a difference outside of it is not like people"),
)


def shapes(rows: Sequence[Scored], turns: Sequence[Turn], store: MemoryStore, seed: int = 0) -> Sheet:
    """Of one run. `turns` may hold those of other runs too."""
    own = [turn for turn in turns if turn.run == rows[0].run and turn.mode == rows[0].mode]
    trees = grown(own, store)
    if not trees:
        return silent(NAME, TITLE, "Who answered whom was given by the real threads, or no reply was written.")
    pairs = []
    for (thread, _), tree in trees.items():
        real = [cut for other in _before(tree, store) if len(cut := other[: len(tree)]) == len(tree)]
        if len(real) >= LEAST:
            pairs.append((thread, tree, [shape(cut) for cut in real]))
    if not pairs:
        why = f"No simulated thread has {LEAST} real ones of its size before it in its community."
        return silent(NAME, TITLE, why)
    lines = tuple(_line(name, pairs, seed) for name in Shape._fields)
    return Sheet(NAME, TITLE, ABOUT, COLUMNS, lines, tuple(where(rows, task="generation", system=MODEL) for _ in lines))


def _before(tree: Tree, store: MemoryStore) -> list[Tree]:
    return [other for other in known(store, place_of(tree, store), tree[0].time) if other[0].id != tree[0].id]


def _line(name: str, pairs: Sequence[tuple[str, Tree, Sequence[Shape]]], seed: int) -> tuple[Value, ...]:
    threads = [thread for thread, _, _ in pairs]
    simulated = [float(getattr(shape(tree), name)) for _, tree, _ in pairs]
    real = [np.array([getattr(other, name) for other in others], np.float64) for _, _, others in pairs]
    means = [float(values.mean()) for values in real]
    return (
        TITLES[name][0],
        TITLES[name][1],
        len(pairs),
        max(map(len, real)),
        float(np.mean([len(tree) for _, tree, _ in pairs])),
        interval(simulated, threads),
        interval(means, threads),
        interval([a - b for a, b in zip(simulated, means, strict=True)], threads),
        floor(real, seed),
    )


def floor(real: Sequence[np.typing.NDArray[np.float64]], seed: int) -> Interval:
    """`real`: for each simulated thread the values of the real ones of its size. The same for a seed."""
    dice, gaps = np.random.default_rng(seed), []
    for _ in range(SPLITS):
        apart = []
        for values in real:
            order = dice.permutation(len(values))
            one, other = values[order[: len(order) // 2]], values[order[len(order) // 2 :]]
            apart.append(one[0] - other.mean())
        gaps.append(float(np.mean(apart)))
    low, high = np.quantile(gaps, [0.025, 0.975])
    return Interval(float(np.mean(gaps)), float(np.std(gaps)), float(low), float(high), SPLITS, len(real))
