"""Messages that a policy brought together, as a History: the same scores serve for them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from memory.message import Message, order
from memory.ranking import read
from memory.recall import History, Vectors
from memory.store import Past


@dataclass(frozen=True)
class Gathered:
    """Oldest first, as every History. `vectors` has no columns where nobody needs them."""

    user: str
    before: int
    messages: Sequence[Message]
    vectors: Vectors
    known: Callable[[list[str]], Awaitable[Vectors]]

    def __len__(self) -> int:
        return len(self.messages)

    async def embed(self, texts: list[str]) -> Vectors:
        return await self.known(texts)


def part(history: History, at: list[int]) -> History:
    """The messages of `history` at these ascending positions."""
    messages = read(history, at)
    if isinstance(history, Past):
        return history.part(messages, at)
    return Gathered(history.user, history.before, messages, history.vectors[at], history.embed)


async def gathered(history: History, messages: Iterable[Message], *, widen: bool = True) -> Gathered:
    """`messages` at the moment of `history`, each once. Without `widen` they get no vectors."""
    ordered = sorted({m.id: m for m in messages}.values(), key=order)
    if widen:
        vectors = await history.embed([m.bare.words for m in ordered])
    else:
        vectors = np.empty((len(ordered), 0), np.float32)
    return Gathered(history.user, history.before, ordered, vectors, history.embed)
