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
    """The k best of `history` as (position, message); only these, and what ties with the last, are read.

    Raises:
        BadInput: k below 0.
    """
    check(k)
    if k == 0 or not len(history):
        return []
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        at = np.flatnonzero(scores >= least)
    else:
        at = np.arange(len(scores))
    found = [(int(i), history.messages[int(i)]) for i in at]
    found.sort(key=lambda f: (-scores[f[0]], -f[1].time, f[1].id))
    return found[:k]
