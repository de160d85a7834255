"""Measures of a ranking, each of which of its items are relevant, best first. Knows nothing of what is ranked.

Source: recall_any@k and recall_all@k as in LongMemEval. nDCG has the standard discount 1/log2(rank + 1). LongMemEval's
code gives its first two ranks the same weight, so its values are not comparable with these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def recalled_any(hits: Sequence[bool], k: int) -> float:
    """Whether one of the first k is relevant: 1 or 0."""
    return float(any(hits[:k]))


def recalled_all(hits: Sequence[bool], relevant: int, k: int) -> float:
    """Whether all that is relevant is among the first k: 1 or 0."""
    return float(sum(hits[:k]) == relevant)


def ndcg(hits: Sequence[bool], relevant: int, k: int) -> float:
    """Discounted gain of the first k, as a share of what the best order of `relevant` messages would have: 0 to 1."""
    best = sum(1 / math.log2(rank + 2) for rank in range(min(relevant, k)))
    return sum(1 / math.log2(rank + 2) for rank, hit in enumerate(hits[:k]) if hit) / best


def reciprocal_rank(hits: Sequence[bool], k: int) -> float:
    """1 over the rank of the first relevant one, 0 where none is among the first k."""
    return next((1 / (rank + 1) for rank, hit in enumerate(hits[:k]) if hit), 0.0)
