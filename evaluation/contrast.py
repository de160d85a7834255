"""One metric of two sides on the same items: difference, interval, p, size of the effect. Whole people are resampled
and swapped, never single answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation import stats
from evaluation.metrics import Answers, Metric
from evaluation.rows import Scored
from evaluation.scoring import answers
from evaluation.spread import Intervals, across
from evaluation.stats import Interval, resampled
from evaluation.stats.intervals import Floats, coded
from evaluation.stats.power import ALPHA, POWER, z
from evaluation.stats.resampling import SEED, swapped, weights
from evaluation.weighted import BY_CALL, BY_ITEM, weighted

SWAPS = {BY_ITEM: 2_000, BY_CALL: 500}  # permutations where a draw is costly; 10,000 else
Pair = tuple[Interval, Interval]
PAIRED = 300  # resamples from which the correlation of two values that are no means is told


@dataclass(frozen=True, slots=True)
class Contrast:
    """`second` against `first` on one metric; `difference` is second - first.

    `test`: how p was found. `effect` is a `measure`: d_z (mean difference in its standard deviations) or, of accuracy,
    McNemar's odds ratio (items that only the second has right for each that only the first has); nan where neither is.
    `only`: those two counts, second's first; `mcnemar`: their exact p, which takes items for independent.
    `correlation`: of the pair's values, over items or over resamples. `detectable`: the smallest true difference that
    this pairing finds with 80 % power.
    """

    metric: Metric
    first: Interval
    second: Interval
    difference: Interval
    p: float
    test: str
    effect: float
    measure: str
    correlation: float
    only: tuple[int, int] | None = None
    mcnemar: float = math.nan

    @property
    def detectable(self) -> float:
        return (z(1 - ALPHA / 2) + z(POWER)) * self.difference.se


def contrast(metric: Metric, first: Sequence[Scored], second: Sequence[Scored]) -> Contrast:
    """Rows of the two sides, aligned: the same items in the same order."""
    values = tuple(Intervals([metric], rows, answers)[metric.name] for rows in (first, second))
    make = _of_items if metric.item else _of_whole
    return make(metric, first, second, (values[0], values[1]))


def _of_items(metric: Metric, first: Sequence[Scored], second: Sequence[Scored], values: Pair) -> Contrast:
    a, b = ([row.metrics[metric.item] for row in rows] for rows in (first, second))
    gaps = [y - x for x, y in zip(a, b, strict=True)]
    users = [row.user for row in first]
    found = Contrast(
        metric,
        values[0],
        values[1],
        difference(metric, first, second),
        stats.sign_flip(gaps, users),
        "sign-flip of people",
        stats.d_z(gaps),
        "d_z",
        stats.correlation(a, b),
    )
    if metric.item != "correct":
        return found
    only = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
    test = "McNemar, exact" if len(set(users)) == len(users) else found.test
    exact = stats.mcnemar(*only)
    p = exact if len(set(users)) == len(users) else found.p
    odds = stats.odds_ratio(*only)
    return replace(found, p=p, test=test, effect=odds, measure="odds ratio", only=only, mcnemar=exact)


def _of_whole(metric: Metric, first: Sequence[Scored], second: Sequence[Scored], values: Pair) -> Contrast:
    both = _Both(metric, first, second)
    parts = list(weights(both.count, PAIRED, SEED, both.items))
    a, b = (np.concatenate([both.value(w, side) for w in parts]) for side in (0, 1))
    known = ~np.isnan(a + b)
    return Contrast(
        metric,
        values[0],
        values[1],
        both.difference(),
        swapped(both.swapped, both.count, items=both.items, draws=SWAPS.get(both.draws, 10_000)),
        "swap of people",
        math.nan,
        "",
        stats.correlation(a[known].tolist(), b[known].tolist()) if both.count > 1 else math.nan,
    )


def difference(metric: Metric, first: Sequence[Scored], second: Sequence[Scored]) -> Interval:
    """second - first on aligned rows, with its interval alone."""
    if metric.item:
        gaps = [y.metrics[metric.item] - x.metrics[metric.item] for x, y in zip(first, second, strict=True)]
        return stats.interval(gaps, [row.user for row in first], across=across(first))
    return _Both(metric, first, second).difference()


class _Both:
    """A metric that is no mean, over the rows of both sides: each person stands in it twice, once a side."""

    def __init__(self, metric: Metric, first: Sequence[Scored], second: Sequence[Scored]) -> None:
        people, names = coded([row.user for row in first])
        self.n, self.count = len(first), len(names)
        joined = _joined(answers(first), answers(second))
        self._of, self.draws, self.items = weighted(metric, joined, np.concatenate([people, people + self.count]))

    def value(self, w: Floats, side: int) -> Floats:
        none = np.zeros_like(w)
        return self._of(np.hstack([none, w] if side else [w, none]))

    def swapped(self, signs: Floats) -> Floats:
        kept = (1 + signs) / 2
        return self._of(np.hstack([1 - kept, kept])) - self._of(np.hstack([kept, 1 - kept]))

    def difference(self) -> Interval:
        def gap(w: Floats) -> Floats:
            return self.value(w, 1) - self.value(w, 0)

        return replace(resampled(gap, self.count, items=self.items, draws=self.draws), n=self.n)


def _joined(a: Answers, b: Answers) -> Answers:
    return Answers([*a.truth, *b.truth], [*a.guess, *b.guess], a.labels, [*a.p, *b.p])
