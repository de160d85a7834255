"""Message and Thread: the records every layer shares. They know nothing of files, vectors or models."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Literal

from memory.errors import UnknownName

QUOTED = re.compile(r"^[ \t]*>.*(?:\n|\Z)", re.MULTILINE)
Kind = Literal["post", "comment"]
Origin = Literal["real", "simulated", "inserted"]  # inserted: by hand, into a run


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


class _Index:
    """Where messages stand, shared by all threads that begin with the same ones: it grows at its end, nothing moves.

    So a rollout that adds a message a turn, and cuts the thread at every turn's moment, pays the same for each.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.messages: list[Message] = []
        self.place: dict[str, int] = {}
        self.answers: dict[str | None, list[int]] = {}  # parent -> places of its direct replies, ascending
        self.add(messages)

    def add(self, messages: Iterable[Message]) -> None:
        for place, message in enumerate(messages, len(self.messages)):
            self.messages.append(message)
            self.place[message.id] = place
            self.answers.setdefault(message.parent, []).append(place)


class _ById(Mapping[str, Message]):
    """The first `size` messages of an index by their ids."""

    __slots__ = ("_index", "_size")

    def __init__(self, index: _Index, size: int) -> None:
        self._index = index
        self._size = size

    def __getitem__(self, id: str) -> Message:
        place = self._index.place[id]
        if place >= self._size:
            raise KeyError(id)
        return self._index.messages[place]

    def __contains__(self, id: object) -> bool:
        return self._index.place.get(id, self._size) < self._size  # type: ignore[call-overload, no-any-return]

    def __iter__(self) -> Iterator[str]:
        return (message.id for message in self._index.messages[: self._size])

    def __len__(self) -> int:
        return self._size


@dataclass(frozen=True)
class Thread:
    """A reply tree: `messages` ascending by (time, id), none earlier than its parent. Every method returns a new value.

    What is looked up by id costs the same in a long thread as in a short one; `before` and `plus` copy a tuple.
    """

    id: str
    messages: tuple[Message, ...]

    @staticmethod
    def of(id: str, messages: Iterable[Message]) -> Thread:
        return Thread(id, tuple(sorted(messages, key=order)))

    @cached_property
    def _index(self) -> _Index:
        """Its first messages are this thread's; those after them belong to others."""
        return _Index(self.messages)

    def _sharing(self, messages: tuple[Message, ...]) -> Thread:
        """The thread of `messages`, with which the index of this one begins."""
        thread = Thread(self.id, messages)
        thread.__dict__["_index"] = self._index
        return thread

    @cached_property
    def by_id(self) -> Mapping[str, Message]:
        return _ById(self._index, len(self.messages))

    def replies(self, id: str | None) -> tuple[Message, ...]:
        """Direct replies to `id`, in order; the roots for None."""
        places = self._index.answers.get(id, [])
        return tuple(self._index.messages[place] for place in places[: bisect_left(places, len(self.messages))])

    def __getitem__(self, id: str) -> Message:
        try:
            return self.by_id[id]
        except KeyError:
            raise UnknownName(f"message in thread {self.id}", id, self.by_id) from None

    def path(self, id: str | None) -> tuple[Message, ...]:
        """Root to `id`, both included; () for None. A parent that is not in this thread ends the walk."""
        last: tuple[str | None, tuple[Message, ...]] | None = self.__dict__.get("_walked")
        if last is None or last[0] != id:  # a turn asks for one path several times
            last = self.__dict__["_walked"] = id, tuple(reversed([*self._upwards(id)]))
        return last[1]

    def _upwards(self, id: str | None) -> Iterator[Message]:
        messages, place, size = self._index.messages, self._index.place, len(self.messages)
        while id is not None and (at := place.get(id, size)) < size:
            yield messages[at]
            id = messages[at].parent

    def before(self, time: int, answering: str | None = None) -> Thread:
        """What could be read at `time`: all that is strictly earlier, and the path to the message being answered.

        The path is kept even where its times equal `time`: a reply shows that its parent was there.
        """
        cut = bisect_left(self.messages, time, key=lambda m: m.time)
        same = [m for m in takewhile(lambda m: m.time >= time, self._upwards(answering)) if m.time == time]
        if not same:
            return self._sharing(self.messages[:cut])
        return Thread(self.id, self.messages[:cut] + tuple(sorted(same, key=order)))

    def plus(self, *messages: Message) -> Thread:
        """This thread with `messages` added; one with an id already present takes its place."""
        new = {m.id: m for m in messages}
        added = tuple(sorted(new.values(), key=order))
        last = len(self.messages)
        follows = not last or not added or order(self.messages[-1]) < order(added[0])
        if follows and len(self._index.messages) == last and self.by_id.keys().isdisjoint(new):
            self._index.add(added)
            return self._sharing(self.messages + added)
        return Thread.of(self.id, (*(m for m in self.messages if m.id not in new), *new.values()))

    def masked(self, *ids: str) -> Thread:
        """The same tree with the scores of `ids` hidden; of all messages where none is named."""
        hide = set(ids) if ids else self.by_id.keys()
        return Thread(self.id, tuple(replace(m, score=None) if m.id in hide else m for m in self.messages))
