"""What strategies are made of: scores of all messages of a History, one number each, and ways to put them together.

-inf means that a message was not found at all. Nothing here chooses or orders: see memory/ranking.py.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from memory.errors import BadInput
from memory.message import unquoted
from memory.ranking import Array, ranks
from memory.recall import History
from memory.store import Past

DIGITS = 6  # of a cosine: equal texts must tie, whatever order a matrix product adds in
_WORD = re.compile(r"\w+")
DAY = 86_400
HOUR = 3_600


async def cosine(history: History, query: str) -> Array:
    """The cosine of each message to `query`."""
    [asked] = await history.embed([query])
    return nearness(history, asked)


def nearness(history: History, asked: Array) -> Array:
    """The cosine of each message to a vector of unit length."""
    return np.round((history.vectors @ asked).astype(float), DIGITS)


def bm25(history: History, query: str, k1: float = 1.5, b: float = 0.75) -> Array:
    """BM25 within the history alone, so that no statistic looks past its moment; -inf where no word is shared.

    Source: Robertson and Zaragoza 2009; k1 and b as rank_bm25 and bm25s have them, idf as Lucene's (never below 0).
    """
    asked = sorted(set(_WORD.findall(query.lower())))
    said = [_counts(m.words) for m in history.messages]
    if not said or not asked:
        return np.full(len(said), -np.inf)
    column, counts = {word: n for n, word in enumerate(asked)}, np.zeros((len(said), len(asked)))
    for row, (one, _) in zip(counts, said, strict=True):
        for word in column.keys() & one.keys():
            row[column[word]] = one[word]
    length = np.array([length for _, length in said])
    having = (counts > 0).sum(axis=0)
    idf = np.log1p((len(said) - having + 0.5) / (having + 0.5))
    norm = k1 * (1 - b + b * length / max(length.mean(), 1))
    terms = np.zeros_like(counts)
    np.divide(idf * counts * (k1 + 1), counts + norm[:, None], out=terms, where=counts > 0)
    scores = np.round(terms.sum(axis=1), 9)
    return np.where(scores > 0, scores, -np.inf)


@lru_cache(maxsize=20_000)
def _counts(words: str) -> tuple[Counter[str], int]:
    """How often each word is said, and how many words that are; lines that quote somebody are not the writer's own."""
    found = _WORD.findall(unquoted(words).lower())
    return Counter(found), len(found)


def overlap(truth: str, text: str) -> float:
    """Unigram F1 of two texts: 1 for the same words, 0 for none in common."""
    (one, length), (other, length_) = _counts(truth), _counts(text)
    both = (one & other).total()
    return 2 * both / (length + length_) if both else 0.0


def ages(history: History) -> Array:
    """Seconds from each message to the history's moment; above 0."""
    times = history.times if isinstance(history, Past) else np.array([m.time for m in history.messages], np.int64)
    found: Array = history.before - times
    return found


def min_max(values: Array) -> Array:
    """Scaled to 0 for the least and 1 for the largest; 0.5 where all are equal, as generative_agents has it."""
    if not len(values):
        return values
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else np.full(len(values), 0.5)


def rrf(arms: Sequence[Array], rank_constant: float, fetch_k: int) -> Array:
    """Reciprocal rank fusion: the sum of 1 / (rank_constant + rank) over the arms that found a message among their best
    `fetch_k`; -inf where none did. Equal values share a rank. Source: Cormack, Clarke and Buettcher 2009."""
    total = np.zeros(len(arms[0]))
    for values in arms:
        places = ranks(values)
        total += np.where((values > -np.inf) & (places <= fetch_k), 1 / (rank_constant + places), 0.0)
    total = np.round(total, 12)
    return np.where(total > 0, total, -np.inf)


def mmr(relevance: Array, similar: Array, k: int, lambda_mult: float) -> list[tuple[int, float]]:
    """Chosen one after the other, (position, value): the largest lambda_mult x relevance - (1 - lambda_mult) x the
    greatest similarity to what is chosen already; the earlier position where two are equal. A similarity below 0 counts
    as 0, so that values never rise. Source: Carbonell and Goldstein 1998, maximal marginal relevance."""
    nearest = np.zeros(len(relevance))
    left, found = np.ones(len(relevance), bool), []
    for _ in range(min(k, len(relevance))):
        values = np.round(lambda_mult * relevance - (1 - lambda_mult) * nearest, DIGITS)
        at = int(np.argmax(np.where(left, values, -np.inf)))
        found.append((at, float(values[at])))
        left[at] = False
        nearest = np.maximum(nearest, similar[at])
    return found


def half_life(age: Array, days: float) -> Array:
    """2 ^ -(age / days): 1 for now, half at one half-life.

    Raises:
        BadInput: a half-life of no time.
    """
    if days <= 0:
        raise BadInput(f"half_life_days={days:g} is no time to fade in; give more than 0")
    return np.exp2(-age / (days * DAY))


def lots(history: History, query: str, seed: int) -> np.random.Generator:
    """Chance that comes from (seed, user, before, query) alone: the same in every process and order."""
    key = repr((seed, history.user, history.before, query)).encode(errors="surrogatepass")
    return np.random.default_rng(list(hashlib.sha256(key).digest()))
