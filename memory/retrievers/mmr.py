"""The k messages that are near to the query and unlike each other: maximal marginal relevance over embeddings.

Source: Carbonell and Goldstein 1998; k, fetch_k and lambda_mult as in LangChain.
"""

from dataclasses import dataclass

import numpy as np

from memory import scoring
from memory.ranking import check, fitting, told, top
from memory.recall import History, Recalled


@dataclass(frozen=True)
class Policy:
    """Score: lambda_mult x cosine - (1 - lambda_mult) x the greatest cosine to what was chosen before, of the `fetch_k`
    nearest; lambda_mult=1 is `dense`."""

    k: int = 4
    fetch_k: int = 20
    lambda_mult: float = 0.5
    max_tokens: int = 0

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        check(self.k)
        if not len(history):
            return []
        near = await scoring.cosine(history, query)
        fetched = sorted(top(history, near, self.fetch_k), key=lambda f: (-f[1].time, f[1].id))
        at = [i for i, _ in fetched]
        vectors = history.vectors[at]
        similar = np.round((vectors @ vectors.T).astype(float), scoring.DIGITS)
        chosen = scoring.mmr(near[at], similar, self.k, self.lambda_mult)
        said = told({"dense": near}, [at[n] for n, _ in chosen])
        found = [
            Recalled(fetched[n][1], value, {**why, "mmr": value, "mmr_rank": float(rank)})
            for rank, ((n, value), why) in enumerate(zip(chosen, said, strict=True), 1)
        ]
        return fitting(found, self.max_tokens)
