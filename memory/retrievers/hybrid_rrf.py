"""The k messages that words and meaning agree on: BM25 and cosine, fused by their ranks.

Source: reciprocal rank fusion, Cormack, Clarke and Buettcher 2009. rank_constant=60 is theirs; Graphiti's default is 1.
"""

from dataclasses import dataclass

from memory import scoring
from memory.ranking import answer
from memory.recall import History, Recalled


@dataclass(frozen=True)
class Policy:
    """Score: the sum of 1 / (rank_constant + rank) over the two arms, each of which brings its best `fetch_k`."""

    k: int = 5
    rank_constant: float = 60.0
    fetch_k: int = 50
    max_tokens: int = 0

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        if not len(history):
            return []
        arms = {"dense": await scoring.cosine(history, query), "bm25": scoring.bm25(history, query)}
        fused = scoring.rrf(list(arms.values()), self.rank_constant, self.fetch_k)
        return answer(history, fused, arms, self.k, self.max_tokens)
