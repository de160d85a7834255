"""Recency, importance and relevance, each scaled to 0..1 over all messages and added up.

Source: Park et al. 2023, Generative Agents, section 4.1: all weights 1, decay 0.995 an hour since the last access.
Reads change nothing here, so an age counts from the writing. The released code differs: it sorts by age, oldest first,
and gives the nth decay ** n, so that the oldest is the most "recent"; that is form=inverted, and its constants are
form=inverted,decay=0.99,recency=0.5,relevance=3,importance=2,k=30. Theirs are days in a simulation: over years of real
messages 0.995 an hour leaves the last days alone, and decay=0.9998 halves in five months.
"""

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memory import scoring
from memory.asking import each, quoted
from memory.errors import BadInput, UnknownName
from memory.ranking import Array, answer
from memory.recall import Ask, History, Recalled
from memory.templates import Wording

FORMS = ("paper", "inverted")
RATERS = ("none", "model")
UNREAD = 4  # the rating that the released code takes for an answer it cannot read


@dataclass(frozen=True)
class Policy:
    """Score: recency x its term + importance x its term + relevance x its term (the cosine).

    `rater`=model asks for the importance of each message once; none holds all equal, and no model is called.
    """

    k: int = 5
    recency: float = 1.0
    importance: float = 1.0
    relevance: float = 1.0
    decay: float = 0.995
    form: str = "paper"
    rater: str = "none"
    max_tokens: int = 0
    calls: ClassVar[str] = "0 (rater=model: 1 a message) / 0"

    def __post_init__(self) -> None:
        for kind, name, known in (("form", self.form, FORMS), ("rater", self.rater, RATERS)):
            if name not in known:
                raise UnknownName(f"{kind} of generative_agents", name, known)
        if not 0 < self.decay <= 1:
            raise BadInput(f"decay={self.decay:g} of generative_agents is not above 0 and at most 1")

    @property
    def needs(self) -> tuple[str, ...]:
        return ("ask", "words") if self.rater == "model" else ()

    async def __call__(
        self, history: History, query: str, *, ask: Ask | None = None, words: Wording | None = None
    ) -> list[Recalled]:
        if not len(history):
            return []
        rated = await _rated(history, ask, words) if ask and words else np.zeros(len(history))
        near = await scoring.cosine(history, query)
        parts = {
            "recency": self.recency * scoring.min_max(self._recency(history)),
            "importance": self.importance * scoring.min_max(rated),
            "relevance": self.relevance * scoring.min_max(near),
        }
        return answer(history, np.round(sum(parts.values()), 9), parts | {"dense": near}, self.k, self.max_tokens)

    def _recency(self, history: History) -> Array:
        if self.form == "inverted":
            return self.decay ** np.arange(1.0, len(history) + 1)  # the history is oldest first
        return self.decay ** (scoring.ages(history) / scoring.HOUR)


def rating(answered: str) -> int:
    """The first number from 1 to 10; UNREAD where there is none."""
    return next((int(n) for n in re.findall(r"\d+", answered) if 1 <= int(n) <= 10), UNREAD)


async def _rated(history: History, ask: Ask, words: Wording) -> Array:
    prompts = [words.put("generative_agents", text=quoted(m.bare.words)) for m in history.messages]
    return np.array([rating(said) for said in await each(ask, prompts)], float)
