"""Calibration: how often the first label was true where the model gave it a certain probability."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evaluation import tasks
from evaluation.metrics.labels import BINS
from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Plot, Sheet, Value
from evaluation.stats import share


def calibration(scored: Sequence[Scored]) -> Sheet | None:
    """Bins of equal width over P(first label), (low, high], the first with 0; None where no probability was stated."""
    rows = [r for r in scored if r.system == MODEL and r.truth is not None and isinstance(r.detail.get("p"), float)]
    if not rows:
        return None
    groups: dict[tuple[str, str, str, int], list[Scored]] = {}
    for row in rows:
        groups.setdefault((row.run, row.mode, row.task, _bin(_p(row))), []).append(row)
    lines: list[tuple[Value, ...]] = []
    many = len({r.run for r in rows}) > 1
    for (run, mode, task, at), group in sorted(groups.items()):
        first = tasks.load(task).ASK.labels[0]
        true = share([float(r.truth == first) for r in group], [r.user for r in group])
        stated = sum(map(_p, group)) / len(group)
        which = f"{task}, {mode}" + (f", {run}" if many else "")
        lines.append((which, f"{at / BINS:.1f} to {(at + 1) / BINS:.1f}", len(group), stated, true))
    return Sheet(
        "calibration",
        "Calibration",
        "Where the stated probability of the first label is right, the share of messages of which it is true equals "
        "it. Few answers in a bin say little; intervals are clustered by person.",
        (
            Column("which", "Task"),
            Column("bin", "Stated between"),
            Column("n", "Answers"),
            Column("stated", "Mean stated"),
            Column("true", "Share true"),
        ),
        tuple(lines),
        tuple({"run": run, "mode": mode, "task": task, "system": MODEL} for run, mode, task, _ in sorted(groups)),
        Plot("line", "stated", "true", "which", equality=True),
    )


def _p(row: Scored) -> float:
    return float(row.detail["p"])


def _bin(p: float) -> int:
    return min(BINS - 1, max(0, math.ceil(round(p * BINS, 9)) - 1))
