"""Merging of voices: variance between the speakers of a thread over that within them, as the thread goes on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from evaluation.analysis.lines import silent
from evaluation.analysis.voice import Heard, heard
from evaluation.rows import Scored
from evaluation.sheet import Column, Plot, Sheet, Value
from evaluation.stats import Interval, bootstrap
from memory.recall import Vectors

TURNS = ((1, 8), (9, 16), (17, 32), (33, 10**9))  # of a thread's simulated messages, both ends included
DRAWS = 1000
NAME, TITLE = "merging", "Merging: variance between speakers over variance within them"
ABOUT = (
    "1 is one voice for all; below the real value, voices merge. Messages are compared within their thread, so that "
    f"topics do not count as voices, and pooled over threads; the interval is of {DRAWS} seeded resamples of threads."
)


class Spread(NamedTuple):
    """Sums of squares between and within the speakers of one thread, and their degrees of freedom."""

    between: float
    among: int
    within: float
    left: int


def spread(vectors: Sequence[Vectors], speakers: Sequence[str]) -> Spread:
    """Of the messages of one thread, one vector and one speaker each."""
    rows = np.asarray(vectors, np.float64)
    by_speaker = 0.0
    for speaker in set(speakers):
        own = rows[[n for n, name in enumerate(speakers) if name == speaker]]
        by_speaker += float((own.sum(axis=0) ** 2).sum()) / len(own)
    in_all = float((rows.sum(axis=0) ** 2).sum()) / len(rows)
    count = len(set(speakers))
    return Spread(by_speaker - in_all, count - 1, float((rows**2).sum()) - by_speaker, len(rows) - count)


def variance_ratio(parts: Sequence[Spread]) -> float:
    """Mean square between speakers over that within: near 1 where all speak with one voice, nan where none spoke twice.

    Source: pseudo-F of Anderson 2001 (A new method for non-parametric multivariate analysis of variance).
    """
    among, left = sum(p.among for p in parts), sum(p.left for p in parts)
    within = math.fsum(p.within for p in parts)
    if not among or not left or within <= 1e-9:
        return math.nan
    return math.fsum(p.between for p in parts) / among / (within / left)


def merging(rows: Sequence[Scored], seed: int = 0) -> Sheet:
    """Of one run: the ratio of the simulated messages and of the real ones in their slots, by the thread's turns."""
    lines = heard(rows)
    table: list[tuple[Value, ...]] = []
    for low, high in TURNS:
        parts = [part for thread in lines if (part := thread[low - 1 : high])]
        simulated = _ratio(parts, lambda h: h.said, seed)
        if simulated is not None:
            until = min(high, max(map(len, lines)))
            real = _ratio([[h for h in part if h.true is not None] for part in parts], lambda h: h.true, seed)
            table.append((low, until, len(parts), sum(map(len, parts)), simulated, real))
    if not table:
        return silent(NAME, TITLE, f"{ABOUT} Not here: no thread has a speaker with two messages beside another one.")
    columns = (
        Column("since", "Messages", "of the thread's simulated messages: from the", 0),
        Column("until", "to", "to the", 0),
        Column("threads", "Threads", "that have so many", 0),
        Column("messages", "Compared", "simulated messages with words", 0),
        Column("said", "Simulated", "ratio of the simulated messages"),
        Column("true", "Real", "ratio of what was really written in their slots"),
    )
    return Sheet(NAME, TITLE, ABOUT, columns, tuple(table), (), Plot("line", "since", "said"))


def _ratio(parts: Sequence[Sequence[Heard]], of: Callable[[Heard], Vectors | None], seed: int) -> Interval | None:
    found = []
    for part in filter(None, parts):
        vectors = [vector for line in part if (vector := of(line)) is not None]
        found.append(spread(vectors, [line.row.user for line in part]))
    value = variance_ratio(found)
    if math.isnan(value):
        return None
    names, low, high = [str(n) for n in range(len(found))], math.nan, math.nan
    if len(found) > 1:
        low, high = bootstrap(found, names, variance_ratio, seed=seed, draws=DRAWS)
    return Interval(value, (high - low) / 3.92, low, high, sum(p.left for p in found), len(found))
