"""Seeded resamples of whole people for statistics that are no means, and permutations that swap two systems by person.

A resample is a row of weights: how often each group was drawn. Statistics work on many rows at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from evaluation.stats.intervals import LEVEL, Floats, Interval, coded, student
from memory.errors import BadInput

DRAWS = 2_000
AT_ONCE = 1_000_000  # weights in memory at a time
EXACT = 12  # people up to whom every pattern of swaps is looked at: 4,096
SEED = 0

Weighted = Callable[[Floats], Floats]  # weights (draws, groups) -> the statistic of each draw (draws,), nan: undefined


def weights(groups: int, draws: int, seed: int, items: int = 0) -> Iterator[Floats]:
    """Rows of (draws, groups), in parts: how often each group was drawn in `groups` draws with replacement.

    `items`: how many there are, where the statistic looks at each.
    """
    dice = np.random.default_rng(seed)
    part = max(1, AT_ONCE // max(groups, items, 1))
    for start in range(0, draws, part):
        rows = min(part, draws - start)
        drawn = dice.integers(groups, size=(rows, groups)) + np.arange(rows)[:, None] * groups
        yield np.bincount(drawn.ravel(), minlength=rows * groups).reshape(rows, groups).astype(np.float64)


def resampled(
    of: Weighted, groups: int, *, items: int = 0, seed: int = SEED, draws: int = DRAWS, level: float = LEVEL
) -> Interval:
    """`of` over all with its interval: Student's t times the spread over resamples of groups, corrected as clustered
    errors are. Percentiles of the same draws are too narrow (bench/coverage.py: they hold the truth 92 to 94 times of
    100 with 40 groups, these 94 to 96). Draws where `of` gives nan are left out.

    Unknown (nan) for a single group, and where no draw moves the statistic.
    """
    value = float(of(np.ones((1, groups)))[0])
    if groups < 2 or math.isnan(value):
        return Interval(value, math.nan, math.nan, math.nan, items, groups)
    found = np.concatenate([of(part) for part in weights(groups, draws, seed, items)])
    known = found[~np.isnan(found)]
    if len(known) < 2 or np.ptp(known) == 0:
        return Interval(value, math.nan, math.nan, math.nan, items, groups)
    se = float(known.std(ddof=1)) * math.sqrt(groups / (groups - 1))
    wide = student(groups, level) * se
    return Interval(value, se, value - wide, value + wide, items, groups)


def bootstrap(
    items: Sequence[Any],
    groups: Sequence[str],
    of: Callable[[list[Any]], float],
    *,
    seed: int,
    level: float = LEVEL,
    draws: int = DRAWS,
) -> tuple[float, float]:
    """Percentile interval of `of(items)`, any function at all, over resamples of whole groups: one call a draw.

    The same for a seed, whatever order the items come in group by group. Draws where `of` gives nan are left out.

    Raises:
        BadInput: no item, or not one group an item.
    """
    if not len(items) or len(items) != len(groups):
        raise BadInput(f"{len(items)} values for {len(groups)} groups; give one group a value, and at least one value")
    at, names = coded(groups)
    order = np.argsort(at, kind="stable")
    found = np.concatenate([
        [of([items[int(n)] for n in np.repeat(order, row[at[order]].astype(int))]) for row in part]
        for part in weights(len(names), draws, seed)
    ])  # fmt: skip
    known = found[~np.isnan(found)]
    if not len(known):
        return math.nan, math.nan
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def swapped(of: Weighted, groups: int, *, items: int = 0, seed: int = SEED, draws: int = 10_000) -> float:
    """Two-sided p of a difference between two systems, when each person's answers may as well be the other's.

    `of`: the difference, odd under a swap, for rows of signs: 1 a person as they are, -1 swapped. Every pattern up to
    EXACT people, else `draws` of them by seed, of which the one that happened counts as one: p is never 0.
    """
    happened = abs(float(of(np.ones((1, groups)))[0]))
    if math.isnan(happened):
        return math.nan
    bar = happened - 1e-12 * max(1.0, happened)  # equal up to rounding is as large
    exact = groups <= EXACT
    total, larger = 0, 0
    for signs in _patterns(groups) if exact else _signs(groups, draws, seed, items):
        found = np.abs(of(signs))
        found = found[~np.isnan(found)]
        total, larger = total + len(found), larger + int((found >= bar).sum())
    return larger / total if exact else (larger + 1) / (total + 1)


def _patterns(groups: int) -> Iterator[Floats]:
    bits = (np.arange(2**groups)[:, None] >> np.arange(groups)) & 1
    yield 1.0 - 2.0 * bits.astype(np.float64)


def _signs(groups: int, draws: int, seed: int, items: int) -> Iterator[Floats]:
    dice = np.random.default_rng(seed)
    part = max(1, AT_ONCE // max(groups, items, 1))
    for start in range(0, draws, part):
        yield 1.0 - 2.0 * dice.integers(2, size=(min(part, draws - start), groups)).astype(np.float64)
