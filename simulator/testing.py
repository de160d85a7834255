"""Models without a model, for exact assertions and for faults: use them in your own tests and dry runs.

Scripted   says what it is told and keeps every Request
distinct   for Scripted: a few words that only this request gets
Echo       answers with its own prompt as JSON, so that prompt assembly can be asserted exactly; in a thread that hears
           itself, that is a copy of the thread, and a failed turn
Faulty     fails on chosen calls, then passes them on
Shelf      a memory without files
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from memory.corpus import Link
from memory.errors import UnknownName
from memory.message import Message, Thread, order
from memory.recall import Vectors
from simulator.llm import LLM, Completion, ModelError, Request

Answer = str | Completion | ModelError


@dataclass
class Scripted:
    """`says`: one answer for all, answers in turn (the last one repeats), or a function of the Request."""

    says: Answer | Sequence[Answer] | Callable[[Request], Answer] = "I see it differently."
    name: str = "fake:scripted"
    seconds: float = 0.0  # simulated latency
    requests: list[Request] = field(default_factory=list)

    async def __call__(self, request: Request) -> Completion:
        self.requests.append(request)
        if self.seconds:
            await asyncio.sleep(self.seconds)
        answer = self._next(request)
        if isinstance(answer, ModelError):
            raise answer
        return answer if isinstance(answer, Completion) else completion(answer, request)

    def _next(self, request: Request) -> Answer:
        if callable(self.says):
            return self.says(request)
        if isinstance(self.says, str | Completion | ModelError):
            return self.says
        return self.says[min(len(self.requests), len(self.says)) - 1]

    async def close(self) -> None:
        pass


def distinct(request: Request) -> str:
    """Words that stand as a message: no copy of anything, and the same for the same request."""
    return f"I have {request.seed} reasons."


@dataclass
class Echo:
    """Answers with {"messages": [[role, text], ...], "seed": ...} of its request."""

    name: str = "fake:echo"

    async def __call__(self, request: Request) -> Completion:
        return completion(json.dumps({"messages": request.messages, "seed": request.seed}), request)

    async def close(self) -> None:
        pass


@dataclass
class Faulty:
    """An LLM around an LLM that raises `faults[n]` on its nth call (from 0) instead of passing it on."""

    inner: LLM
    faults: Mapping[int, BaseException]
    calls: int = 0

    @property
    def name(self) -> str:
        return self.inner.name

    async def __call__(self, request: Request) -> Completion:
        number, self.calls = self.calls, self.calls + 1
        if number in self.faults:
            raise self.faults[number]
        return await self.inner(request)

    async def close(self) -> None:
        await self.inner.close()


def completion(text: str, request: Request | None = None, **other: object) -> Completion:
    """A Completion of `text` with token counts guessed at four characters a token."""
    asked = sum(len(words) for _, words in request.messages) // 4 if request else 0
    guessed = Completion(text, tokens_in=asked, tokens_out=max(1, len(text) // 4))
    return replace(guessed, **other)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Shelf:
    """A memory without files: threads in, corpus and histories out, with a hashing embedder."""

    threads: tuple[Thread, ...]

    def thread_ids(self) -> list[str]:
        return [thread.id for thread in sorted(self.threads, key=lambda t: (order(t.messages[0]), t.id))]

    def thread(self, id: str) -> Thread:
        found = {thread.id: thread for thread in self.threads}
        if id not in found:
            raise UnknownName("thread", id, found)
        return found[id]

    def people(self) -> set[str]:
        return {m.author for thread in self.threads for m in thread.messages if m.author and m.words}

    def scores(self, *, before: int, place: str | None = None, outside: str | None = None) -> list[int]:
        found = (m for t in self.threads if t.id != outside for m in t.messages if m.time < before)
        return [m.score for m in found if m.score is not None and place in (None, m.place)]

    def links(self, *, before: int, place: str | None = None, k: int) -> list[Link]:
        found = sorted((m for t in self.threads for m in t.messages if m.time < before), key=order)
        return [Link(m.id, m.thread, m.parent, m.author, m.time) for m in found if place in (None, m.place)][-k:]

    def history(self, user: str, *, before: int) -> Leaves:
        own = (
            m for thread in self.threads for m in thread.messages if m.author == user and m.time < before and m.words
        )
        return Leaves(user, before, tuple(sorted(own, key=order)))


@dataclass(frozen=True)
class Leaves:
    """The History of a Shelf."""

    user: str
    before: int
    messages: tuple[Message, ...]

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def vectors(self) -> Vectors:
        return _bag([m.words for m in self.messages])

    async def embed(self, texts: list[str]) -> Vectors:
        return _bag(texts)


def _bag(texts: Sequence[str]) -> Vectors:
    from memory.embed import open_embedder

    return open_embedder("bag")(texts)
