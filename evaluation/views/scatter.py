"""The scores that the model predicted against the true ones, counted on a grid that is log-like."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from evaluation.rows import MODEL, Scored
from evaluation.scoring import number
from evaluation.sheet import Column, Plot, Sheet

EXACT = 10  # numbers up to here stand for themselves, larger ones for all that round to the same first digit


def scatter(scored: Sequence[Scored]) -> Sheet | None:
    """One row for each pair of (true, predicted) after rounding; None where no number was asked."""
    rows = [r for r in scored if r.system == MODEL and r.kind == "number" and r.truth is not None]
    if not rows:
        return None
    many = len({r.run for r in rows}) > 1
    found = Counter(
        (f"{r.task}, {r.mode}" + (f", {r.run}" if many else ""), _rounded(float(r.truth or 0)), _rounded(number(r)))
        for r in rows
    )
    return Sheet(
        "scatter",
        "Predicted and true scores",
        f"Numbers beyond {EXACT} are rounded to their first digit. An answer that could not be read counts as the "
        "community's median so far, as in every value above.",
        (
            Column("which", "Task"),
            Column("true", "True score", places=0),
            Column("predicted", "Predicted", places=0),
            Column("n", "Answers"),
        ),
        tuple((which, true, said, n) for (which, true, said), n in sorted(found.items())),
        plot=Plot("scatter", "true", "predicted", "which", size="n", equality=True, log=True),
    )


def _rounded(value: float) -> float:
    if abs(value) <= EXACT:
        return float(round(value))
    unit = 10 ** math.floor(math.log10(abs(value)))
    return float(round(value / unit) * unit)
