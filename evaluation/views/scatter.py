"""The scores that the model predicted against the true ones, counted on a grid that is log-like."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from evaluation.rows import MODEL, Scored
from evaluation.scoring import number
from evaluation.sheet import Column, Plot, Sheet

EXACT = 9  # numbers up to here stand for themselves, larger ones for all of as many digits with the same first


def scatter(scored: Sequence[Scored]) -> Sheet | None:
    """One row for each pair of (true, predicted) after rounding; None where no number was asked."""
    rows = [r for r in scored if r.system == MODEL and r.kind == "number" and r.truth is not None]
    if not rows:
        return None
    many = len({r.run for r in rows}) > 1
    found = Counter(((r.run, r.mode, r.task), _rounded(float(r.truth or 0)), _rounded(number(r))) for r in rows)
    cells = sorted(found.items())
    return Sheet(
        "scatter",
        "Predicted and true scores",
        f"Numbers beyond {EXACT} stand at their first digit, 96 at 90. An answer that could not be read counts as the "
        "community's median so far, as in every value above.",
        (
            Column("which", "Task"),
            Column("true", "True score", places=0),
            Column("predicted", "Predicted", places=0),
            Column("n", "Answers"),
        ),
        tuple(
            (f"{task}, {mode}" + (f", {run}" if many else ""), true, said, n)
            for ((run, mode, task), true, said), n in cells
        ),
        tuple(
            {"run": run, "mode": mode, "task": task, "system": MODEL, "truth": _span(true), "measured": _span(said)}
            for ((run, mode, task), true, said), _ in cells
        ),
        Plot("scatter", "true", "predicted", "which", size="n", equality=True, log=True),
    )


def _rounded(value: float) -> float:
    size = abs(value)
    if size < EXACT + 0.5:
        return math.copysign(math.floor(size + 0.5), value) + 0.0
    unit = 10 ** math.floor(math.log10(max(size, EXACT + 1)))
    return math.copysign(math.floor(max(size, EXACT + 1) / unit) * unit, value)


def _span(rounded: float) -> str:
    """The numbers that stand at one, as a link to rows names them: "2.5 to 3.4999", "20 to 29.9999"."""
    size = abs(rounded)
    if size <= EXACT:
        low, high = (size - 0.5 if size else -0.4999), size + 0.4999
    else:
        low, high = (size if size > EXACT + 1 else EXACT + 0.5), size + 10 ** math.floor(math.log10(size)) - 0.0001
    return f"{low:.10g} to {high:.10g}" if rounded >= 0 else f"{-high:.10g} to {-low:.10g}"
