"""Distributions of simulated and real messages: length, score, label, reply delay and depth, with the floor of people.

Source: Wasserstein-1 as scipy has it; Jensen-Shannon divergence in bits, the square of scipy's distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evaluation.analysis.floor import SPLITS, Halves, Sample, halves
from evaluation.analysis.lines import LATEST, past, replies, said, silent, true, where
from evaluation.analysis.trees import Tree, depths, grown, known, place_of
from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Sheet, Value
from simulator.records import Turn

if TYPE_CHECKING:
    from memory.store import MemoryStore

BINS = 10  # equally many real values in each
NAME, TITLE = "distributions", "Distributions: simulated against real"
ABOUT = (
    "Distance of all simulated values to all real ones, and the same between halves of the people at equal size "
    f"({SPLITS} seeded splits): the simulated half against the other half's real values, and real against real (the "
    "floor of people). At the floor nothing can be told apart. Sentiment is the label of the sentiment probe, score "
    "what the impact probe predicts; failed answers have no value. Delay and depth only where a scheduler chose them."
)
COLUMNS = (
    Column("feature", "Feature"),
    Column("unit", "in"),
    Column("real_of", "Real values of"),
    Column("simulated_n", "Simulated", "values", 0),
    Column("real_n", "Real", "values", 0),
    Column("people", "People", "with simulated values", 0),
    Column("w1", "Wasserstein-1", "of all values, in the unit", higher=False),
    Column("w1_sd", "in real SDs", "Wasserstein-1 over the standard deviation of the real values", higher=False),
    Column("w1_halves", "W1, halves", "simulated half against real half", higher=False),
    Column("w1_floor", "W1, floor", "real half against real half"),
    Column("js", "Jensen-Shannon", f"divergence in bits over {BINS} bins of equally many real values", higher=False),
    Column("js_halves", "JS, halves", "simulated half against real half", higher=False),
    Column("js_floor", "JS, floor", "real half against real half"),
)
Values = Sequence[float]


@dataclass(frozen=True)
class Feature:
    """`named`: its values are numbers of names, which have no distance between them."""

    name: str
    unit: str
    real_of: str
    simulated: Sample[float]
    real: Sample[float]
    task: str
    named: bool = False


def wasserstein(a: Values, b: Values) -> float:
    """Area between the two distribution functions; nan where a side has no value."""
    from scipy.stats import wasserstein_distance  # type: ignore[import-untyped]

    return float(wasserstein_distance(a, b)) if len(a) and len(b) else math.nan


def divergence(a: Values, b: Values, edges: Values) -> float:
    """Jensen-Shannon divergence in bits, 0 to 1, of the shares in bins [edge, next edge); nan where a side is empty.

    Values below the first edge and from the last one on have bins of their own.
    """
    from scipy.spatial.distance import jensenshannon  # type: ignore[import-untyped]

    if not len(a) or not len(b):
        return math.nan
    shares = [np.bincount(np.digitize(v, edges), minlength=len(edges) + 1) / len(v) for v in (a, b)]
    return float(jensenshannon(*shares, base=2)) ** 2


def bins(real: Values, named: bool = False) -> list[float]:
    """The edges between BINS bins of equally many real values, fewer where values repeat; between names each."""
    if named:
        return [value + 0.5 for value in range(int(max(real)) + 1)]
    inner = np.quantile(np.asarray(real, np.float64), np.arange(1, BINS) / BINS)
    return sorted({*inner.tolist()})


def distributions(rows: Sequence[Scored], turns: Sequence[Turn], store: MemoryStore, seed: int = 0) -> Sheet:
    """Of one run. `turns` may hold those of other runs too."""
    own = [turn for turn in turns if turn.run == rows[0].run and turn.mode == rows[0].mode]
    features = [f for f in (*_written(rows, store), *_probed(rows), *_grown(own, store)) if f.simulated.values]
    features = [f for f in features if f.real.values]
    if not features:
        return silent(NAME, TITLE, f"{ABOUT} Not here: no answer that could be read has a real counterpart.")
    found = tuple(where(rows, task=f.task, system=MODEL) for f in features)
    return Sheet(NAME, TITLE, ABOUT, COLUMNS, tuple(_line(f, seed) for f in features), found)


def _line(f: Feature, seed: int) -> tuple[Value, ...]:
    edges = bins(f.real.values, f.named)
    spread = float(np.std(f.real.values))
    w1 = None if f.named else wasserstein(f.simulated.values, f.real.values)
    apart: Halves | None = None if f.named else halves(f.simulated, f.real, wasserstein, seed)
    js = halves(f.simulated, f.real, lambda a, b: divergence(a, b, edges), seed)
    return (
        f.name,
        f.unit,
        f.real_of,
        len(f.simulated.values),
        len(f.real.values),
        len({*f.simulated.people}),
        w1,
        w1 / spread if w1 is not None and spread else None,
        apart.simulated if apart else None,
        apart.floor if apart else None,
        divergence(f.simulated.values, f.real.values, edges),
        js.simulated if js else None,
        js.floor if js else None,
    )


def _written(rows: Sequence[Scored], store: MemoryStore) -> list[Feature]:
    """Words of a message: against the real one of the slot, or where nobody wrote against the people's own past."""
    lines = [row for row in replies(rows) if said(row)]
    slots = [row for row in lines if true(row)]
    made = [row for row in lines if not true(row)]
    found = [_length("what was written in the slots", slots, [(true(r), r.user) for r in slots])]
    first = {(row.user, row.thread): row for row in reversed(made)}
    texts = [(text, user) for (user, thread), r in sorted(first.items()) for text in past(store, user, r.time, thread)]
    return [*found, _length(f"the people's latest {LATEST} messages before", made, texts)]


