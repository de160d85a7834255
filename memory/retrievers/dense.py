"""The k messages nearest to the query by cosine of embeddings. Source: dense passage retrieval, Karpukhin 2020."""

from dataclasses import dataclass

import numpy as np

from memory import scoring
from memory.errors import BadInput
from memory.ranking import answer, check, fitting
from memory.recall import History, Recalled, Vectors
from memory.store import Past


@dataclass(frozen=True)
class Policy:
    """Score: the cosine; below `floor` nothing is recalled (mem0 has 0.1, Graphiti 0.6; -1: no floor).

    `native` asks Chroma's own filtered query instead of the exact slice: the same, far slower.
    """

    k: int = 5
    floor: float = -1.0
    native: bool = False
    max_tokens: int = 0

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        if not len(history):
            return []
        [asked] = await history.embed([query])
        if self.native:
            return [r for r in _native(history, asked, self.k, self.max_tokens) if r.score >= self.floor]
        near = scoring.nearness(history, asked)
        return answer(history, np.where(near >= self.floor, near, -np.inf), {"dense": near}, self.k, self.max_tokens)


def _native(history: History, asked: Vectors, k: int, max_tokens: int) -> list[Recalled]:
    if not isinstance(history, Past):
        raise BadInput("dense:native=true asks Chroma, so it needs the history of an imported corpus")
    check(k)
    by_id = {m.id: m for m in history.messages}
    found = [(by_id[id], round(near, scoring.DIGITS)) for id, near in history.native(asked, k) if id in by_id]
    found.sort(key=lambda f: (-f[1], -f[0].time, f[0].id))
    places = [1 + sum(other > near for _, other in found) for _, near in found]
    items = [Recalled(m, near, {"dense": near, "dense_rank": p}) for (m, near), p in zip(found, places, strict=True)]
    return fitting(items, max_tokens)
