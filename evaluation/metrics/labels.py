"""Metrics of classification: counts of right answers, and how good the stated probabilities were."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

UNREAD = -1  # the third class
BINS = 10


def accuracy(truth: Sequence[str], guess: Sequence[str | None]) -> float:
    """Share right of all asked; nan for none."""
    return math.nan if not truth else sum(t == g for t, g in zip(truth, guess, strict=True)) / len(truth)


def macro_f1(truth: Sequence[str], guess: Sequence[str | None], labels: Sequence[str]) -> float:
    """Mean over `labels` of F1 = 2TP / (2TP + FP + FN), 0 for a label that nobody has or says; nan for no items.

    None costs the true label's recall and no label's precision, so it can only lower the value.
    """
    return f1(truth, guess, labels, "macro")


def f1(
    truth: Sequence[str],
    guess: Sequence[str | None],
    labels: Sequence[str],
    average: Literal["first", "macro", "weighted"],
) -> float:
    """F1 of the first of `labels`, or its mean over all, plain or weighted by how often each is true."""
    if not truth:
        return math.nan
    from sklearn.metrics import f1_score  # type: ignore[import-untyped]

    coded, said = _coded(truth, guess, labels)
    counted, how = ([0], "macro") if average == "first" else (list(range(len(labels))), average)
    return float(f1_score(coded, said, labels=counted, average=how, zero_division=0))


def mcc(truth: Sequence[str], guess: Sequence[str | None]) -> float:
    """Matthews correlation (Gorodkin's R_K with None as a third class); 0 where a side is constant, nan for no items.

    Unlike accuracy and F1 it can rise by refusing one class only: read it beside the number of failed answers.
    """
    if not truth:
        return math.nan
    if len({*truth}) < 2 or len({*guess}) < 2:
        return 0.0
    from sklearn.metrics import matthews_corrcoef

    return float(matthews_corrcoef(*_coded(truth, guess, sorted({*truth}))))


def balanced_accuracy(truth: Sequence[str], guess: Sequence[str | None]) -> float:
    """Mean recall of the labels that are true of some item; nan for no items."""
    if not truth:
        return math.nan
    from sklearn.metrics import recall_score

    present = sorted({*truth})
    coded, said = _coded(truth, guess, present)
    return float(recall_score(coded, said, labels=list(range(len(present))), average="macro", zero_division=0))


def auc(truth: Sequence[str], p: Sequence[float], labels: Sequence[str]) -> float:
    """Probability that an item of the first label has the higher `p`, ties half; nan where one label only is true."""
    is_first = [t == labels[0] for t in truth]
    if len({*is_first}) < 2:
        return math.nan
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(is_first, list(p)))


def brier(truth: str, p: float, labels: Sequence[str]) -> float:
    """Squared distance of P(first label) to what is true, in [0, 1]."""
    return (p - (truth == labels[0])) ** 2


def confidence(truth: Sequence[str], p: Sequence[float], labels: Sequence[str]) -> tuple[list[float], list[bool]]:
    """For each answer the probability of the likelier side, and whether that side is true; 0.5 counts as the first."""
    sure = [max(value, 1 - value) for value in p]
    return sure, [(value >= 0.5) == (t == labels[0]) for t, value in zip(truth, p, strict=True)]


def ece(confidence: Sequence[float], right: Sequence[bool], bins: int = BINS, mass: bool = False) -> float:
    """Expected calibration error: mean over `bins` of |confidence - share right|, weighted by size; nan for no items.

    Bins are equally wide, (low, high], or with `mass` hold equally many. Biased upward for few items: below about 300
    read the bins themselves. Source: Naeini 2015, Guo 2017.
    """
    if not confidence:
        return math.nan
    sure, hit = np.asarray(confidence, np.float64), np.asarray(right, np.float64)
    return math.fsum(abs(float(sure[at].sum() - hit[at].sum())) for at in _bins(sure, bins, mass)) / len(sure)


def _coded(
    truth: Sequence[str], guess: Sequence[str | None], labels: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each label as its place in `labels`, one that is not there as a class of its own, None as UNREAD: scikit-learn
    takes less than half the time for numbers."""
    known = [*labels, *sorted({g for g in (*truth, *guess) if g is not None} - {*labels})]
    code: dict[str | None, int] = {None: UNREAD, **{label: n for n, label in enumerate(known)}}
    return np.array([code[t] for t in truth], np.int64), np.array([code[g] for g in guess], np.int64)


def _bins(sure: NDArray[np.float64], bins: int, mass: bool) -> list[NDArray[np.intp]]:
    if mass:
        return np.array_split(np.argsort(sure, kind="stable"), bins)
    place = np.clip(np.ceil(np.round(sure * bins, 9)).astype(int) - 1, 0, bins - 1)
    return [np.flatnonzero(place == n) for n in range(bins)]
