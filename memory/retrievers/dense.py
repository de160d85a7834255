"""The k messages nearest to the query by cosine of embeddings. Source: dense passage retrieval, Karpukhin 2020."""

from dataclasses import dataclass

import numpy as np

from memory.errors import BadInput
from memory.ranking import check, top
from memory.recall import History, Recalled, Vectors
from memory.store import Past

DIGITS = 6  # equal texts must tie, whatever order a matrix product adds in


@dataclass(frozen=True)
class Policy:
    """Score: the cosine. `native` asks Chroma's own filtered query instead of the exact slice: the same, far slower."""

    k: int = 5
    native: bool = False

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        if not len(history):
            return []
        [asked] = await history.embed([query])
        if self.native:
            return _native(history, asked, self.k)
        scores = np.round(history.vectors @ asked, DIGITS)
        return [Recalled(m, float(scores[i]), {"cosine": float(scores[i])}) for i, m in top(history, scores, self.k)]


def _native(history: History, asked: Vectors, k: int) -> list[Recalled]:
    if not isinstance(history, Past):
        raise BadInput("dense:native=true asks Chroma, so it needs the history of an imported corpus")
    check(k)
    by_id = {m.id: m for m in history.messages}
    found = [(by_id[id], round(cosine, DIGITS)) for id, cosine in history.native(asked, k) if id in by_id]
    found.sort(key=lambda f: (-f[1], -f[0].time, f[0].id))
    return [Recalled(m, cosine, {"cosine": cosine}) for m, cosine in found]
