"""Several queries instead of one, fused by rank: all of what is answered and parts of it, or a model's rewordings.

Source: LangMem's manager lets a model write its queries (query_limit=5), LangChain's MultiQueryRetriever three; fused
as RAG-Fusion does, by reciprocal rank. Without a model the parts are the first, the last and the longest sentences.
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from memory import scoring
from memory.asking import lines, quoted
from memory.ranking import answer
from memory.recall import Ask, History, Recalled
from memory.templates import Wording

_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


@dataclass(frozen=True)
class Policy:
    """Score: the sum of 1 / (rank_constant + rank) over the queries, each of which brings its `fetch_k` nearest.

    `queries` counts the whole one too. `model`=true has the others written by a model, one call a query.
    """

    k: int = 5
    queries: int = 3
    rank_constant: float = 60.0
    fetch_k: int = 50
    model: bool = False
    max_tokens: int = 0
    calls: ClassVar[str] = "0 / 0 (model=true: 1)"

    @property
    def needs(self) -> tuple[str, ...]:
        return ("ask", "words") if self.model else ()

    async def __call__(
        self, history: History, query: str, *, ask: Ask | None = None, words: Wording | None = None
    ) -> list[Recalled]:
        if not len(history):
            return []
        more = await _written(query, ask, words, self.queries - 1) if ask and words else parts(query)
        asked = list(dict.fromkeys([query, *more]))[: max(self.queries, 1)]
        vectors = await history.embed(asked)
        arms = {f"query{n}": scoring.nearness(history, vector) for n, vector in enumerate(vectors, 1)}
        fused = scoring.rrf(list(arms.values()), self.rank_constant, self.fetch_k)
        return answer(history, fused, arms, self.k, self.max_tokens)


def parts(query: str) -> list[str]:
    """The first and the last sentence, then the others by length; nothing where there is only one."""
    said = [part.strip() for part in _SENTENCE.split(query) if re.search(r"\w", part)]
    if len(said) < 2:
        return []
    return [said[0], said[-1], *sorted(said[1:-1], key=len, reverse=True)]


async def _written(query: str, ask: Ask, words: Wording, n: int) -> list[str]:
    if n < 1 or not query.strip():
        return []
    return lines(await ask(words.put("multi_query", text=quoted(query), n=str(n))))
