"""Token match: BERTScore's formula over word pieces as the packaged MiniLM sees them. Other numbers than BERTScore's.

Source: Zhang et al. 2020, BERTScore (1904.09675), section 3, without weights of words and without rescaling.
"""

from __future__ import annotations

from functools import lru_cache

from evaluation.bertscore import Score
from memory.embed import MiniLM
from memory.recall import Vectors

TOKEN_MATCH = "token_match"  # the option of the task and the item of its metric


def opened(name: str) -> Score:
    """The F of each pair. Raises Missing without the packaged model."""
    model = MiniLM()
    known = lru_cache(maxsize=64)(model.states)  # a true text stands beside every system's
    return lambda said, true: [match(known(b), model.states(a)) for a, b in zip(said, true, strict=True)]


def match(true: Vectors, said: Vectors) -> float:
    """F of unit rows: each finds its nearest on the other side. 0 where a side is empty or nothing is near."""
    if not len(true) or not len(said):
        return 0.0
    near = said @ true.T
    precision, recall = float(near.max(axis=1).mean()), float(near.max(axis=0).mean())
    return 2 * precision * recall / (precision + recall) if min(precision, recall) > 0 else 0.0
