"""A card of counted habits, and the messages nearest to the query: the honest, free rival of a model's summary.

Source: ours, see memory/habits.py; LongLaMP lets a model write such a card.
"""

from dataclasses import dataclass

from memory import habits, scoring
from memory.asking import note
from memory.ranking import answer, check, headed
from memory.recall import History, Recalled


@dataclass(frozen=True)
class Policy:
    """The card first, made of the last `latest` messages, then the k - 1 nearest by cosine."""

    k: int = 5
    latest: int = 200
    max_tokens: int = 0

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        check(self.k)
        if not len(history) or not self.k:
            return []
        last = history.messages[-max(self.latest, 1) :]
        cards = [note(history, "style_card", habits.card(last), last[-1])] if len(last) >= habits.FEW else []
        near = await scoring.cosine(history, query)
        return headed(cards, answer(history, near, {"dense": near}, self.k), self.k, self.max_tokens)
