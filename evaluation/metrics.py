"""Metrics: pure functions over truths and guesses, each with a stamp. Where a library computes one, it is called.

An answer that could not be read is never left out. Classification takes it as None and counts it as a third class that
is never right; scoring.py fills numbers and gives texts 0 before they come here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from memory.recall import Vectors

TEXT_LIMIT = 5_000  # characters read of a text: ROUGE-L is quadratic (0.4 s for two texts of this length)
UNREAD = ""  # the third class
OWN = "own"  # computed here: its number rises when a definition changes
OWN_VERSION = "1"


@dataclass(frozen=True, slots=True)
class Metric:
    """One column. `library` (a distribution, or OWN) with its version and `resource` make the stamp.

    `item`: the value of one answer whose mean is this metric, "" where it is no mean (MCC, F1, RMSE, Spearman).
    """

    name: str
    title: str
    kind: Literal["label", "number", "text"]
    library: str
    resource: str = ""
    higher: bool = True
    item: str = ""

    def stamp(self, embedder: str = "") -> str:
        """What two values must share to stand in one column, e.g. "rouge-score 0.1.2, stemmer, ..."."""
        made = f"{self.library} {_version(self.library)}"
        return ", ".join(part for part in (made, self.resource, embedder if self.name == "sbert" else "") if part)


_THIRD = "labels fixed, unread = third class"
METRICS = (
    Metric("accuracy", "Accuracy", "label", OWN, "unread = wrong", item="correct"),
    Metric("macro_f1", "Macro F1", "label", "scikit-learn", f"{_THIRD}, zero_division=0"),
    Metric("mcc", "MCC", "label", "scikit-learn", _THIRD),
    Metric("mae", "MAE", "number", OWN, "unread = median of earlier scores", higher=False, item="abs_error"),
    Metric("rmse", "RMSE", "number", OWN, "unread = median of earlier scores", higher=False),
    Metric("spearman", "Spearman", "number", "scipy", "average ranks, unread = median of earlier scores"),
    Metric("rouge1", "ROUGE-1", "text", "rouge-score", f"F, stemmer, first {TEXT_LIMIT} characters", item="rouge1"),
    Metric("rougeL", "ROUGE-L", "text", "rouge-score", f"F, stemmer, first {TEXT_LIMIT} characters", item="rougeL"),
    Metric("sbert", "SBERT", "text", OWN, "cosine", item="sbert"),
)


def of_kind(kind: str) -> tuple[Metric, ...]:
    """The columns of a kind of task, in the order in which they are shown."""
    return tuple(m for m in METRICS if m.kind == kind)


def accuracy(truth: Sequence[str], guess: Sequence[str | None]) -> float:
    """Share right of all asked; nan for none."""
    return math.nan if not truth else sum(t == g for t, g in zip(truth, guess, strict=True)) / len(truth)


def macro_f1(truth: Sequence[str], guess: Sequence[str | None], labels: Sequence[str]) -> float:
    """Mean over `labels` of F1 = 2TP / (2TP + FP + FN), 0 for a label that nobody has or says; nan for no items.

    None costs the true label's recall and no label's precision, so it can only lower the value.
    """
    if not truth:
        return math.nan
    from sklearn.metrics import f1_score  # type: ignore[import-untyped]

    said = [UNREAD if g is None else g for g in guess]
    return float(f1_score(list(truth), said, labels=list(labels), average="macro", zero_division=0))


def mcc(truth: Sequence[str], guess: Sequence[str | None]) -> float:
    """Matthews correlation (Gorodkin's R_K with None as a third class); 0 where a side is constant, nan for no items.

    Unlike accuracy and F1 it can rise by refusing one class only: read it beside the number of failed answers.
    """
    if not truth:
        return math.nan
    said = [UNREAD if g is None else g for g in guess]
    if len({*truth}) < 2 or len({*said}) < 2:
        return 0.0
    from sklearn.metrics import matthews_corrcoef

    return float(matthews_corrcoef(list(truth), said))


def mae(truth: Sequence[float], guess: Sequence[float]) -> float:
    """Mean absolute error; nan for no items."""
    return float(np.mean(np.abs(_gap(truth, guess)))) if truth else math.nan


def rmse(truth: Sequence[float], guess: Sequence[float]) -> float:
    """Root of the mean squared error: a few viral messages decide it; nan for no items."""
    return float(np.sqrt(np.mean(_gap(truth, guess) ** 2))) if truth else math.nan


def spearman(truth: Sequence[float], guess: Sequence[float]) -> float:
    """Rank correlation, average ranks for ties; nan where a side is constant: that is unknown, not 0."""
    if len(truth) < 2 or len({*truth}) < 2 or len({*guess}) < 2:
        return math.nan
    from scipy.stats import spearmanr  # type: ignore[import-untyped]

    return float(spearmanr(list(truth), list(guess)).statistic)


def rouge(truth: str, guess: str) -> tuple[float, float]:
    """(ROUGE-1 F, ROUGE-L F) by rouge-score with its stemmer; 0 where a side has none of a-z and 0-9."""
    found = _scorer().score(truth[:TEXT_LIMIT], guess[:TEXT_LIMIT])
    return float(found["rouge1"].fmeasure), float(found["rougeL"].fmeasure)


def cosine(truth: Vectors, guess: Vectors) -> NDArray[np.float64]:
    """Cosine of each row with its counterpart, float64 (n,) in [-1, 1]; 0 where a row is all zero."""
    a, b = truth.astype(np.float64), guess.astype(np.float64)
    size = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    dot = np.einsum("ij,ij->i", a, b)
    found: NDArray[np.float64] = np.divide(dot, size, out=np.zeros_like(dot), where=size > 0)
    return found.clip(-1.0, 1.0)


def _gap(truth: Sequence[float], guess: Sequence[float]) -> NDArray[np.float64]:
    return np.asarray(truth, np.float64) - np.asarray(guess, np.float64)


class _Words:
    """rouge-score's own tokenizer and stemmer, with each word stemmed once: stemming took 40 % of the time."""

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer  # type: ignore[import-untyped]
        from rouge_score.tokenize import tokenize  # type: ignore[import-untyped]

        self.stem = lru_cache(maxsize=50_000)(PorterStemmer().stem)
        self._split = tokenize

    def tokenize(self, text: str) -> Any:
        return self._split(text, self)


@cache
def _scorer() -> Any:  # rouge-score has no types, and takes seconds to import
    from rouge_score import rouge_scorer  # type: ignore[import-untyped]

    return rouge_scorer.RougeScorer(["rouge1", "rougeL"], tokenizer=_Words())


@cache
def _version(distribution: str) -> str:
    return OWN_VERSION if distribution == OWN else version(distribution)
