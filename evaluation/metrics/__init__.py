"""Metrics: pure functions over truths and guesses, each with a stamp. Where a library computes one, it is called.

An answer that could not be read is never left out. Classification takes it as None and counts it as a third class that
is never right; scoring.py fills numbers and gives texts their worst value before they come here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

from evaluation.metrics import labels, numbers, texts
from evaluation.metrics.labels import accuracy, macro_f1, mcc
from evaluation.metrics.numbers import mae, rmse, spearman
from evaluation.metrics.texts import TEXT_LIMIT, cosine, rouge
from simulator.answering import WEIGHED

__all__ = [
    "METRICS",
    "TEXT_LIMIT",
    "Answers",
    "Metric",
    "accuracy",
    "cosine",
    "headline",
    "macro_f1",
    "mae",
    "mcc",
    "of_kind",
    "optional",
    "rmse",
    "rouge",
    "spearman",
]

OWN = "own"  # computed here: its number rises when a definition changes
OWN_VERSION = "2"
UNIFORM = 8.0  # bits a byte where nothing is known: stands for a likelihood that was not given


@dataclass(frozen=True, slots=True)
class Answers:
    """A cell's answers, aligned. `guess` has None only for labels. `p`: P(first label) of every label answer: what the
    model stated, else its answer as 1 or 0; where nothing could be read, as if sure of the wrong label."""

    truth: list[Any]
    guess: list[Any]
    labels: tuple[str, ...] = ()
    p: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Metric:
    """One column. `library` (a distribution, or OWN) with its version and `resource` make the stamp.

    `item`: the value of one answer whose mean is this metric; without it `whole` makes the value of a cell (MCC, F1,
    RMSE, AUC). `headline`: shown in the first table, counted in the verdict. `higher` None: neither end is better.
    """

    name: str
    title: str
    kind: Literal["label", "number", "text"]
    library: str
    resource: str = ""
    higher: bool | None = True
    item: str = ""
    whole: Callable[[Answers], float] | None = None
    headline: bool = False
    optional: bool = False  # a column where the run asked for it

    def stamp(self, embedder: str = "") -> str:
        """What two values must share to stand in one column, e.g. "rouge-score 0.1.2, F, stemmer, ..."."""
        made = f"{self.library} {_version(self.library)}"
        told = embedder if self.name == "sbert" else texts.wordnet_name() if self.name == "meteor" else ""
        return ", ".join(part for part in (made, self.resource, told) if part)


_THIRD = "labels fixed, unread = third class"
_P = "P(first label) from log-probabilities; without them the answer as 1 or 0, unread = sure and wrong"
_RECALL = f"mean recall of the labels there are, {_THIRD}"
_FILLED = "unread = median of earlier scores"
_CUT = f"first {TEXT_LIMIT} characters"
_SPLIT = "Treebank tokens"
METRICS = (
    Metric("accuracy", "Accuracy", "label", OWN, "unread = wrong", item="correct", headline=True),
    Metric(
        "macro_f1", "Macro F1", "label", "scikit-learn", f"{_THIRD}, zero_division=0",
        whole=lambda a: labels.macro_f1(a.truth, a.guess, a.labels), headline=True,
    ),
    Metric("mcc", "MCC", "label", "scikit-learn", _THIRD, whole=lambda a: labels.mcc(a.truth, a.guess), headline=True),
    Metric(
        "positive_f1", "F1 of the first label", "label", "scikit-learn", f"{_THIRD}, zero_division=0",
        whole=lambda a: labels.f1(a.truth, a.guess, a.labels, "first"),
    ),
    Metric(
        "weighted_f1", "Weighted F1", "label", "scikit-learn", f"{_THIRD}, zero_division=0",
        whole=lambda a: labels.f1(a.truth, a.guess, a.labels, "weighted"),
    ),
    Metric(
        "balanced_accuracy", "Balanced accuracy", "label", "scikit-learn", _RECALL,
        whole=lambda a: labels.balanced_accuracy(a.truth, a.guess),
    ),
    Metric("auc", "AUC", "label", "scikit-learn", _P, whole=lambda a: labels.auc(a.truth, a.p, a.labels)),
    Metric("brier", "Brier", "label", OWN, _P, higher=False, item="brier"),
    Metric(
        "ece", "ECE", "label", OWN, f"{labels.BINS} bins of equal width, {_P}", higher=False,
        whole=lambda a: labels.ece(*labels.confidence(a.truth, a.p, a.labels)),
    ),
    Metric("mae", "MAE", "number", OWN, _FILLED, higher=False, item="abs_error", headline=True),
    Metric(
        "rmse", "RMSE", "number", OWN, _FILLED, False,
        whole=lambda a: numbers.rmse(a.truth, a.guess), headline=True,
    ),
    Metric(
        "spearman", "Spearman", "number", "scipy", f"average ranks, {_FILLED}",
        whole=lambda a: numbers.spearman(a.truth, a.guess), headline=True,
    ),
    Metric(
        "median_ae", "Median AE", "number", OWN, _FILLED, False, whole=lambda a: numbers.median_ae(a.truth, a.guess)
    ),
    Metric("slog_mae", "MAE, log scale", "number", OWN, f"sign(s) log(1+|s|), {_FILLED}", False, item="slog_error"),
    Metric(
        "kendall", "Kendall tau-b", "number", "scipy", _FILLED, whole=lambda a: numbers.kendall(a.truth, a.guess)
    ),
    Metric(
        "coverage", "Interval coverage", "number", OWN, "stated ends included, unread = not covered", None, "covered",
        optional=True,
    ),
    Metric(
        "interval_score", "Interval score", "number", OWN, "width + 2 / (1 - coverage) x miss, unread = value alone",
        False, "interval_score", optional=True,
    ),
    Metric(
        "expectations", "Share of expectations", "number", OWN,
        "answers whose numbers are whole tokens; of the others the mean is taken", None, "expectation", optional=True,
    ),
    Metric("rouge1", "ROUGE-1", "text", "rouge-score", f"F, stemmer, {_CUT}", item="rouge1", headline=True),
    Metric("rougeL", "ROUGE-L", "text", "rouge-score", f"F, stemmer, {_CUT}", item="rougeL", headline=True),
    Metric("sbert", "SBERT", "text", OWN, "cosine", item="sbert", headline=True),
    Metric("chrf", "chrF", "text", "sacrebleu", f"beta 2, characters 1-6, 0 to 1, {_CUT}", item="chrf"),
    Metric("bleu", "BLEU (sacre)", "text", "sacrebleu", f"sentence, effective order, 0 to 1, {_CUT}", item="bleu"),
    Metric("bleu_nltk", "BLEU (NLTK)", "text", "nltk", f"smoothing method 1, {_SPLIT}, {_CUT}", item="bleu_nltk"),
    Metric("meteor", "METEOR", "text", "nltk", f"{_SPLIT}, {_CUT}", item="meteor"),
    Metric(
        "rouge1_unicode", "ROUGE-1, any script", "text", "rouge-score", f"F, words and signs, {_CUT}",
        item="rouge1_unicode",
    ),
    Metric(
        "bits_per_byte", "Bits per byte of the true text", "text", OWN,
        f"minus log2 P(true text) / bytes, first {WEIGHED} tokens of o200k, end not counted, failed = {UNIFORM:g}",
        higher=False, item="bits_per_byte", optional=True,
    ),
    Metric(
        "likelihood_failed", "Share without likelihood", "text", OWN, "", higher=False, item="likelihood_failed",
        optional=True,
    ),
    Metric(
        "bertscore", "BERTScore", "text", "bert-score", "F, not rescaled, all words alike, empty = 0", item="bertscore",
        optional=True,
    ),
    Metric(
        "token_match", "Token match (MiniLM)", "text", OWN, "F, first 256 word pieces, alike, not rescaled, empty = 0",
        item="token_match", optional=True,
    ),
    Metric("length", "Length ratio", "text", OWN, "ln((words + 1) / (true words + 1)), 0: as long", None, "length"),
)  # fmt: skip


def of_kind(kind: str) -> tuple[Metric, ...]:
    """The columns of a kind of task, in the order in which they are shown, without the optional ones."""
    return tuple(m for m in METRICS if m.kind == kind and not m.optional)


def optional(kind: str) -> tuple[Metric, ...]:
    """The columns that a run can ask for."""
    return tuple(m for m in METRICS if m.kind == kind and m.optional)


def headline(kind: str) -> tuple[Metric, ...]:
    """The columns of the first table and of the verdict."""
    return tuple(m for m in of_kind(kind) if m.headline)


@cache
def _version(distribution: str) -> str:
    try:
        return OWN_VERSION if distribution == OWN else version(distribution)
    except PackageNotFoundError:  # of an optional column
        return "not installed"
