"""Style over a rollout: how far a person's latest messages are from their own earlier ones and from the others'.

Texts are compared by counts of three neighbouring characters (evaluation.likeness): style and words count, not meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluation.analysis.beside import About, Key, Measure, beside
from evaluation.analysis.lines import past, said, threads, true
from evaluation.likeness import threes
from evaluation.rows import Scored
from evaluation.sheet import Sheet
from memory.recall import Vectors

if TYPE_CHECKING:
    from memory.store import MemoryStore

WINDOW = 3  # a person's latest messages in the thread that stand for their voice
OWN = About(
    "voice-own", "Style: distance to the person's own earlier messages",
    f"1 - cosine of the latest {WINDOW} messages in the thread to what the person wrote before it elsewhere; both "
    "texts of a slot are cut to the shorter. A difference that rises: the person is lost.", False,
)  # fmt: skip
OTHERS = About(
    "voice-others", "Style: distance to the other speakers of the thread",
    f"1 - cosine of the latest {WINDOW} messages to those of each other speaker, both texts of a slot cut to the "
    "shorter. A difference that falls below 0: the voices merge.",
)  # fmt: skip


class Heard(NamedTuple):
    """A reply with words, both texts cut to the length of the shorter: a longer one is nearer to everything."""

    row: Scored
    said: Vectors
    true: Vectors | None


def heard(rows: Sequence[Scored]) -> list[list[Heard]]:
    """The replies of each thread and repeat, in the order of time; failed ones are left out."""
    return [list(map(_heard, filter(said, thread))) for thread in threads(rows).values()]


def style(rows: Sequence[Scored], store: MemoryStore) -> tuple[Sheet, Sheet]:
    """Of one run: the two distances by turns since the last real message."""
    lines = heard(rows)
    return beside(OWN, _own(lines, store), rows), beside(OTHERS, _others(lines), rows)


def _heard(row: Scored) -> Heard:
    length = min(len(said(row)), len(true(row))) if true(row) else len(said(row))
    return Heard(row, threes(said(row)[:length]), threes(true(row)[:length]) if true(row) else None)


def _windows(thread: Sequence[Heard], of: Callable[[Heard], Vectors | None]) -> Iterator[Mapping[str, Vectors]]:
    """At each message: the sum of each speaker's latest WINDOW vectors up to it, of length 1."""
    held: dict[str, list[Vectors]] = {}
    sums: dict[str, Vectors] = {}
    for line in thread:
        vector = of(line)
        if vector is not None:
            latest = held.setdefault(line.row.user, [])
            latest.append(vector)
            del latest[:-WINDOW]
            sums = {**sums, line.row.user: _unit(latest)}
        yield sums


def _unit(vectors: Sequence[Vectors]) -> Vectors:
    summed = np.sum(vectors, axis=0)
    unit: Vectors = summed / max(float(np.linalg.norm(summed)), 1e-9)
    return unit


Windows = Mapping[str, Vectors]


def _measured(threads: Sequence[Sequence[Heard]], of: Callable[[Heard, Windows], float]) -> Measure:
    """`of` each reply and everybody's windows at it, of what was said and of what is true; none where it is nan."""
    found: dict[Key, tuple[float, float]] = {}
    for thread in threads:
        simulated, real = _windows(thread, lambda h: h.said), _windows(thread, lambda h: h.true)
        for line, spoken, written in zip(thread, simulated, real, strict=True):
            value = of(line, spoken)
            if not math.isnan(value):
                found[line.row.key] = value, math.nan if line.true is None else of(line, written)
    return found


def _own(threads: Sequence[Sequence[Heard]], store: MemoryStore) -> Measure:
    profiles: dict[tuple[str, str], Vectors | None] = {}

    def of(line: Heard, windows: Windows) -> float:
        row, key = line.row, (line.row.thread, line.row.user)
        if key not in profiles:  # as it is at the person's first turn in the thread
            texts = past(store, row.user, row.time, row.thread)
            profiles[key] = _unit([threes(text) for text in texts]) if texts else None
        profile = profiles[key]
        return math.nan if profile is None else 1 - float(windows[row.user] @ profile)

    return _measured(threads, of)


def _others(threads: Sequence[Sequence[Heard]]) -> Measure:
    def of(line: Heard, windows: Windows) -> float:
        own = windows[line.row.user]
        found = [1 - float(own @ other) for name, other in windows.items() if name != line.row.user]
        return sum(found) / len(found) if found else math.nan

    return _measured(threads, of)
