"""Estimates with intervals that count people, for what is no mean of answers: slopes, and the jackknife."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evaluation.stats import FEW, Interval

PARTS = 20  # people are left out in at most so many parts: an error costs as many evaluations


def slope(x: Sequence[float], y: Sequence[float], groups: Sequence[str]) -> Interval:
    """The least-squares slope of y on x, each in one of `groups`, whose residuals are summed for its error: C/(C-1), t
    below FEW groups.

    All nan where x does not vary; without an interval for a single group.
    """
    from scipy import stats  # type: ignore[import-untyped]

    a, b = np.asarray(x, np.float64), np.asarray(y, np.float64)
    names, at = np.unique(np.asarray(groups, object).astype(str), return_inverse=True)
    count = len(names)
    apart = a - a.mean()
    spread = float((apart**2).sum())
    if spread == 0:
        return Interval(math.nan, math.nan, math.nan, math.nan, len(a), count)
    found = float((apart * b).sum()) / spread
    sums = np.bincount(at, weights=apart * (b - b.mean() - found * apart), minlength=count)
    se = math.sqrt(count / (count - 1) * float((sums**2).sum())) / spread if count > 1 else math.nan
    wide = float(stats.t.ppf(0.975, count - 1) if 2 <= count < FEW else stats.norm.ppf(0.975)) * se
    return Interval(found, se, found - wide, found + wide, len(a), count)


def parts(groups: Sequence[str]) -> NDArray[np.intp]:
    """For each item the number of the part, at most PARTS of them, with which its group is left out."""
    names = sorted(set(groups))
    part = {name: n % PARTS for n, name in enumerate(names)}
    return np.array([part[group] for group in groups], np.intp)


def jackknife(whole: float, left: Sequence[float], n: int, groups: int) -> Interval:
    """`whole` with the t interval of its values `left` without each part; `n` items in so many groups.

    Without an interval for fewer than two parts, or where the value is undefined without one of them.
    Source: the delete-a-group jackknife (Kott 2001).
    """
    from scipy import stats

    known = np.asarray(left, np.float64)
    count = len(known)
    if count < 2 or math.isnan(whole) or np.isnan(known).any():
        return Interval(whole, math.nan, math.nan, math.nan, n, groups)
    se = math.sqrt((count - 1) / count * float(((known - known.mean()) ** 2).sum()))
    wide = float(stats.t.ppf(0.975, count - 1)) * se
    return Interval(whole, se, whole - wide, whole + wide, n, groups)


def weighted_slope(x: Sequence[float], y: Sequence[float], n: Sequence[float]) -> float:
    """The least-squares slope of y on x with weights n, of the points whose y is known; nan for fewer than two."""
    known = ~np.isnan(np.asarray(y, np.float64))
    a, b, w = (np.asarray(part, np.float64)[known] for part in (x, y, n))
    if len(a) < 2 or not w.sum():
        return math.nan
    apart = a - np.average(a, weights=w)
    return float((w * apart * b).sum() / (w * apart**2).sum())
