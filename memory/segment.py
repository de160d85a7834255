"""A segment: a folder of messages that is never changed once it is there. A corpus is a few of them, mostly one.

messages.sqlite         one row a message, in the order of the arrays: each person's words by (time, id), so that a past
                        is one piece of the file; then words of nobody (bots, deleted accounts); then what has no words
time.npy, vectors.npy   of the rows with words
known_*.npy             hashes of texts, sorted, and the row of each in vectors.npy
all_*.npy               every message by (time, id): what anybody could have known by a moment
dead-*.npy              rows of an older segment that count no more, because this one says otherwise
"""

from __future__ import annotations

import hashlib
import mmap
import sqlite3
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.message import unquoted
from memory.recall import Vectors

FILE = "messages.sqlite"
FIELDS = "id, thread, parent, author, time, text, score, place, kind, title"
SAID = "said_thread, said_parent, said_time, retrieved, placeholder"  # as the source says; the tree may differ
COLUMNS = f"{FIELDS}, {SAID}"
SPOKEN = """case when title != '' then 1 when instr(text, '>') then own(text) != '' else coalesce(text, '') != '' end"""
ALL = ("row", "time", "score", "author", "place", "thread", "speaks")
UNKNOWN = -(2**31)  # in all_score
SHIFT = 40  # bits: a row of a corpus is the number of its segment << SHIFT | the row there

# Who and what is counted by a number in the arrays. Each is named in one segment only, the first that has it.
NUMBERED = ("authors", "places", "threads")
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
_MESSAGES = """
create table {db}.messages(
    row integer primary key, id text not null, thread text not null, parent text, author text, time integer not null,
    text text, score integer, place text not null, kind text not null, title text not null,
    said_thread text, said_parent text, said_time integer not null, retrieved integer, placeholder integer not null,
    spoken integer not null);
create table {db}.spans(author integer primary key, start integer not null, stop integer not null);
create table {db}.mentions(who integer, row integer, primary key (who, row)) without rowid;
"""
_INDEXES = """
create unique index {db}.by_id on messages(id);
create index {db}.by_thread on messages(thread);
create index {db}.posts on messages(time, id) where kind = 'post';
create index {db}.strays on messages(said_thread) where thread is not said_thread;
"""

MAPPED = 1 << 31  # bytes of a record: the rows beside one come with it from the disk

Array = NDArray[Any]


class Known:
    """Vectors by the hash of their text: the rows of `vectors`, read where they lie."""

    def __init__(self, hashes: Array, rows: Array, vectors: Array) -> None:
        self.hashes, self.rows, self.vectors = hashes, rows, vectors

    @staticmethod
    def of(hashes: Array, vectors: Array) -> Known:
        """`hashes` of each of the `vectors`, in any order; of equal ones the first counts."""
        known, first = np.unique(hashes, return_index=True)
        return Known(known, first, vectors)

    def get(self, key: bytes) -> Vectors | None:
        """float32 (d,), or None for a text that is not here."""
        [at] = self.places(np.array([key], "S16"))
        return None if at < 0 else np.asarray(self.vectors[at], np.float32)

    def places(self, keys: Array) -> Array:
        """For each of `keys` its row in the vectors, -1 where there is none."""
        if not len(self.hashes):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self.hashes, keys), len(self.hashes) - 1)
        return np.where(self.hashes[at] == keys, self.rows[at], -1)

    def fill(self, keys: Array, into: Array, at: Array) -> Array:
        """Copies the vectors of those `keys` that stand at the positions `at` and are here `into` the same positions;
        the positions of the others."""
        places = self.places(keys[at])
        here = places >= 0
        into[at[here]] = self.vectors[places[here]]
        return at[~here]


