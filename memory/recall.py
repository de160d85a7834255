"""The door to the past: History is what one person had written before a moment; Retriever chooses from it.

Nothing here can look at or after `before`: a History is cut before a policy ever holds it, and so are Others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from memory.message import Message

Vectors = NDArray[np.float32]
Ask = Callable[[str], Awaitable[str]]  # a model: prompt in, answer out


@dataclass(frozen=True, slots=True)
class Recalled:
    """One remembered message. `score`: larger is nearer, on the policy's own scale; `terms` says what it is made of:
    "dense" is the value of a term and "dense_rank" its place among all that was scored, 1 for the largest.

    `role`: how it is shown: the person's own words (or what a control hands in instead), other people's, or a note
    about the person that a policy made, whose message is in no corpus.
    """

    message: Message
    score: float
    terms: dict[str, float] = field(default_factory=dict)
    role: Literal["own", "other", "note"] = "own"


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


class Others(Protocol):
    """What other people of a community wrote strictly before a History's moment, outside the thread being answered."""

    def newest(self, k: int) -> list[Message]:
        """The last k messages, newest first."""

    def drawn(self, k: int, seed: int) -> list[Message]:
        """k messages by lot, without replacement, in the order drawn."""

    def alike(self) -> History | None:
        """The past of the one person whose share of the community is nearest in size; None where there is nobody."""


class Retriever(Protocol):
    """A retrieval strategy: at most its k items, scores descending, no message twice, [] for an empty history.

    One that has to have more than a History names it in `needs` ("others", "ask", "words", "truth") and is given it by
    keyword: see memory/doors.py. One that calls a model says in `calls` how often: at writing / at reading.
    """

    async def __call__(self, history: History, query: str) -> list[Recalled]: ...
