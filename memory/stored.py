"""Stored: a message as a segment keeps it, a record of fixed length beside its words; how it is read and found."""

from __future__ import annotations

import hashlib
import mmap
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.message import unquoted

WIDTH = 24  # bytes of an id, unless a longer one is there
UNKNOWN = -(2**63)  # a score that the source does not say
POST, TEXT, SPOKEN, SAID, STAND_IN = 1, 2, 4, 8, 16  # flags of a row: a post; has a text; has words of its own; the
# source says other than the tree; stands for a post that is not in the data

NUMBERED = ("authors", "places", "threads")

Array = NDArray[Any]
Mapped = mmap.mmap | bytes


def row_type(width: int = WIDTH) -> list[tuple[str, Any]]:
    """Of rows.npy: ids up to `width` bytes, codes, UTC seconds, and where the words begin, their bytes in all and those
    of the title."""
    return [
        ("id", f"S{width}"), ("parent", f"S{width}"), ("thread_id", f"S{width}"), ("thread", "i4"), ("author", "i4"),
        ("place", "i4"), ("time", "i8"), ("score", "i8"), ("retrieved", "i8"), ("start", "i8"), ("size", "i4"),
        ("title", "i4"), ("flags", "u1"),
    ]  # fmt: skip


class Stored(NamedTuple):
    """A message as it is kept: the first ten as a Message has them; `retrieved`: None where nobody knows."""

    id: str
    thread: str
    parent: str | None
    author: str | None
    time: int
    text: str | None
    score: int | None
    place: str
    kind: Any
    title: str
    retrieved: int | None
    flags: int

    @property
    def stand_in(self) -> bool:
        """Whether it stands for a post that is not in the data."""
        return self.flags & STAND_IN != 0


_CALLED = 200_000  # names kept in memory


class Called:
    """What authors, places and threads are called, by their numbers: looked up in `sql`, in tables with `before` their
    names, and kept."""

    def __init__(self, sql: sqlite3.Connection, before: str = "") -> None:
        self._sql, self._before = sql, before
        self._names: dict[str, dict[int, str]] = {table: {} for table in NUMBERED}

    def __call__(self, table: str, codes: Iterable[int]) -> dict[int, str]:
        """At least those of `codes`, and none for -1."""
        names = self._names[table]
        new = [code for code in {*codes} if code >= 0 and code not in names]
        if new:
            if len(names) > _CALLED:
                names.clear()
                return self(table, codes)
            query = f"select code, name from {self._before}{table} where code in (select value from json_each(?))"
            names.update(self._sql.execute(query, (str(new),)))
        return names


def mapped(file: Path) -> Mapped:
    """The bytes of a file, read where they lie."""
    with file.open("rb") as opened:
        return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) if opened.seek(0, 2) else b""


def find(rows: Array, by_id: Array, ids: Array) -> Array:
    """The place in `rows` of each of `ids` (bytes), -1 for those that are not there; `by_id` orders them."""
    low, high = np.zeros(len(ids), np.int64), np.full(len(ids), len(by_id))
    if not len(by_id):
        return low - 1
    named, last = rows["id"], len(by_id) - 1
    while (searched := low < high).any():
        middle = (low + high) // 2
        less = named[by_id[np.minimum(middle, last)]] < ids
        low, high = np.where(searched & less, middle + 1, low), np.where(searched & ~less, middle, high)
    found = by_id[np.minimum(low, last)].astype(np.int64)
    placed: Array = np.where(named[found] == ids, found, -1)
    return placed


def stored(records: Array, words: Mapped, called: Called) -> list[Stored]:
    """The messages of these records, whose words are in `words`."""
    found = records.tolist()
    authors = called("authors", {row[4] for row in found})
    places = called("places", {row[5] for row in found})
    return [
        Stored(
            id.decode(),
            thread.decode(),
            parent.decode() or None,
            authors[author] if author >= 0 else None,
            time,
            words[start + title : start + size].decode() if flags & TEXT else None,
            None if score == UNKNOWN else score,
            places[place],
            "post" if flags & POST else "comment",
            words[start : start + title].decode() if title else "",
            retrieved or None,
            flags,
        )
        for id, parent, thread, _, author, place, time, score, retrieved, start, size, title, flags, *_ in found
    ]


def text_hash(text: str) -> bytes:
    """16 bytes: the name of a text in every cache of vectors."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:16]


def words(title: str, text: str | None) -> str:
    """As Message.bare.words, for rows that never become a Message: what is embedded."""
    return "\n\n".join(part for part in (title, unquoted(text or "")) if part)
