"""Searches with made-up answers: a model says how somebody might answer; what the person wrote near that is recalled.

Source: Gao et al. 2022, HyDE: the vectors of n made-up documents (theirs: 8) and of the query are averaged.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memory import scoring
from memory.asking import each, quoted
from memory.embed import unit
from memory.errors import BadInput
from memory.ranking import answer, check
from memory.recall import Ask, History, Recalled
from memory.templates import Wording


@dataclass(frozen=True)
class Policy:
    """Score: the cosine to the mean of the query and n made-up answers. The model is told nothing of the person."""

    k: int = 5
    n: int = 1
    max_tokens: int = 0
    needs: ClassVar[tuple[str, ...]] = ("ask", "words")
    calls: ClassVar[str] = "0 / n"

    def __post_init__(self) -> None:
        if self.n < 1:
            raise BadInput(f"n={self.n} made-up answers are too few for hyde; give 1 or more, or take dense")

    async def __call__(self, history: History, query: str, *, ask: Ask, words: Wording) -> list[Recalled]:
        check(self.k)
        if not len(history):
            return []
        made_up = await each(ask, [words.put("hyde", text=quoted(query), n=str(n)) for n in range(1, self.n + 1)])
        vectors = await history.embed([query, *(text.strip() for text in made_up if text.strip())])
        near = scoring.nearness(history, unit(np.asarray([vectors.mean(axis=0)]))[0])
        terms = {"hyde": near, "dense": scoring.nearness(history, vectors[0])}
        return answer(history, near, terms, self.k, self.max_tokens)
