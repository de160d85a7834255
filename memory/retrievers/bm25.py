"""The k messages that share the query's rarer words: BM25 over the person's own past, cut like everything at `before`.

Source: Robertson and Zaragoza 2009; k1 and b as in rank_bm25 and bm25s. Texts are lower-cased, unlike LaMP's script.
"""

from dataclasses import dataclass

from memory import scoring
from memory.ranking import answer
from memory.recall import History, Recalled


@dataclass(frozen=True)
class Policy:
    """Score: BM25; messages that share no word with the query are not recalled."""

    k: int = 5
    k1: float = 1.5
    b: float = 0.75
    max_tokens: int = 0

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        scores = scoring.bm25(history, query, self.k1, self.b)
        return answer(history, scores, {"bm25": scores}, self.k, self.max_tokens)
