"""What a policy may be handed beside a History: other people, a model, the words to ask it with, the truth.

Each door is made for one History and opens no further than its `before`. Only the truth lies at that very moment, and
a policy that asks for it is an upper bound, never a result.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, Protocol

from memory.asking import prompts
from memory.errors import Missing
from memory.others import CorpusOthers
from memory.recall import Ask, History, Others, Recalled
from memory.store import MemoryStore
from memory.templates import Wording

_LACKS = {
    "others": "other people's messages; give it an imported corpus",
    "truth": "what was really answered; give it an imported corpus",
    "ask": "a model; name one with --model",
}


class Doors(Protocol):
    """Recalls with whatever a policy needs."""

    def check(self, policy: Any) -> None:
        """Raises Missing for a policy that needs what is not here."""

    async def recall(self, policy: Any, history: History, query: str, outside: str = "") -> list[Recalled]:
        """The policy's answer. `outside`: id of the thread being answered, whose messages by others are not handed
        out: in a simulation they may never have been said."""


def needs(policy: Any) -> tuple[str, ...]:
    """ "others", "ask", "words", "truth": what a policy has to be given beside a History and a query."""
    found: tuple[str, ...] = getattr(policy, "needs", ())
    return found


@dataclass(frozen=True)
class CorpusDoors:
    """The doors of a corpus, and of a model where there is one. `words`: its prompts; None: the packaged ones."""

    store: MemoryStore | None = None
    ask: Ask | None = None
    words: Wording | None = None

    def check(self, policy: Any) -> None:
        here = {"others": self.store, "truth": self.store, "ask": self.ask, "words": prompts}
        for need in needs(policy):
            if here.get(need) is None:
                name = type(policy).__module__.rpartition(".")[2]
                raise Missing(f"the policy {name} needs {_LACKS.get(need, repr(need))}")

    async def recall(self, policy: Any, history: History, query: str, outside: str = "") -> list[Recalled]:
        self.check(policy)
        given = {need: self._door(need, history, query, outside) for need in needs(policy)}
        found: list[Recalled] = await policy(history, query, **given)
        return found

    def _door(self, need: str, history: History, query: str, outside: str) -> Others | Ask | Wording | str | None:
        if need == "ask":
            return self.ask
        if need == "words":
            return self.words or prompts()
        assert self.store is not None  # checked
        return CorpusOthers(self.store, history, outside) if need == "others" else truth(self.store, history, query)


@dataclass
class Timed:
    """Doors around doors that add up how long recalling took: `seconds`, those of recalls at the same time each."""

    inner: Doors
    seconds: float = 0.0

    def check(self, policy: Any) -> None:
        self.inner.check(policy)

    async def recall(self, policy: Any, history: History, query: str, outside: str = "") -> list[Recalled]:
        start = time.perf_counter()
        try:
            return await self.inner.recall(policy, history, query, outside)
        finally:
            self.seconds += time.perf_counter() - start


def truth(store: MemoryStore, history: History, query: str) -> str | None:
    """What the person wrote at the very moment of `history`, to the message with the words `query` where there are
    several; None where they wrote nothing then."""
    earlier = len(store.history(history.user, before=history.before, strangers=True))
    later = store.history(history.user, before=history.before + 1, strangers=True).messages[earlier:]
    answers = [m for m in later if m.parent is not None and store.corpus.message(m.parent).words == query]
    return next((m.words for m in [*answers, *later]), None)
