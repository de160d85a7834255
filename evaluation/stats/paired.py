"""Two systems on the same items: tests, sizes of effects, and what many tests at once cost."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from evaluation.stats.intervals import Floats, coded
from evaluation.stats.resampling import SEED, swapped


def sign_flip(differences: Sequence[float], groups: Sequence[str], *, seed: int = SEED, draws: int = 10_000) -> float:
    """Two-sided p of a mean difference when the sign of each group's sum may as well be the other.

    Exact for few groups whose sum is not 0. With one pair of right and wrong a group it is McNemar's exact test.
    """
    at, names = coded(groups)
    sums = np.bincount(at, weights=np.asarray(differences, np.float64), minlength=len(names))
    moving = sums[np.abs(sums) > 1e-12]
    if not len(moving):
        return 1.0
    return swapped(lambda signs: np.asarray(signs @ moving, np.float64), len(moving), seed=seed, draws=draws)


def mcnemar(b: int, c: int) -> float:
    """Exact two-sided p of `b` items that only the first has right and `c` that only the second has.

    Items of one person are taken for independent: with several items a person see sign_flip.
    """
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    return float(binomtest(b, b + c, 0.5).pvalue) if b + c else 1.0


def odds_ratio(b: int, c: int) -> float:
    """b / c, McNemar's effect: how many items only the first has right for each that only the second has."""
    return b / c if c else (math.inf if b else math.nan)


def d_z(differences: Sequence[float]) -> float:
    """Cohen's d of paired differences: their mean in their own standard deviations; nan where they do not vary."""
    found = np.asarray(differences, np.float64)
    if len(found) < 2 or np.ptp(found) == 0:
        return math.nan
    return float(found.mean() / found.std(ddof=1))


def cliffs_delta(first: Sequence[float], second: Sequence[float]) -> float:
    """P(an item of the first is larger) - P(one of the second is): -1 to 1, ties count for neither; nan for none."""
    if not len(first) or not len(second):
        return math.nan
    a, b = np.asarray(first, np.float64), np.sort(np.asarray(second, np.float64))
    below, above = np.searchsorted(b, a, "left"), len(b) - np.searchsorted(b, a, "right")
    return float((below - above).sum() / (len(a) * len(b)))


def correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Pearson's, of the two values of each item: what pairing gains. Nan where a side does not vary."""
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return math.nan
    return float(np.corrcoef(a, b)[0, 1])


def holm(p: Sequence[float]) -> list[float]:
    """Adjusted p of a family, in its order: below 0.05 means that of the whole family no claim is false, 95 times of
    100. nan is no test, counts for nothing and stays."""
    return _adjusted(p, lambda known: np.maximum.accumulate(known * np.arange(len(known), 0, -1)))


def benjamini_hochberg(p: Sequence[float]) -> list[float]:
    """Adjusted p for exploring: of what is below 0.05, about 5 % is expected to be chance. nan stays."""

    def step(known: Floats) -> Floats:
        scaled = known * len(known) / np.arange(1, len(known) + 1)
        return np.asarray(np.minimum.accumulate(scaled[::-1])[::-1], np.float64)

    return _adjusted(p, step)


def _adjusted(p: Sequence[float], step: object) -> list[float]:
    given = np.asarray(p, np.float64)
    at = np.flatnonzero(~np.isnan(given))
    order = at[np.argsort(given[at], kind="stable")]
    given[order] = np.minimum(step(given[order]), 1.0)  # type: ignore[operator]
    return [float(value) for value in given]
