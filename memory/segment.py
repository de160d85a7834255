"""A segment: a folder of messages that is never changed once it is there. A corpus is a few of them, mostly one.

rows.npy                one record a message, in the order of the arrays: each person's words by (time, id), so that a
                        past is one piece of it; then words of nobody (bots, deleted accounts); then what has no words
words.bin               their titles and texts, in the order in which they came
by_id.npy, by_thread.npy   the rows ordered by id, and by (thread, time, id): searched by halves
threads.npy             the number of the thread of each of by_thread
time.npy, vectors.npy   of the rows with words
known_*.npy             hashes of texts, sorted, and the row of each in vectors.npy
all_*.npy               every message by (time, id): what anybody could have known by a moment
names.sqlite            what is counted by number (authors, places, threads) and what is said of few: who was forgotten,
                        who is named where, what a source says where the tree differs
dead-*.npy              rows of an older segment that count no more, because this one says otherwise
"""

from __future__ import annotations

import mmap
import sqlite3
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from memory.known import Known
from memory.shares import ordered
from memory.stored import NUMBERED, Array, Called, Stored, find, mapped, stored

FILE, WORDS = "names.sqlite", "words.bin"
ALL = {
    "row": np.int32, "time": np.int64, "score": np.int64, "author": np.int32, "place": np.int32, "thread": np.int32,
    "speaks": np.bool_, "post": np.bool_,
}  # fmt: skip
SHIFT = 40  # bits: a row of a corpus is the number of its segment << SHIFT | the row there

# Who and what is counted by a number in the arrays. Each is named in one segment only, the first that has it.
PARTS = (*NUMBERED, "forgotten", "forgotten_messages")
_PARTS = """
create table {db}.authors(
    code integer primary key autoincrement, name text not null unique, identity blob not null unique,
    bot integer not null);
create table {db}.places(code integer primary key autoincrement, name text not null unique);
create table {db}.threads(code integer primary key autoincrement, name text not null unique);
create table {db}.forgotten(who blob primary key, length integer not null) without rowid;
create table {db}.forgotten_messages(id text primary key) without rowid;
"""
_SAID = """
create table {db}.spans(author integer primary key, start integer not null, stop integer not null);
create table {db}.mentions(who integer, id text, primary key (who, id)) without rowid;
create table {db}.said(id text primary key, thread text, parent text, time integer not null) without rowid;
create index {db}.strays on said(thread);
"""

MAPPED = 1 << 31  # bytes of names: what is beside one comes with it from the disk


class Segment:
    """One of a corpus' state, opened for reading; `number` is its place there."""

    def __init__(self, folder: Path, number: int, dead: Array) -> None:
        self.folder, self.number, self.dead = folder, number, dead
        self.schema = f"s{number}"
        self._maps: list[mmap.mmap] = []
        # Everything is opened now: a later import removes the names of these files, not what is open.
        self.rows, self.by_id, self.by_thread = (self._array(name) for name in ("rows", "by_id", "by_thread"))
        self.threads = self._array("threads")
        self.time, self.vectors = self._array("time"), self._array("vectors")
        self.known = Known(self._array("known_hash"), self._array("known_row"), self.vectors)
        self.all = {name: self._array(f"all_{name}") for name in ALL}
        self.words = mapped(folder / WORDS)
        self._maps += [self.words] if isinstance(self.words, mmap.mmap) else []

    def _array(self, name: str) -> Array:
        # A plain array over the mapped file: a slice of a memmap costs ten times as much.
        held = np.load(self.folder / f"{name}.npy", mmap_mode="r")
        self._maps.append(held._mmap)
        return np.asarray(held)

    def release(self) -> None:
        """Gives back the memory of what was read of the files: it is read again where it is needed."""
        for held in self._maps:
            held.madvise(mmap.MADV_DONTNEED)

    @property
    def live(self) -> int:
        """How many of its rows count."""
        return len(self.rows) - len(self.dead)

    def gone(self, start: int, stop: int) -> Array:
        """Those rows from `start` to before `stop` that count no more."""
        first, last = np.searchsorted(self.dead, (start, stop))
        found: Array = self.dead[first:last]
        return found

    def count(self, start: int, stop: int) -> int:
        """How many of the rows from `start` to before `stop` count."""
        return stop - start - len(self.gone(start, stop))

    def living(self, rows: Array) -> Array:
        """Those of `rows` that count."""
        found: Array = rows[~self._gone(rows)] if len(self.dead) else rows
        return found

    def _gone(self, rows: Array) -> Array:
        """Whether each of `rows` counts no more; not for a segment without such."""
        found: Array = self.dead[np.minimum(np.searchsorted(self.dead, rows), len(self.dead) - 1)] == rows
        return found

    @cached_property
    def alive(self) -> Array:
        """bool, of all rows: whether each counts."""
        alive = np.ones(len(self.rows), np.bool_)
        alive[self.dead] = False
        return alive

    def said(self, records: Array) -> list[bytes]:
        """The words of these records of it."""
        ends = (records["start"] + records["size"]).tolist()
        return [self.words[start:end] for start, end in zip(records["start"].tolist(), ends, strict=True)]

    def find(self, ids: Array) -> Array:
        """The row of each of `ids` (bytes) that is here and counts, -1 for the others."""
        rows = find(self.rows, self.by_id, ids)
        if len(self.dead):
            rows[self._gone(rows)] = -1
        return rows

    def of_thread(self, code: int) -> Array:
        """Rows of the messages of a thread that count, by (time, id)."""
        start, stop = np.searchsorted(self.threads, (code, code + 1))
        found: Array = self.living(self.by_thread[start:stop])
        return found

    def read(self, rows: Array | list[int], called: Called) -> list[Stored]:
        """The messages in these rows, in the order given."""
        return stored(self.rows.take(rows), self.words, called)


