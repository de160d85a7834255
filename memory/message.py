"""Message and Thread: the records every layer shares. They know nothing of files, vectors or models."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from memory.errors import UnknownName

QUOTED = re.compile(r"^[ \t]*>.*(?:\n|\Z)", re.MULTILINE)
Kind = Literal["post", "comment"]
Origin = Literal["real", "simulated"]


@dataclass(frozen=True, slots=True)
class Message:
    """One node of a reply tree.

    `id` is unique over posts and comments ("t3_..." and "t1_..." for Reddit). `parent` is None for a post only.
    `author` is None where the account is gone, `text` where the words are, `score` where it is hidden or unknown.
    `time` is UTC seconds. `place` is the community (subreddit). `title` is empty for comments.
    """

    id: str
    thread: str
    parent: str | None
    author: str | None
    time: int
    text: str | None
    score: int | None = None
    place: str = ""
    kind: Kind = "comment"
    title: str = ""
    origin: Origin = "real"

    @property
    def words(self) -> str:
        """Title and text together, "" where both are gone: what a reader sees and what is embedded."""
        return "\n\n".join(part for part in (self.title, self.text or "") if part)

    @property
    def bare(self) -> Message:
        """The message without the lines that quote somebody: what can be remembered as the writer's own words."""
        own = None if self.text is None else unquoted(self.text)
        return self if own == self.text else replace(self, text=own)


def unquoted(text: str) -> str:
    """`text` without quoted lines (">" at their start, as Reddit marks them) and the blank lines they leave."""
    if ">" not in text:  # seven times as fast, and nearly always so
        return text
    own, quotes = QUOTED.subn("", text)
    return re.sub(r"\n{3,}", "\n\n", own).strip() if quotes else text


def order(message: Message) -> tuple[int, str]:
    """The one order of messages everywhere: by time, then id."""
    return message.time, message.id


@dataclass(frozen=True)
class Thread:
    """A reply tree: `messages` ascending by (time, id). Every method returns a new value."""

    id: str
    messages: tuple[Message, ...]

    @staticmethod
    def of(id: str, messages: Iterable[Message]) -> Thread:
        return Thread(id, tuple(sorted(messages, key=order)))

    @cached_property
    def by_id(self) -> dict[str, Message]:
        return {m.id: m for m in self.messages}

    @cached_property
    def replies(self) -> dict[str | None, tuple[Message, ...]]:
        """Parent id -> its direct replies, in order. None -> the roots."""
        found: dict[str | None, list[Message]] = {}
        for message in self.messages:
            found.setdefault(message.parent, []).append(message)
        return {parent: tuple(children) for parent, children in found.items()}

    def __getitem__(self, id: str) -> Message:
        try:
            return self.by_id[id]
        except KeyError:
            raise UnknownName(f"message in thread {self.id}", id, self.by_id) from None

    def path(self, id: str | None) -> tuple[Message, ...]:
        """Root to `id`, both included; () for None. A parent that is not in this thread ends the walk."""
        found: list[Message] = []
        here = self.by_id.get(id) if id is not None else None
        while here is not None:
            found.append(here)
            here = self.by_id.get(here.parent) if here.parent is not None else None
        return tuple(reversed(found))

    def before(self, time: int, answering: str | None = None) -> Thread:
        """What could be read at `time`: all that is strictly earlier, and the path to the message being answered.

        The path is kept even where its times equal `time`: a reply shows that its parent was there.
        """
        asked = {m.id for m in self.path(answering) if m.time == time}
        cut = bisect_left(self.messages, time, key=lambda m: m.time)
        return Thread(self.id, self.messages[:cut] + tuple(m for m in self.messages[cut:] if m.id in asked))

    def plus(self, *messages: Message) -> Thread:
        """This thread with `messages` added; one with an id already present takes its place."""
        new = {m.id for m in messages}
        return Thread.of(self.id, (*(m for m in self.messages if m.id not in new), *messages))

    def masked(self, *ids: str) -> Thread:
        """The same tree with the scores of `ids` hidden; of all messages where none is named."""
        hide = set(ids) if ids else self.by_id.keys()
        return Thread(self.id, tuple(replace(m, score=None) if m.id in hide else m for m in self.messages))
