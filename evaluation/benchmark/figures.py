"""The reference's metrics by its own definitions: both F1, best of k by oracle, unreadable answers counted both ways.

`left_out` counts as the reference does: an answer that cannot be read is in no figure. `wrong` counts as this project
does: it is in every figure, as a wrong label, as FILL, as a text that scores 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from evaluation.benchmark.items import POSITIVE

Counting = Literal["left_out", "wrong"]
UNREAD = "unreadable"
FILL = 1.0  # what a message starts with: stands for a number that could not be read


def classification(truth: Sequence[str], said: Sequence[str | None], counting: Counting) -> dict[str, float]:
    """accuracy, F1 of the class positive (as there for GPT and Claude) and weighted by support (LLaMA and DeepSeek),
    MCC (0 where a side has one class) and count; nan for nothing to count."""
    from sklearn.metrics import f1_score, matthews_corrcoef  # type: ignore[import-untyped]

    pairs = [(t, s or UNREAD) for t, s in zip(truth, said, strict=True) if s is not None or counting == "wrong"]
    if not pairs:
        return dict.fromkeys(("accuracy", "f1_positive", "f1_weighted", "mcc"), math.nan) | {"count": 0.0}
    true, guess = [t for t, _ in pairs], [s for _, s in pairs]
    some = len({*true}) > 1 and len({*guess}) > 1
    classes = sorted({*true})
    return {
        "accuracy": sum(t == s for t, s in pairs) / len(pairs),
        "f1_positive": float(f1_score(true, guess, labels=[POSITIVE], average="macro", zero_division=0)),
        "f1_weighted": float(f1_score(true, guess, labels=classes, average="weighted", zero_division=0)),
        "mcc": float(matthews_corrcoef(true, guess)) if some else 0.0,
        "count": float(len(pairs)),
    }


def regression(truth: Sequence[float], said: Sequence[float | None], counting: Counting) -> dict[str, float]:
    """mse, rmse of the pooled mse, mae and count. Left out are also nan and inf, which stop the reference's figures."""
    gaps = []
    for true, guess in zip(truth, said, strict=True):
        if guess is not None and math.isfinite(guess):
            gaps.append(true - guess)
        elif counting == "wrong":
            gaps.append(true - FILL)
    if not gaps:
        return dict.fromkeys(("mse", "rmse", "mae"), math.nan) | {"count": 0.0}
    mse = math.fsum(gap * gap for gap in gaps) / len(gaps)
    mae = math.fsum(abs(gap) for gap in gaps) / len(gaps)
    return {"mse": mse, "rmse": math.sqrt(mse), "mae": mae, "count": float(len(gaps))}


def texts(truth: str, said: str) -> dict[str, float]:
    """rouge1, rougeL (F, stemmer), bleu (NLTK, method 1, lower-cased) and meteor of one answer."""
    from evaluation.metrics import texts as made

    one, long = made.rouge(truth, said)
    bleu = made.bleu_nltk(truth.lower(), said.lower())
    return {"rouge1": one, "rougeL": long, "bleu": bleu, "meteor": made.meteor(truth, said)}


def best_of(values: Sequence[float | None], drop_zero: bool) -> float | None:
    """The oracle's choice among the answers to one item: the largest value, picked with the true text in hand.

    `drop_zero`: a largest value of 0 becomes "no value" and leaves the mean, as for GPT. None: no answer was read.
    """
    read = [value for value in values if value is not None]
    if not read or (drop_zero and max(read) == 0):
        return None
    return max(read)


def mean_of(values: Sequence[float | None], counting: Counting) -> float:
    """Mean over items; None leaves it, or counts 0. nan for nothing to count."""
    kept = [0.0 if value is None else value for value in values if value is not None or counting == "wrong"]
    return math.fsum(kept) / len(kept) if kept else math.nan


def stamp(name: str, embedder: str, told: str = "") -> str:
    """What two values of a text's figure must share to stand in one column. `told`: the model of an optional one."""
    from evaluation.metrics import METRICS

    known = {m.name: m for m in METRICS}[{"bleu": "bleu_nltk"}.get(name, name)].stamp(embedder)
    lowered = "bleu" * (name == "bleu") and "lower-cased"
    return ", ".join(part for part in (known, lowered, told) if part)
