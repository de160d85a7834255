"""What other people wrote in the community about this, beside or instead of one's own: for people without a past.

Source: PGraphRAG (2501.02157): modes user, neighbor and both, k of 1 to 4, BM25 or a dense ranker.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

from memory import scoring
from memory.errors import UnknownName
from memory.gathered import gathered
from memory.ranking import answer
from memory.recall import History, Others, Recalled

MODES = ("user", "neighbor", "both")
RANKERS = ("bm25", "dense")


@dataclass(frozen=True)
class Policy:
    """Score: the ranker's, over the newest `pool` messages of others and all of one's own together."""

    mode: str = "both"
    ranker: str = "bm25"
    k: int = 4
    pool: int = 500
    max_tokens: int = 0
    needs: ClassVar[tuple[str, ...]] = ("others",)

    def __post_init__(self) -> None:
        for kind, name, known in (("mode", self.mode, MODES), ("ranker", self.ranker, RANKERS)):
            if name not in known:
                raise UnknownName(f"{kind} of neighbour", name, known)

    async def __call__(self, history: History, query: str, *, others: Others) -> list[Recalled]:
        own = list(history.messages) if self.mode != "neighbor" else []
        theirs = others.newest(self.pool) if self.mode != "user" else []
        both = await gathered(history, [*own, *theirs], widen=self.ranker == "dense")
        if not len(both):
            return []
        dense = self.ranker == "dense"
        scores = await scoring.cosine(both, query) if dense else scoring.bm25(both, query)
        found = answer(both, scores, {self.ranker: scores}, self.k, self.max_tokens)
        return [r if r.message.author == history.user else replace(r, role="other") for r in found]
