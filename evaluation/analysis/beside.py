"""A measure of simulated replies beside the same of what was really written in their slots, by turns since the real
thread."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.analysis.lines import COUNTS, SINCE, by_distance, counts, replies, silent, span, where
from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Plot, Sheet, Value
from evaluation.stats import Interval, interval

Key = tuple[str, str, str, str, str, int, bool, str]
Measure = Mapping[Key, tuple[float, float]]  # key of a row -> of what was said, of what is true (nan: nobody wrote)


@dataclass(frozen=True)
class About:
    """What the sheet says of itself; `higher` as in Column."""

    name: str
    title: str
    about: str
    higher: bool | None = None


def beside(about: About, measure: Measure, rows: Sequence[Scored]) -> Sheet:
    """By group of distances: of what was said, of what is true in the same slots, and the difference of the two."""
    if not measure:
        return silent(about.name, about.title, f"{about.about} Not here: no reply can be compared.")
    table: list[tuple[Value, ...]] = []
    found = []
    for (low, high), group in by_distance(replies(rows)):
        part = [r for r in group if r.key in measure]
        both = [r for r in part if not math.isnan(measure[r.key][1])]
        simulated = _mean([measure[r.key][0] for r in part], part)
        real = _mean([measure[r.key][1] for r in both], both)
        gap = _mean([measure[r.key][0] - measure[r.key][1] for r in both], both)
        table.append((low, high, *counts(group), len(part), simulated, real, gap))
        found.append(where(group, task=group[0].task, system=MODEL, distance=span(low, high)))
    columns = (
        *SINCE,
        *COUNTS,
        Column("measured", "Measured", "answers that can be compared", 0),
        Column("said", "Simulated", "of the simulated messages", higher=about.higher),
        Column("true", "Real", "of what was really written in the same slots"),
        Column("gap", "Difference", "simulated minus real in the same slots; 0 is like the people"),
    )
    plotted = "gap" if any(line[-1] is not None for line in table) else "said"
    return Sheet(
        about.name, about.title, about.about, columns, tuple(table), tuple(found), Plot("line", "since", plotted)
    )


def _mean(values: Sequence[float], rows: Sequence[Scored]) -> Interval | None:
    return interval(values, [r.user for r in rows]) if values else None
