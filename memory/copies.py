"""Of several copies of one message that were read, the newest stays: the one retrieved last, the one read last where
that is not known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from memory.reading import EXAMPLES, Tally
from memory.staging import ID, ODD, Staged
from memory.stored import Array

TWICE = "the same id twice: the newest is kept"


def settle(staged: Staged, at: Array, sources: Sequence[str], tally: Tally) -> tuple[Array, Array]:
    """Of the rows `at`, which are all whose ids seem to stand more than once: those that go, and those of which it
    cannot be told here, because they say different threads or are unusual. Notes each copy that is not the first."""
    records = staged.take(at)
    names = ("flags", "id", "thread_id", "retrieved", "line", "source")
    columns = zip(
        records["numbers"][:, ID].tolist(), at.tolist(), *(records[name].tolist() for name in names), strict=True
    )
    gone, left, noted = list[int](), list[int](), list[tuple[int, str]]()
    for _, group in groupby(sorted(columns), key=lambda row: row[0]):
        rows = list(group)
        if len({row[3:5] for row in rows}) > 1 or any(row[2] & ODD for row in rows):
            left += [row[1] for row in rows]
            continue
        held, seen = rows[0][1], rows[0][5]
        for _, place, _, _, _, retrieved, line, source in rows[1:]:
            noted.append((place, f"{sources[source]}:{line}"))
            older = 0 < retrieved < seen
            gone.append(place if older else held)
            held, seen = held if older else place, max(seen, retrieved)
    for _, where in sorted(noted)[:EXAMPLES]:
        tally.note("repaired", TWICE, where)
    if len(noted) > EXAMPLES:
        tally.note("repaired", TWICE, "", len(noted) - EXAMPLES)
    return np.array(sorted(gone), np.int64), np.array(sorted(left), np.int64)
