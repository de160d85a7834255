"""The k nearest messages with old ones fading: relevance halves whenever another half-life has passed.

Source: exponential decay in its plain, testable form; the time-weighted retrievers of LangChain and LlamaIndex are kin.
"""

from dataclasses import dataclass

import numpy as np

from memory import scoring
from memory.ranking import answer
from memory.recall import History, Recalled


@dataclass(frozen=True)
class Policy:
    """Score: max(0, cosine) x 2 ^ -(age / half_life_days). A negative cosine would rise with age, so it counts as 0."""

    k: int = 5
    half_life_days: float = 180.0
    max_tokens: int = 0

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        if not len(history):
            return []
        near = await scoring.cosine(history, query)
        kept = scoring.half_life(scoring.ages(history), self.half_life_days)
        return answer(history, np.maximum(near, 0) * kept, {"dense": near, "decay": kept}, self.k, self.max_tokens)
