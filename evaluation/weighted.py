"""Metrics over weighted people: the value of a column in many resamples of people at once, without a loop over items.

What is a function of counts or sums is made from each person's; ranks and medians from items sorted once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.metrics import Answers, Metric
from evaluation.metrics.labels import BINS, confidence
from evaluation.stats.intervals import Codes, Floats
from evaluation.stats.resampling import DRAWS, Weighted

BY_ITEM = 500  # draws of what looks at every item: 2,000 of 10,000 items take seconds
BY_CALL = 100  # of what has no form here and is computed anew for each


def weighted(column: Metric, found: Answers, people: Codes) -> tuple[Weighted, int, int]:
    """(statistic, draws, items that a draw looks at) of `column`, which is no mean of items. `people`: one a row."""
    count = int(people.max()) + 1 if len(people) else 0
    if column.name in CONFUSED:
        of = CONFUSED[column.name]
        table, size = _confusion(found, people, count)
        return lambda w: of((w @ table).reshape(len(w), size, size + 1)), DRAWS, 0
    if column.name in SUMMED:
        return SUMMED[column.name](found, people, count), DRAWS, 0
    if column.name in SORTED:
        inner = SORTED[column.name](found)
        return lambda w: inner(w[:, people]), BY_ITEM, 2 * len(people)
    return _anew(column, found, people), BY_CALL, len(people)


def mean(values: Floats, people: Codes) -> Weighted:
    """The mean of the items of `people`."""
    sums, counts = np.bincount(people, weights=values), np.bincount(people).astype(np.float64)
    return lambda w: _ratio(w @ sums, w @ counts)


def bounds(column: Metric) -> tuple[float, float]:
    """What the metric can be at all."""
    if column.kind == "number" and column.higher is False:
        return 0.0, math.inf
    if column.name in ("mcc", "sbert", "bertscore", "token_match", "spearman", "kendall"):
        return -1.0, 1.0
    if column.kind == "label" or (column.kind == "text" and column.higher):
        return 0.0, 1.0
    return -math.inf, math.inf


def _ratio(over: Any, under: Any) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(under > 0, over / under, np.nan), np.float64)


def _or_zero(over: Any, under: Any) -> Floats:
    return np.nan_to_num(_ratio(over, under))


def _confusion(found: Answers, people: Codes, count: int) -> tuple[Floats, int]:
    """Each person's counts of (true label, said label), flat; what was not read is the last of the said."""
    place = {label: n for n, label in enumerate(found.labels)}
    size = len(place)
    true = np.array([place[t] for t in found.truth], np.intp)
    said = np.array([place.get(g, size) for g in found.guess], np.intp)
    cell = (people * size + true) * (size + 1) + said
    return np.bincount(cell, minlength=count * size * (size + 1)).reshape(count, -1).astype(np.float64), size


def _f1(counts: Floats) -> Floats:
    """(draws, labels)."""
    size = counts.shape[1]
    hits = np.diagonal(counts[:, :, :size], axis1=1, axis2=2)
    return _or_zero(2 * hits, counts.sum(2) + counts.sum(1)[:, :size])


def _weighted_f1(counts: Floats) -> Floats:
    support = counts.sum(2)
    return _or_zero((_f1(counts) * support).sum(1), support.sum(1))


def _balanced(counts: Floats) -> Floats:
    support = counts.sum(2)
    recall = _or_zero(np.diagonal(counts[:, :, : counts.shape[1]], axis1=1, axis2=2), support)
    return _ratio(recall.sum(1), (support > 0).sum(1))


def _mcc(counts: Floats) -> Floats:
    size = counts.shape[1]
    n, true, said = counts.sum((1, 2)), counts.sum(2), counts.sum(1)
    right = np.diagonal(counts[:, :, :size], axis1=1, axis2=2).sum(1)
    over = right * n - (true * said[:, :size]).sum(1)
    under = (n**2 - (true**2).sum(1)) * (n**2 - (said**2).sum(1))
    return _or_zero(over, np.sqrt(np.maximum(under, 0)))


CONFUSED: dict[str, Callable[[Floats], Floats]] = {
    "macro_f1": lambda counts: _f1(counts).mean(1),
    "positive_f1": lambda counts: _f1(counts)[:, 0],
    "weighted_f1": _weighted_f1,
    "balanced_accuracy": _balanced,
    "mcc": _mcc,
}


