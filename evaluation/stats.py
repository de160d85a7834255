"""Intervals for means of items that come in groups: a person's items are no independent witnesses. Knows no metric.

With few groups a bootstrap is too narrow (4 groups: 0.253, not 0.294); means get a t interval on the clustered error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.errors import BadInput

FEW = 30  # groups below which the normal distribution is too narrow: Student's t instead


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and its confidence interval; `se`, `low` and `high` are nan where a single group leaves them unknown."""

    mean: float
    se: float
    low: float
    high: float
    n: int
    groups: int

    def __str__(self) -> str:
        return f"{self.mean:.3f}" if math.isnan(self.se) else f"{self.mean:.3f} [{self.low:.3f}, {self.high:.3f}]"


def clustered_se(values: Sequence[float], groups: Sequence[str], corrected: bool = True) -> float:
    """Standard error of the mean of `values`, each in one of `groups`; `corrected`: times C/(C-1), for C groups.

    Source: Miller 2024 (2411.00640); the correction as Inspect's and statsmodels'. Nan for a single group.
    """
    sums, count = _residuals(_checked(values, groups), groups)
    if corrected and count < 2:
        return math.nan
    factor = count / (count - 1) if corrected else 1.0
    return math.sqrt(factor * float((sums**2).sum())) / len(values)


def interval(values: Sequence[float], groups: Sequence[str], level: float = 0.95) -> Interval:
    """The mean of `values` with its clustered interval: t with C - 1 degrees below FEW groups, normal from there on.

    Raises:
        BadInput: no value, or not one group a value.
    """
    from scipy import stats  # type: ignore[import-untyped]

    found = _checked(values, groups)
    mean, se, count = float(found.mean()), clustered_se(values, groups), len(set(groups))
    tail = (1 + level) / 2
    wide = float(stats.t.ppf(tail, count - 1) if 2 <= count < FEW else stats.norm.ppf(tail)) * se
    return Interval(mean, se, mean - wide, mean + wide, len(found), count)


def bootstrap(
    items: Sequence[Any],
    groups: Sequence[str],
    of: Callable[[list[Any]], float],
    *,
    seed: int,
    level: float = 0.95,
    draws: int = 2000,
) -> tuple[float, float]:
    """Percentile interval of `of(items)`, a statistic that is no mean, over resamples of whole groups.

    The same for a seed, whatever order the items come in group by group. Draws where `of` gives nan are left out.

    Raises:
        BadInput: no item, or not one group an item.
    """
    if not len(items) or len(items) != len(groups):
        raise BadInput(f"{len(items)} values for {len(groups)} groups; give one group a value, and at least one value")
    held: dict[str, list[Any]] = {}
    for item, group in zip(items, groups, strict=True):
        held.setdefault(group, []).append(item)
    names, dice = sorted(held), np.random.default_rng(seed)
    found = []
    for _ in range(draws):
        drawn = dice.integers(len(names), size=len(names))
        found.append(of([item for at in drawn for item in held[names[at]]]))
    known = np.asarray(found)[~np.isnan(found)]
    if not len(known):
        return math.nan, math.nan
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _residuals(values: NDArray[np.float64], groups: Sequence[str]) -> tuple[NDArray[np.float64], int]:
    names, at = np.unique(np.asarray(groups, object).astype(str), return_inverse=True)
    sums: NDArray[np.float64] = np.bincount(at, weights=values - values.mean(), minlength=len(names)).astype(float)
    return sums, len(names)


def _checked(values: Sequence[float], groups: Sequence[str]) -> NDArray[np.float64]:
    if not len(values) or len(values) != len(groups):
        raise BadInput(f"{len(values)} values for {len(groups)} groups; give one group a value, and at least one value")
    return np.asarray(values, np.float64)
