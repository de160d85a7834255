"""What is read becomes records: names replaced, texts scrubbed, all that is counted by number numbered."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory import pseudonym
from memory.batch import Batch
from memory.forgotten import Forgotten
from memory.names import Names
from memory.reading import Row
from memory.staging import NAMED, ODD, Staged, fill
from memory.statements import one
from memory.stored import POST, UNKNOWN, WIDTH
from memory.words import Positions, Words, together

_BATCH = 1024  # rows that are looked at together: what becomes of them fits a processor's cache

_ARRAYS, _LISTS = ("id", "thread", "parent", "time", "score", "retrieved", "post"), ("author", "text", "place", "title")

Strings = tuple[str, str | None, str | None]  # id, thread, parent


@dataclass
class _Columns:
    """A Batch of any rows. `long`: what is too long for the columns, by position."""

    batch: Batch
    flags: NDArray[np.uint8]
    lines: NDArray[Any]
    long: dict[int, Strings] = field(default_factory=dict)


class Adding:
    """What one import reads, on its way into the staged files."""

    def __init__(self, sql: sqlite3.Connection, names: Names, forgotten: Forgotten, staged: Staged) -> None:
        self._sql, self._names, self._forgotten, self._staged = sql, names, forgotten, staged
        self._places: dict[str, int] = {}
        self.sources: list[str] = []
        self.long: dict[int, Strings] = {}  # position in the staged rows -> what does not fit there

    def add(self, rows: Iterable[Row | Batch], source: str) -> None:
        """Takes all of them, in their order."""
        self.sources.append(source)
        self._sql.execute("begin")
        for columns in _gathered(rows):
            self._stage(columns)
        self._sql.execute("commit")

    def _stage(self, columns: _Columns) -> None:
        given = columns.batch
        if self._forgotten:
            given = self._without(columns)
        made = np.zeros(len(given), self._staged.kind)
        made["author"] = self._names.codes(given.author, given.bots)
        words, heads, gone = together(given.title, given.text)
        words, heads, named = _scrubbed(words, heads)
        if self._forgotten:  # before it is written: what stood in a file for a moment could stay in it
            words, heads = _changed(words, heads, range(len(words)), self._forgotten.cleaned)
        made["flags"] = columns.flags
        made["flags"][named] |= NAMED
        made["place"] = self._codes_of(given.place)
        made["id"], made["thread_id"], made["parent"] = given.id, given.thread, given.parent
        made["time"], made["score"], made["retrieved"] = given.time, given.score, given.retrieved
        made["line"], made["source"] = columns.lines, len(self.sources) - 1
        self.long |= {len(self._staged) + n: strings for n, strings in columns.long.items()}
        self._staged.add(made, fill(made, words, heads, gone))

    def _codes_of(self, places: list[str]) -> NDArray[Any]:
        for name in [name for name in dict.fromkeys(places) if name not in self._places]:
            called = self._names.place(name)
            self._places[name] = self.place(self._forgotten.cleaned(called) if self._forgotten else called)
        return np.fromiter(map(self._places.__getitem__, places), np.int32, len(places))

    def place(self, called: str) -> int:
        """The number of a community, which gets one if need be."""
        known = "select code from every_places where name = ?"
        found = one(self._sql, known, called)
        if found is None:
            self._sql.execute("insert into places(name) values (?)", (called,))
            found = one(self._sql, known, called)
        return int(found)

    def _without(self, columns: _Columns) -> Batch:
        """The same, where those who were forgotten, and their messages, have neither name nor words."""
        given, found = columns.batch, list[int]()
        for n, (id, author) in enumerate(zip(given.id.tolist(), given.author, strict=True)):
            whole = columns.long[n][0] if n in columns.long else id.decode()
            if self._forgotten.has(whole) or (author or "") in self._forgotten:
                found.append(n)
        authors, texts, titles = [*given.author], [*given.text], [*given.title]
        for n in found:
            authors[n], texts[n], titles[n] = None, None, ""
        return replace(given, author=authors, text=texts, title=titles)


def _scrubbed(words: Words, heads: Positions) -> tuple[Words, Positions, Positions]:
    """Without addresses and numbers of people; positions of those that can name somebody."""
    scrubbed, naming = pseudonym.suspects(words)
    return *_changed(words, heads, scrubbed.tolist(), pseudonym.scrub), naming


def _changed(
    words: Words, heads: Positions, at: Iterable[int], change: Callable[[str], str]
) -> tuple[Words, Positions]:
    """What `change` makes of the titles and texts in these positions, which ascend."""
    heads, new = heads.copy(), dict[int, str]()
    for n in at:
        title, text = (change(part) for part in words.split(n, int(heads[n])))
        heads[n], new[n] = len(title.encode()), title + text
    return words.changed(new), heads


def _gathered(rows: Iterable[Row | Batch]) -> Iterator[_Columns]:
    """Some hundred at a time, in their order."""
    some: list[Row] = []
    many: list[Batch] = []
    for row in rows:
        if isinstance(row, Batch):
            if some:
                yield _columns(some)
                some = []
            many.append(row)
            if sum(map(len, many)) >= _BATCH:
                yield _together(many)
                many = []
            continue
        if many:
            yield _together(many)
            many = []
        some.append(row)
        if len(some) == _BATCH:
            yield _columns(some)
            some = []
    if some or many:
        yield _columns(some) if some else _together(many)


def _together(many: list[Batch]) -> _Columns:
    lines = [np.arange(batch.line, batch.line + len(batch)) for batch in many]
    whole = many[0]
    if len(many) > 1:
        columns = {name: [getattr(batch, name) for batch in many] for name in Batch.__slots__}
        arrays: dict[str, Any] = {name: np.concatenate(columns[name]) for name in _ARRAYS}
        lists: dict[str, Any] = {name: [*chain.from_iterable(columns[name])] for name in _LISTS}
        whole = Batch(**arrays, **lists, bots=frozenset[str]().union(*columns["bots"]), line=whole.line)
    return _Columns(whole, whole.post * np.uint8(POST), np.concatenate(lines))


def _columns(rows: list[Row]) -> _Columns:
    ids, parents = [r.id for r in rows], [r.parent or "" for r in rows]
    threads = [r.id if r.kind == "post" else r.thread or "" for r in rows]
    every = "\n".join(chain(ids, threads, parents))
    long: dict[int, Strings] = {}
    if "\0" in every:  # nothing else here can tell it from the end
        ids, threads, parents = ([text.replace("\0", "") for text in column] for column in (ids, threads, parents))
    if not every.isascii() or max(map(len, chain(ids, threads, parents))) > WIDTH:
        for n, three in enumerate(zip(ids, threads, parents, strict=True)):
            if any(_long(text) for text in three):
                long[n] = three[0], three[1] or None, three[2] or None
                ids[n], threads[n], parents[n] = ("" if _long(text) else text for text in three)
    odd = [not _usual(r, thread) or n in long for n, (r, thread) in enumerate(zip(rows, threads, strict=True))]
    named = [np.array([text.encode() for text in column], f"S{WIDTH}") for column in (ids, threads, parents)]
    batch = Batch(
        named[0],
        named[1],
        named[2],
        [r.author for r in rows],
        np.array([r.time for r in rows], np.int64),
        [r.text for r in rows],
        np.array([UNKNOWN if r.score is None else r.score for r in rows], np.int64),
        [r.place for r in rows],
        np.array([r.retrieved or 0 for r in rows], np.int64),
        0,
        [r.title for r in rows],
        np.array([r.kind == "post" for r in rows]),
        frozenset(r.author for r in rows if r.bot and r.author),
    )
    lines = np.array([r.line for r in rows], np.int64)
    return _Columns(batch, batch.post * np.uint8(POST) | np.array(odd) * np.uint8(ODD), lines, long)


def _long(text: str) -> bool:
    return len(text.encode()) > WIDTH


def _usual(r: Row, thread: str) -> bool:
    """Whether it can be in a plain thread: named as Reddit names things, and saying where it is."""
    if r.kind == "post":
        return r.id[:3] == "t3_" and r.parent is None
    return r.id[:3] == "t1_" and thread[:3] == "t3_" and bool(r.parent)