def _rmse(found: Answers, people: Codes, count: int) -> Weighted:
    squares = mean((_floats(found.truth) - _floats(found.guess)) ** 2, people)
    return lambda w: np.sqrt(squares(w))


def _ece(found: Answers, people: Codes, count: int) -> Weighted:
    sure, right = confidence(found.truth, found.p, found.labels)
    place = np.clip(np.ceil(np.round(_floats(sure) * BINS, 9)).astype(int) - 1, 0, BINS - 1)
    gaps = np.bincount(people * BINS + place, weights=_floats(sure) - _floats(right), minlength=count * BINS)
    each, counts = gaps.reshape(count, BINS), np.bincount(people).astype(np.float64)
    return lambda w: _ratio(np.abs(w @ each).sum(1), w @ counts)


SUMMED: dict[str, Callable[[Answers, Codes, int], Weighted]] = {"rmse": _rmse, "ece": _ece}


def _auc(found: Answers) -> Weighted:
    first = np.array([t == found.labels[0] for t in found.truth], np.float64)
    order, starts, _ = _runs(_floats(found.p))

    def of(items: Floats) -> Floats:
        ordered = items[:, order]
        yes = np.add.reduceat(ordered * first[order], starts, axis=1)
        no = np.add.reduceat(ordered * (1 - first[order]), starts, axis=1)
        below = np.cumsum(no, 1) - no / 2
        return _ratio((yes * below).sum(1), yes.sum(1) * no.sum(1))

    return of


def _spearman(found: Answers) -> Weighted:
    true, guess = _runs(_floats(found.truth)), _runs(_floats(found.guess))

    def of(items: Floats) -> Floats:
        n = items.sum(1, keepdims=True)
        a, b = (_ranks(items, *side) - (n + 1) / 2 for side in (true, guess))
        both, first, second = ((items * x * y).sum(1) for x, y in ((a, b), (a, a), (b, b)))
        return _ratio(both, np.sqrt(first * second))

    return of


def _ranks(items: Floats, order: Codes, starts: Codes, run: Codes) -> Floats:
    """Average rank of each item where item n counts `items[:, n]` times."""
    sizes = np.add.reduceat(items[:, order], starts, axis=1)
    return np.asarray((np.cumsum(sizes, 1) - (sizes - 1) / 2)[:, run])


def _runs(values: Floats) -> tuple[Codes, Codes, Codes]:
    """An order that sorts `values`, where in it each new value starts, and for each item which value it has."""
    _, run = np.unique(values, return_inverse=True)
    order = np.argsort(run, kind="stable")
    starts = np.flatnonzero(np.diff(run[order], prepend=-1))
    return order, starts, run


def _median_ae(found: Answers) -> Weighted:
    errors = np.abs(_floats(found.truth) - _floats(found.guess))
    order = np.argsort(errors, kind="stable")
    ordered = errors[order]

    def of(items: Floats) -> Floats:
        reached = np.cumsum(items[:, order], 1)
        n = reached[:, -1]
        low, high = ((reached < k[:, None]).sum(1) for k in (np.ceil(n / 2), np.floor(n / 2) + 1))
        last = len(ordered) - 1
        middle = (ordered[np.minimum(low, last)] + ordered[np.minimum(high, last)]) / 2
        return np.where(n > 0, middle, np.nan)

    return of


SORTED: dict[str, Callable[[Answers], Weighted]] = {"auc": _auc, "spearman": _spearman, "median_ae": _median_ae}


def _anew(column: Metric, found: Answers, people: Codes) -> Weighted:
    """Of any metric, by its own function on each draw; weights are whole numbers there."""
    whole = column.whole
    assert whole is not None  # a mean has its own form

    def one(row: NDArray[np.intp]) -> float:
        kept = np.repeat(np.arange(len(people)), row[people])
        drawn = Answers(
            [found.truth[n] for n in kept],
            [found.guess[n] for n in kept],
            found.labels,
            [found.p[n] for n in kept] if found.p else [],
        )
        return whole(drawn)

    return lambda w: np.array([one(row) for row in w.astype(np.intp)], np.float64)


def _floats(values: Any) -> Floats:
    return np.asarray(values, np.float64)
