"""The one order in which retrievers answer: larger score first, then newer, then id."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.errors import BadInput
from memory.message import Message
from memory.recall import History


def check(k: int) -> None:
    """
    Raises:
        BadInput: k below 0.
    """
    if k < 0:
        raise BadInput(f"k={k} messages cannot be recalled; give 0 or more")


def top(history: History, scores: NDArray[Any], k: int) -> list[tuple[int, Message]]:
    """The k best of `history` as (position, message); only these, and what ties with them at the same second, are read.

    Raises:
        BadInput: k below 0.
    """
    check(k)
    if k == 0 or not len(history):
        return []
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        above, level = np.flatnonzero(scores > least).tolist(), np.flatnonzero(scores == least).tolist()
        at = above + _newest(history, level, k - len(above))
    else:
        at = list(range(len(scores)))
    found = [(i, history.messages[i]) for i in at]
    found.sort(key=lambda f: (-scores[f[0]], -f[1].time, f[1].id))
    return found[:k]


def _newest(history: History, at: list[int], k: int) -> list[int]:
    """The last k of the ascending positions `at`, and those before them of the very same second."""
    start = len(at) - k
    second = history.messages[at[start]].time
    while start > 0 and history.messages[at[start - 1]].time == second:
        start -= 1
    return at[start:]
