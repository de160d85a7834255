"""Messages of other people by lot, as many and as long as one's own would be: what words help, whosever they are.

Source: PGraphRAG's mode "random", which always hands in one review whatever k is; here number and length are matched.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memory.gathered import gathered
from memory.message import Message
from memory.ranking import answer, check
from memory.recall import History, Others, Recalled
from memory.scoring import lots


@dataclass(frozen=True)
class Policy:
    """For each of k own messages by lot, the one nearest to it in length of `pool` that others wrote in the community.

    Score: minus the difference in words. They are shown as if they were the person's own: that is the control.
    """

    k: int = 5
    pool: int = 200
    seed: int = 0
    max_tokens: int = 0
    needs: ClassVar[tuple[str, ...]] = ("others",)

    async def __call__(self, history: History, query: str, *, others: Others) -> list[Recalled]:
        check(self.k)
        if not len(history) or not self.k:
            return []
        chance = lots(history, query, self.seed)
        own = [history.messages[int(i)] for i in chance.permutation(len(history))[: self.k]]
        there = {m.id: m for m in others.drawn(self.pool, int(chance.integers(2**31)))}
        off: dict[str, int] = {}
        for length in map(_length, own):
            free = [(abs(_length(m) - length), id) for id, m in there.items() if id not in off]
            if free:
                apart, id = min(free)
                off[id] = apart
        chosen = await gathered(history, (there[id] for id in off), widen=False)
        alike = np.array([0.0 - off[m.id] for m in chosen.messages])
        return answer(chosen, alike, {"length": alike}, self.k, self.max_tokens)


def _length(message: Message) -> int:
    return len(message.bare.words.split())
