"""k of the person's own messages by lot: what is gained by being theirs, whatever it says. Source: LaMP's control."""

from dataclasses import dataclass

from memory.ranking import answer
from memory.recall import History, Recalled
from memory.scoring import lots


@dataclass(frozen=True)
class Policy:
    """Score: the number drawn, from (seed, user, before, query) alone."""

    k: int = 5
    seed: int = 0
    max_tokens: int = 0

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        drawn = lots(history, query, self.seed).random(len(history))
        return answer(history, drawn, {"draw": drawn}, self.k, self.max_tokens)
