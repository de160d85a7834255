"""Memories that cheat, each in one way, for the controls that must find them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory.corpus import Corpus
from memory.message import Message
from memory.recall import History, Recalled
from memory.store import Past


def corpus(history: Any) -> Corpus:
    """Past the door: where a past was read from."""
    while not isinstance(history, Past):
        history = history.known.__self__
    store: Any = history._embed
    found: Corpus = store.__self__.corpus
    return found


def ever(history: History, user: str | None = None) -> list[Message]:
    """All that anybody, or `user`, ever wrote."""
    found = corpus(history).rows(corpus(history).all["row"].tolist())
    return [m for m in found if m.author is not None and user in (None, m.author)]


def hidden(messages: Sequence[Message], history: History) -> list[Recalled]:
    """Dated back, so that no guard sees where they are from."""
    return [Recalled(replace(m, time=min(m.time, history.before - 1)), 0.0) for m in messages]


@dataclass(frozen=True)
class Latest:
    """The last that the person ever wrote."""

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        return hidden(ever(history, history.user)[-1:], history)


@dataclass(frozen=True)
class Renamed:
    """The same under another id, as a derived memory would have it."""

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        return [replace(r, message=replace(r.message, id="t1_elsewhere")) for r in await Latest()(history, query)]


@dataclass(frozen=True)
class Counting:
    """As many of the person's earlier messages as they have later ones."""

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        later = sum(m.time >= history.before for m in ever(history, history.user))
        return [Recalled(m, 0.0) for m in history.messages[:later]]


@dataclass(frozen=True)
class Ordered:
    """The one whose id is the largest: ids tell the true order."""

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        latest = max(history.messages, key=lambda m: (int("".join(filter(str.isdigit, m.id))) * 7919) % 1000)
        return [Recalled(latest, 0.0)]


@dataclass(frozen=True)
class Knowing:
    """What was being answered, whoever's past it is given: the latest of anybody before the moment."""

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        return hidden([m for m in ever(history) if m.time < history.before][-1:], history)