class Segment:
    """One of a corpus' state, opened for reading; `number` is its place there."""

    def __init__(self, folder: Path, number: int, dead: Array) -> None:
        self.folder, self.number, self.dead = folder, number, dead
        self.schema = f"s{number}"
        self._maps: list[mmap.mmap] = []
        # Everything is opened now: a later import removes the names of these files, not what is open.
        self.time, self.vectors = self._array("time"), self._array("vectors")
        self.known = Known(self._array("known_hash"), self._array("known_row"), self.vectors)
        self.all = {name: self._array(f"all_{name}") for name in ALL}

    def _array(self, name: str) -> Array:
        # A plain array over the mapped file: a slice of a memmap costs ten times as much.
        mapped = np.load(self.folder / f"{name}.npy", mmap_mode="r")
        self._maps.append(mapped._mmap)
        return np.asarray(mapped)

    def release(self) -> None:
        """Gives back the memory of what was read of the arrays: it is read again where it is needed."""
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)

    @property
    def live(self) -> int:
        """How many of its rows count."""
        return len(self.all["row"]) - len(self.dead)

    def gone(self, start: int, stop: int) -> Array:
        """Those rows from `start` to before `stop` that count no more."""
        first, last = np.searchsorted(self.dead, (start, stop))
        found: Array = self.dead[first:last]
        return found

    def count(self, start: int, stop: int) -> int:
        """How many of the rows from `start` to before `stop` count."""
        return stop - start - len(self.gone(start, stop))

    @cached_property
    def _alive(self) -> bytes:
        alive = np.ones(len(self.all["row"]), bool)
        alive[self.dead] = False
        return alive.tobytes()

    def alive(self, row: int) -> int:
        return self._alive[row]


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
    """Makes the `segments` readable on a connection, each as its schema; nothing is ever written beside them."""
    sql.execute("pragma temp_store = memory")
    sql.create_function("own", 1, unquoted, deterministic=True)
    for segment in segments:
        uri = (segment.folder / FILE).resolve().as_uri()
        sql.execute(f"attach ? as {segment.schema}", (f"{uri}?mode=ro&immutable=1",))
        sql.execute(f"pragma {segment.schema}.mmap_size = {MAPPED}")
        if len(segment.dead):
            sql.create_function(f"alive{segment.number}", 1, segment.alive, deterministic=True)


def live(segments: Sequence[Segment]) -> str:
    """The messages that count in the attached `segments`, as a select; found by an index wherever one of them would."""
    wanted = f"{COLUMNS}, spoken"
    arms = [
        f"select {s.number} as segment, row, {wanted} from {s.schema}.messages"
        + (f" where alive{s.number}(row)" if len(s.dead) else "")
        for s in segments
    ]
    nothing = ", ".join(f"null as {name}" for name in f"segment, row, {wanted}".split(", "))
    return " union all ".join(arms) or f"select {nothing} where 0"


def create(sql: sqlite3.Connection, schema: str, *, parts: bool = False) -> None:
    """Makes the tables of a segment, or only its `parts`."""
    sql.executescript((_PARTS if parts else _PARTS + _MESSAGES).format(db=schema))


def index(sql: sqlite3.Connection, schema: str) -> None:
    """Makes the indexes, once all rows are there."""
    sql.executescript(_INDEXES.format(db=schema))


def fetch(sql: sqlite3.Connection, rows: Array | list[int], columns: str) -> list[tuple[Any, ...]]:
    """`columns` of these rows of a corpus, in their order; rows that lie close together are read in one go."""
    found: dict[int, tuple[Any, ...]] = {}
    rows = np.asarray(rows, np.int64)
    for number in np.unique(rows >> SHIFT).tolist():
        base = number << SHIFT
        mine = rows[rows >> SHIFT == number] - base
        first, last = int(mine.min()), int(mine.max())
        query = f"select row, {columns} from s{number}.messages where row"
        if last - first < 2 * len(mine):
            read = sql.execute(f"{query} between ? and ?", (first, last))
        else:
            read = sql.execute(f"{query} in (select value from json_each(?))", (str(mine.tolist()),))
        found.update((base + row[0], row[1:]) for row in read)
    return [found[row] for row in rows.tolist()]


def in_order(sql: sqlite3.Connection, times: Array, rows: Array) -> Array:
    """Positions by (time, id); ids are read only for messages of one and the same second."""
    at = np.argsort(times, kind="stable")
    level = np.flatnonzero(times[at][1:] == times[at][:-1])
    if len(level):
        tied = np.union1d(level, level + 1)
        some = at[tied]
        ids = fetch(sql, rows[some], "id")
        by_id = sorted(range(len(some)), key=lambda n: (times[some[n]], ids[n]))
        at[tied] = some[by_id]
    return at


def text_hash(text: str) -> bytes:
    """16 bytes: the name of a text in every cache of vectors."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:16]


def words(title: str, text: str | None) -> str:
    """As Message.bare.words, for rows that never become a Message: what is embedded."""
    return "\n\n".join(part for part in (title, unquoted(text or "")) if part)
