"""A paragraph about the person that a model wrote from their earlier messages, and the messages nearest to the query.

Source: Richardson et al. 2023 (2310.20081): a summary and retrieval together beat either. LongLaMP ships a
stylistic one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from memory import scoring
from memory.asking import note, numbered
from memory.errors import BadInput
from memory.message import Message
from memory.ranking import answer, check, headed
from memory.recall import Ask, History, Recalled
from memory.templates import Wording


def describing(messages: Sequence[Message], words: Wording) -> str:
    """The prompt that asks for the paragraph; the messages are data in it."""
    return words.put("profile_summary", text=numbered(messages))


@dataclass(frozen=True)
class Policy:
    """The paragraph first, then the k - 1 nearest by cosine.

    It is made of the last `latest` messages and made anew for each `refresh` more (for 1, 2, 4 ... of a beginner's):
    always of messages before the moment, and the same for all moments between.
    """

    k: int = 5
    latest: int = 30
    refresh: int = 20
    max_tokens: int = 0
    needs: ClassVar[tuple[str, ...]] = ("ask", "words")
    calls: ClassVar[str] = "1 for `refresh` messages / 0"

    def __post_init__(self) -> None:
        if min(self.latest, self.refresh) < 1:
            raise BadInput(f"latest={self.latest} and refresh={self.refresh} of profile_summary must be 1 or more")

    async def __call__(self, history: History, query: str, *, ask: Ask, words: Wording) -> list[Recalled]:
        check(self.k)
        if not len(history) or not self.k:
            return []
        size = len(history)
        stop = size - size % self.refresh if size >= self.refresh else 1 << (size.bit_length() - 1)
        read = history.messages[max(0, stop - self.latest) : stop]
        text = " ".join((await ask(describing(read, words))).split())
        near = await scoring.cosine(history, query)
        notes = [note(history, "profile_summary", text, read[-1])] if text else []
        return headed(notes, answer(history, near, {"dense": near}, self.k), self.k, self.max_tokens)