def opened(corpus: Path, names: Sequence[str]) -> list[Segment]:
    """The segments of these names, oldest first, each with what the others have put right in it."""
    folders = [corpus / name for name in names]
    found = []
    for number, folder in enumerate(folders):
        files = [file for other in folders if (file := other / f"dead-{folder.name}.npy").exists()]
        dead = np.unique(np.concatenate([np.load(file) for file in files])) if files else np.empty(0, np.int64)
        found.append(Segment(folder, number, dead))
    return found


def attach(sql: sqlite3.Connection, segments: Sequence[Segment]) -> None:
    """Makes the names in `segments` readable in `sql`, which has to be opened with uri=True."""
    for segment in segments:
        uri = (segment.folder / FILE).resolve().as_uri()
        sql.execute(f"attach ? as {segment.schema}", (f"{uri}?mode=ro&immutable=1",))
        sql.execute(f"pragma {segment.schema}.mmap_size = {MAPPED}")


def create(sql: sqlite3.Connection, schema: str, *, parts: bool = False) -> None:
    """Makes the tables of a segment, or only its `parts`."""
    sql.executescript((_PARTS if parts else _PARTS + _SAID).format(db=schema))


def read(segments: Sequence[Segment], rows: Array | list[int], called: Called) -> list[Stored]:
    """The messages in these rows of a corpus, in their order."""
    rows = np.asarray(rows, np.int64)
    if len(segments) == 1 or not len(rows):
        return segments[0].read(rows, called) if len(rows) else []
    found: dict[int, Stored] = {}
    for number in np.unique(rows >> SHIFT).tolist():
        mine = rows[rows >> SHIFT == number]
        read = segments[number].read(mine & (1 << SHIFT) - 1, called)
        found.update(zip(mine.tolist(), read, strict=True))
    return [found[row] for row in rows.tolist()]


def of_thread(segments: Sequence[Segment], code: int) -> Array:
    """The rows of a corpus that a thread has, by (time, id)."""
    rows = [s.of_thread(code).astype(np.int64) | s.number << SHIFT for s in segments]
    if len(rows) == 1:
        return rows[0]
    found = np.concatenate(rows)
    times = [s.rows["time"][some & (1 << SHIFT) - 1] for s, some in zip(segments, rows, strict=True)]
    return found[in_order(segments, np.concatenate(times), found)]


def in_order(segments: Sequence[Segment], times: Array, rows: Array) -> Array:
    """Positions by (time, id) of `rows` of a corpus; ids are read only for messages of one and the same second."""

    def ids(some: Array) -> Array:
        wanted = rows[some]
        numbers, here = wanted >> SHIFT, wanted & (1 << SHIFT) - 1
        found = np.empty(len(some), f"S{max(s.rows.dtype['id'].itemsize for s in segments)}")
        for number in np.unique(numbers).tolist():
            found[numbers == number] = segments[number].rows["id"][here[numbers == number]]
        return found

    return ordered(ids, times)