def _length(real_of: str, lines: Sequence[Scored], texts: Sequence[tuple[str, str]]) -> Feature:
    return Feature(
        "length",
        "words",
        real_of,
        Sample([float(len(said(r).split())) for r in lines], [r.user for r in lines]),
        Sample([float(len(text.split())) for text, _ in texts], [user for _, user in texts]),
        "generation",
    )


def _probed(rows: Sequence[Scored]) -> list[Feature]:
    """What probes said of the messages, against what the community really gave."""
    found = []
    for kind, name, unit in (("number", "score", "points"), ("label", "sentiment", "label")):
        for task in sorted({r.task for r in rows if r.kind == kind and r.system == MODEL}):
            of = [r for r in rows if r.task == task and r.system == MODEL and r.truth is not None]
            read = [r for r in of if r.value is not None]
            said, true = [r.value for r in read], [r.truth for r in of]
            names = {name: n for n, name in enumerate(sorted({v for v in (*said, *true) if isinstance(v, str)}))}
            simulated, real = (
                Sample([float(names[v] if isinstance(v, str) else v or 0) for v in values], [r.user for r in by])
                for values, by in ((said, read), (true, of))
            )
            found.append(Feature(name, unit, "the slots", simulated, real, task, kind == "label"))
    return found


def _grown(turns: Sequence[Turn], store: MemoryStore) -> list[Feature]:
    """Delay and depth of replies where a scheduler decided who answers whom and when."""
    trees = grown(turns, store)
    made = {turn.slot.id for turn in turns if turn.slot.made}
    moments: dict[str, int] = {}
    for tree in trees.values():
        place = place_of(tree, store)
        moments[place] = min(tree[0].time, moments.get(place, tree[0].time))
    before = [tree for place, moment in moments.items() for tree in known(store, place, moment)]
    new = [node for tree in trees.values() for node in _replies(tree) if node[0] in made]
    old = [node for tree in before for node in _replies(tree)]
    found = []
    for at, name, unit in ((2, "delay", "ln(1 + s)"), (3, "depth", "replies")):
        simulated, real = (Sample([float(n[at]) for n in nodes], [str(n[1]) for n in nodes]) for nodes in (new, old))
        found.append(Feature(name, unit, "the communities before", simulated, real, "generation"))
    return found


def _replies(tree: Tree) -> list[tuple[str, str, float, int]]:
    """(id, author, ln(1 + delay), depth) of every reply whose account is known."""
    time, level = {link.id: link.time for link in tree}, depths(tree)
    return [
        (link.id, link.author, math.log1p(max(0, link.time - time[link.parent])), level[link.id])
        for link in tree
        if link.parent in time and link.author is not None
    ]
