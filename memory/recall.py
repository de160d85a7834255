"""The door to the past: Past is what one person (or community) had written before a moment; Retriever chooses from it.

Nothing here can look at or after `before`: a History is cut before a policy ever holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory.message import Message

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Recalled:
    """One remembered message. `score`: larger is nearer, on the policy's own scale; `terms` says what it is made of."""

    message: Message
    score: float
    terms: dict[str, float] = field(default_factory=dict)


class History(Protocol):
    """What one person wrote strictly before a moment, oldest first by (time, id); rows without words are left out."""

    @property
    def user(self) -> str: ...
    @property
    def before(self) -> int:
        """UTC seconds; every message here is strictly earlier."""

    @property
    def messages(self) -> Sequence[Message]:
        """Decoded when asked for: one by index, a few by slice, all by iteration."""

    @property
    def vectors(self) -> Vectors:
        """float32 (n, d), rows of unit length, aligned with `messages`; read when asked for."""

    def __len__(self) -> int: ...
    async def embed(self, texts: list[str]) -> Vectors:
        """float32 (len(texts), d), unit rows; looked up where the text is known, else encoded off the loop."""


class Retriever(Protocol):
    """A retrieval strategy: at most its k items, scores descending, no message twice, [] for an empty history."""

    async def __call__(self, history: History, query: str) -> list[Recalled]: ...
