"""Metrics of regression on a heavy tail: each says what a few viral messages do to it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def mae(truth: Sequence[float], guess: Sequence[float]) -> float:
    """Mean absolute error; nan for no items. The constant that is best at it is the median."""
    return float(np.mean(np.abs(_gap(truth, guess)))) if truth else math.nan


def rmse(truth: Sequence[float], guess: Sequence[float]) -> float:
    """Root of the mean squared error: a few viral messages decide it; nan for no items."""
    return float(np.sqrt(np.mean(_gap(truth, guess) ** 2))) if truth else math.nan


def median_ae(truth: Sequence[float], guess: Sequence[float]) -> float:
    """Median absolute error: viral messages do not move it; nan for no items."""
    return float(np.median(np.abs(_gap(truth, guess)))) if truth else math.nan


def slog(score: float) -> float:
    """sign(s) log(1 + |s|): a scale on which 1 and 3 are as far apart as 100 and 200."""
    return math.copysign(math.log1p(abs(score)), score)


def spearman(truth: Sequence[float], guess: Sequence[float]) -> float:
    """Rank correlation, average ranks for ties; nan where a side is constant: that is unknown, not 0."""
    if len(truth) < 2 or len({*truth}) < 2 or len({*guess}) < 2:
        return math.nan
    from scipy.stats import spearmanr  # type: ignore[import-untyped]

    return float(spearmanr(list(truth), list(guess)).statistic)


def kendall(truth: Sequence[float], guess: Sequence[float]) -> float:
    """Kendall's tau-b; nan where a side is constant."""
    if len(truth) < 2 or len({*truth}) < 2 or len({*guess}) < 2:
        return math.nan
    from scipy.stats import kendalltau

    return float(kendalltau(list(truth), list(guess)).statistic)


def skill(error: float, of_baseline: float) -> float:
    """1 - error / error of the baseline: 1 is perfect, 0 no better than it; nan where the baseline makes no error."""
    return 1 - error / of_baseline if of_baseline > 0 else math.nan


def coverage(truth: Sequence[float], low: Sequence[float], high: Sequence[float]) -> float:
    """Share of truths within their stated interval, ends included; nan for no items."""
    inside = [a <= t <= b for t, a, b in zip(truth, low, high, strict=True)]
    return sum(inside) / len(inside) if inside else math.nan


def interval_score(truth: float, low: float, high: float, percent: int) -> float:
    """Width plus 2 / (1 - coverage) times what the truth lies outside by: least for honest quantiles, so that a wide
    interval is not free. Source: Gneiting and Raftery 2007, section 6.2."""
    missed = max(low - truth, 0.0) + max(truth - high, 0.0)
    return high - low + 2 / (1 - percent / 100) * missed


def expected_max(values: Sequence[float], k: int) -> float:
    """The expected largest of `k` of the values, drawn without replacement: the unbiased estimate of the best of k
    answers. nan for fewer than `k`. Source: pass@k of Chen et al. 2021, for values that are not 0 or 1."""
    n = len(values)
    if not 1 <= k <= n:
        return math.nan
    return math.fsum(math.comb(i, k - 1) * v for i, v in enumerate(sorted(values))) / math.comb(n, k)


def _gap(truth: Sequence[float], guess: Sequence[float]) -> NDArray[np.float64]:
    return np.asarray(truth, np.float64) - np.asarray(guess, np.float64)
