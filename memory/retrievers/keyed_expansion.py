"""Messages found by more than their own words: a model says what each is about, and that becomes part of its key.

Source: LongMemEval (2410.10813), key expansion: the value stays the message, the key is value + fact; join modes merge,
separate and replace as there.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memory import scoring
from memory.asking import each, quoted
from memory.errors import UnknownName
from memory.ranking import answer, check
from memory.recall import Ask, History, Recalled
from memory.templates import Wording

JOINS = ("merge", "separate", "replace")


@dataclass(frozen=True)
class Policy:
    """Score: the cosine to the key. Of the last `latest` messages the keys are expanded; older ones keep their words.

    `join`: merge embeds message and expansion as one text, separate takes the nearer of both, replace the expansion.
    """

    k: int = 5
    latest: int = 50
    join: str = "merge"
    max_tokens: int = 0
    needs: ClassVar[tuple[str, ...]] = ("ask", "words")
    calls: ClassVar[str] = "1 a message / 0"

    def __post_init__(self) -> None:
        if self.join not in JOINS:
            raise UnknownName("join of keyed_expansion", self.join, JOINS)

    async def __call__(self, history: History, query: str, *, ask: Ask, words: Wording) -> list[Recalled]:
        check(self.k)
        if not len(history):
            return []
        start = max(0, len(history) - max(self.latest, 0))
        read = [m.bare.words for m in history.messages[start:]]
        said = await each(ask, [words.put("keyed_expansion", text=quoted(own)) for own in read])
        facts = [" ".join(text.split()) or own for text, own in zip(said, read, strict=True)]
        keys = facts if self.join != "merge" else [f"{w}\n{fact}" for w, fact in zip(read, facts, strict=True)]
        near = await scoring.cosine(history, query)
        expanded = near.copy()
        [asked] = await history.embed([query])
        expanded[start:] = np.round((await history.embed(keys)) @ asked, scoring.DIGITS)
        key = np.maximum(near, expanded) if self.join == "separate" else expanded
        return answer(history, key, {"key": key, "dense": near}, self.k, self.max_tokens)
