"""Intervals for means of items that come in groups: a person's items are no independent witnesses. Knows no metric."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from memory.errors import BadInput

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]

FEW = 100  # groups below which the normal distribution is too narrow: Student's t instead (at 40 still, by 3 %)
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A value and its confidence interval over `n` items of `groups` people. nan: `low` and `high` where they are
    unknown (one group, or a statistic that no resample moves), `se` there and where the interval is made without one.
    """

    mean: float
    se: float
    low: float
    high: float
    n: int
    groups: int

    def __str__(self) -> str:
        return f"{self:.3f}"

    def __format__(self, spec: str) -> str:
        """Its three numbers, each by `spec` (default .3f): f"{found:.1f}" is "0.5 [0.4, 0.6]"."""
        spec = spec or ".3f"
        ends = "" if math.isnan(self.low) else f" [{self.low:{spec}}, {self.high:{spec}}]"
        return f"{self.mean:{spec}}{ends}"

    def within(self, low: float, high: float) -> Interval:
        """The same with its ends inside of what the statistic can be at all; nan stays."""
        return replace(self, low=max(self.low, low), high=min(self.high, high))


def coded(groups: Sequence[str]) -> tuple[Codes, list[str]]:
    """For each item the place of its group among the sorted names, and those names."""
    names, at = np.unique(np.asarray(groups, object).astype(str), return_inverse=True)
    return at.astype(np.intp), names.tolist()


def clustered_se(
    values: Sequence[float], groups: Sequence[str], corrected: bool = True, across: Sequence[str] | None = None
) -> float:
    """Standard error of the mean of `values`, each in one of `groups`; `corrected`: times C/(C-1), for C groups.

    With `across`, a second grouping of the same items, two-way: V = V_groups + V_across - V_both, and at least the
    first. Nan for a single group. Source: Miller 2024 (2411.00640); the correction as Inspect's and statsmodels';
    two-way: Cameron, Gelbach and Miller 2011.
    """
    found = _checked(values, groups)
    first = _variance(found, groups, corrected)
    if across is None or math.isnan(first):
        return math.sqrt(first)
    second = _variance(_checked(values, across), across, corrected)
    both = _variance(found, [f"{a}\x1f{b}" for a, b in zip(groups, across, strict=True)], corrected)
    total = first + second - both
    return math.sqrt(max(total, first)) if not math.isnan(total) else math.nan


def interval(
    values: Sequence[float], groups: Sequence[str], level: float = LEVEL, across: Sequence[str] | None = None
) -> Interval:
    """The mean of `values` with its clustered interval: t with C - 1 degrees below FEW groups, normal from there on.

    `across`: see clustered_se; the degrees are then of the smaller grouping. Where all values are equal and there are
    two groups, the error is 0: for shares see `share`.

    Raises:
        BadInput: no value, or not one group a value.
    """
    found = _checked(values, groups)
    count = len(set(groups))
    fewest = count if across is None else min(count, len(set(across)))
    mean, se = float(found.mean()), clustered_se(values, groups, across=across)
    wide = reach(fewest, level) * se
    return Interval(mean, se, mean - wide, mean + wide, len(found), count)


def share(
    values: Sequence[float], groups: Sequence[str], level: float = LEVEL, across: Sequence[str] | None = None
) -> Interval:
    """`interval` of values within 0 and 1; where all are 0, or all 1, Wilson's, every group counted as one trial."""
    found = interval(values, groups, level, across)
    if min(values) == max(values) and found.mean in (0.0, 1.0):
        low, high = wilson(round(found.mean * found.groups), found.groups, level)
        return replace(found, se=math.nan, low=low, high=high)
    return found.within(0.0, 1.0)


def wilson(hits: int, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Wilson's score interval of `hits` of `n` independent trials: never empty, also for 0 and for all."""
    if not 0 <= hits <= n or n < 1:
        raise BadInput(f"{hits} of {n} is no share; give at least one trial, and from 0 to all of them as hits")
    z, p = _normal((1 + level) / 2), hits / n
    middle, wide = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    low, high = (middle - wide) / (1 + z * z / n), (middle + wide) / (1 + z * z / n)
    return (0.0 if hits == 0 else low), (1.0 if hits == n else high)


def reach(groups: int, level: float = LEVEL) -> float:
    """How many standard errors an interval reaches to each side: Student's t below FEW groups."""
    return student(groups, level) if 2 <= groups < FEW else _normal((1 + level) / 2)


def student(groups: int, level: float = LEVEL) -> float:
    """The same by Student's t with groups - 1 degrees, however many."""
    from scipy import stats  # type: ignore[import-untyped]

    return float(stats.t.ppf((1 + level) / 2, groups - 1))


def _normal(tail: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(tail)


def _variance(found: Floats, groups: Sequence[str], corrected: bool) -> float:
    at, names = coded(groups)
    if corrected and len(names) < 2:
        return math.nan
    sums = np.bincount(at, weights=found - found.mean(), minlength=len(names))
    factor = len(names) / (len(names) - 1) if corrected else 1.0
    return factor * float((sums**2).sum()) / len(found) ** 2


def _checked(values: Sequence[float], groups: Sequence[str]) -> Floats:
    if not len(values) or len(values) != len(groups):
        raise BadInput(f"{len(values)} values for {len(groups)} groups; give one group a value, and at least one value")
    return np.asarray(values, np.float64)
