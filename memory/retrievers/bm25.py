"""The k messages that share the query's rarer words: BM25 over the person's own past, cut like everything at `before`.

Source: Robertson and Zaragoza 2009; k1 and b as rank_bm25 and bm25s have them, idf as Lucene's (never below 0).
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from memory.ranking import top
from memory.recall import History, Recalled

_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Policy:
    """Score: the sum of one term for each word of the query; messages that share no word are not recalled."""

    k: int = 5
    k1: float = 1.5
    b: float = 0.75

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        asked = sorted(set(_WORD.findall(query.lower())))
        said = [_counts(m.words) for m in history.messages]
        if not said or not asked:
            return []
        counts = np.array([[one[word] for word in asked] for one in said], float)  # (messages, words)
        length = np.array([one.total() for one in said])
        having = (counts > 0).sum(axis=0)
        idf = np.log1p((len(said) - having + 0.5) / (having + 0.5))
        norm = self.k1 * (1 - self.b + self.b * length / max(length.mean(), 1))
        terms = np.zeros_like(counts)
        np.divide(idf * counts * (self.k1 + 1), counts + norm[:, None], out=terms, where=counts > 0)
        scores = np.round(terms.sum(axis=1), 9)
        return [
            Recalled(m, float(scores[i]), {w: float(t) for w, t in zip(asked, terms[i], strict=True) if t})
            for i, m in top(history, scores, self.k)
            if scores[i] > 0
        ]


@lru_cache(maxsize=20_000)
def _counts(words: str) -> Counter[str]:
    return Counter(_WORD.findall(words.lower()))
