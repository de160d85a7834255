"""Personalisation gain: the person's own memory minus somebody else's (swap_user) on the same slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evaluation import metrics
from evaluation.analysis.lines import COUNTS, counts, where
from evaluation.analysis.series import Series
from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Sheet, Value
from evaluation.stats import Interval

SWAPPED = "swap_user"
ABOUT = (
    "The same slots and model, once with what the person remembers and once with the memory of the person most alike "
    "in the community. What is left of a gain over no memory when it is swapped was not the person."
)


def gain(rows: Sequence[Scored], others: Sequence[Scored]) -> tuple[Sheet, ...]:
    """`rows` of one run beside those of runs with the policy swap_user in the same mode; () where there are none."""
    swapped = {_slot(r): r for r in others if _targets(r) and r.retriever.partition(":")[0] == SWAPPED}
    own = [r for r in rows if _targets(r) and r.retriever.partition(":")[0] != SWAPPED and _slot(r) in swapped]
    if not own:
        return ()
    lines: list[tuple[Value, ...]] = []
    found = []
    for task in sorted({r.task for r in own}):
        part = [r for r in own if r.task == task]
        other = [swapped[_slot(r)] for r in part]
        for column in metrics.headline(part[0].kind):
            values = [_all(column, a, b) for a, b in ((part, ()), (other, ()), (part, other))]
            lines.append((task, column.title, *counts(part), *values))
            found.append(where(part, task=task, system=MODEL))
    columns = (
        Column("task", "Task"),
        Column("metric", "Metric"),
        *COUNTS,
        Column("own", "Own memory"),
        Column("swapped", "Swapped memory"),
        Column("gain", "Gain", "own minus swapped; for errors below 0 is a gain"),
    )
    return (Sheet("personalisation", "Personalisation gain", ABOUT, columns, tuple(lines), tuple(found)),)


def _all(column: metrics.Metric, rows: Sequence[Scored], minus: Sequence[Scored]) -> Interval:
    """Over all rows at once, whatever their distance."""
    return Series("", [replace(row, distance=1) for row in rows], minus).measured(column)[0][0]


def _targets(row: Scored) -> bool:
    return row.system == MODEL and row.truth is not None and bool(row.metrics)


def _slot(row: Scored) -> tuple[str, str, str, str, int]:
    return row.mode, row.task, row.thread, row.slot, row.repeat
