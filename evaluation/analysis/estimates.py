"""Slopes with intervals that count people."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evaluation.stats import Interval
from evaluation.stats.intervals import Floats, coded, reach


def slope(x: Sequence[float], y: Sequence[float], groups: Sequence[str]) -> Interval:
    """The least-squares slope of y on x, each in one of `groups`, whose residuals are summed for its error: C/(C-1), t
    below FEW groups.

    All nan where x does not vary; without an interval for a single group.
    """
    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    at, names = coded(groups)
    count, apart = len(names), a - a.mean()
    spread = float((apart**2).sum())
    if spread == 0:
        return Interval(math.nan, math.nan, math.nan, math.nan, len(a), count)
    found = float((apart * b).sum()) / spread
    sums = np.bincount(at, weights=apart * (b - b.mean() - found * apart), minlength=count)
    se = math.sqrt(count / (count - 1) * float((sums**2).sum())) / spread if count > 1 else math.nan
    wide = reach(count) * se
    return Interval(found, se, found - wide, found + wide, len(a), count)


def slopes(x: Floats, y: Floats, n: Floats) -> Floats:
    """Of each row of y (draws, points) the least-squares slope on x (points,) with weights n (draws, points); points
    whose y is nan count nothing, and fewer than two points are nan."""
    weight = np.where(np.isnan(y), 0.0, n)
    known = np.nan_to_num(y)
    total = weight.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = x - (weight * x).sum(axis=1, keepdims=True) / total
        found: Floats = (weight * apart * known).sum(axis=1) / (weight * apart**2).sum(axis=1)
    found[(weight > 0).sum(axis=1) < 2] = math.nan
    return found
