"""The one order in which retrievers answer: larger score first, then newer, then id; with every term and its rank."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.errors import BadInput
from memory.message import Message
from memory.messages import Messages
from memory.recall import History, Recalled
from memory.tokens import count

Array = NDArray[Any]


def check(k: int) -> None:
    """
    Raises:
        BadInput: k below 0.
    """
    if k < 0:
        raise BadInput(f"k={k} messages cannot be recalled; give 0 or more")


def answer(history: History, scores: Array, terms: Mapping[str, Array], k: int, max_tokens: int = 0) -> list[Recalled]:
    """The k best messages of `history` that fit into `max_tokens` (0: no limit), each with its terms and their ranks.

    `scores` and each of `terms` have a value for every message; -inf means not found, and is neither recalled nor told.

    Raises:
        BadInput: k or max_tokens below 0.
    """
    best = [(i, m) for i, m in top(history, scores, k) if scores[i] > -np.inf]
    said = told(terms, [i for i, _ in best])
    items = (Recalled(m, float(scores[i]), why) for (i, m), why in zip(best, said, strict=True))
    return fitting(items, max_tokens)


def headed(notes: Sequence[Message], found: Sequence[Recalled], k: int, max_tokens: int) -> list[Recalled]:
    """The k first of `notes` and then `found` that fit. A note's score is 2, above every cosine: it goes first because
    the policy wants it so, whatever the query."""
    first = [Recalled(m, 2.0, {"note": 1.0, "note_rank": 1.0}, role="note") for m in notes]
    return fitting([*first, *found][:k], max_tokens)


def told(terms: Mapping[str, Array], at: Sequence[int]) -> list[dict[str, float]]:
    """For each position its terms: name -> value, name_rank -> rank; a term that did not find it is left out."""
    found: list[dict[str, float]] = [{} for _ in at]
    for name, values in terms.items():
        here = values[list(at)]
        for said, value, rank in zip(found, here.tolist(), _ranks(values, here).tolist(), strict=True):
            if value > -np.inf:
                said |= {name: float(value), f"{name}_rank": float(rank)}
    return found


def ranks(values: Array) -> Array:
    """1 for the largest value; equal values share the best of their ranks, so that no order of arrival decides."""
    return _ranks(values, values)


def _ranks(values: Array, some: Array) -> Array:
    return len(values) - np.searchsorted(np.sort(values), some, side="right") + 1


def fitting(found: Iterable[Recalled], max_tokens: int) -> list[Recalled]:
    """Those of `found`, in order, whose words together take at most `max_tokens` tokens: what no longer fits is passed
    over, what is smaller may still come. 0: all.

    Raises:
        BadInput: max_tokens below 0.
    """
    if max_tokens < 0:
        raise BadInput(f"max_tokens={max_tokens} cannot be kept to; give 1 or more, or 0 for no limit")
    if max_tokens == 0:
        return list(found)
    kept, left = [], max_tokens
    for item in found:
        cost = _cost(item.message.bare.words)
        if cost <= left:
            kept.append(item)
            left -= cost
    return kept


@lru_cache(maxsize=20_000)
def _cost(words: str) -> int:
    """Tokens; the next turn of a person asks for most of the same texts again."""
    return count(words)


def top(history: History, scores: Array, k: int) -> list[tuple[int, Message]]:
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
    found = list(zip(at, read(history, at), strict=True))
    found.sort(key=lambda f: (-scores[f[0]], -f[1].time, f[1].id))
    return found[:k]


def read(history: History, at: Sequence[int]) -> Sequence[Message]:
    """The messages at these positions, which a corpus reads in one go."""
    messages = history.messages
    return messages.pick(at) if isinstance(messages, Messages) else [messages[i] for i in at]


def _newest(history: History, at: list[int], k: int) -> list[int]:
    """The last k of the ascending positions `at`, and those before them of the very same second."""
    start = len(at) - k
    second = history.messages[at[start]].time
    while start > 0 and history.messages[at[start - 1]].time == second:
        start -= 1
    return at[start:]
