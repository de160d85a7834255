"""From a record to a segment: rows in the order of the arrays, the arrays, and what the corpus then holds in all.

What is sorted is sorted in shares, and what is read goes to the files in pieces, so memory does not grow with them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from memory import digest, lasting
from memory.digest import Digest
from memory.record import Record
from memory.segment import FILE, PARTS, WORDS, create
from memory.shares import MOST, Filed, ordered, pieces, shares
from memory.sorting import arrange, head
from memory.staging import MOVED, ODD
from memory.statements import one
from memory.stored import (
    POST,
    SAID,
    SPOKEN,
    STAND_IN,
    TEXT,
    Array,
    Called,
    Mapped,
    Stored,
    find,
    mapped,
    row_type,
    stored,
    text_hash,
    words,
)

CHUNK = 4096
_KEPT = POST | TEXT | SPOKEN | SAID | STAND_IN
_NOBODY, _SILENT, _GONE = 2**41, 2**42, 2**43  # in the order of rows, after every number of a person


@dataclass(frozen=True)
class Written:
    """A segment whose vectors are still to come, with `spoken` rows with words. Aligned with these: `hashes` of their
    texts, and which are `fresh`, so that no older segment has them. `contents`: what the manifest says of the corpus
    with it."""

    folder: Path
    rows: Array
    words: Mapped
    called: Called
    spoken: int
    hashes: Array
    fresh: Array
    contents: dict[str, Any]

    def ids(self) -> Iterator[str]:
        """Of the fresh rows."""
        return (id.decode() for _, part in pieces(np.flatnonzero(self.fresh)) for id in self.rows["id"][part].tolist())

    def read(self, rows: Array) -> list[Stored]:
        return stored(self.rows.take(rows), self.words, self.called)

    def away(self, record: Record, again: Iterable[str]) -> list[str]:
        """Those messages that had words, or are in `again`, and have none now."""
        had = dict.fromkeys([*(id for (id,) in record.sql.execute("select id from old where spoken")), *again])
        if not had:
            return []
        at = find(self.rows, np.load(self.folder / "by_id.npy", mmap_mode="r"), np.array([id.encode() for id in had]))
        return [id for id, row in zip(had, at.tolist(), strict=True) if not 0 <= row < self.spoken]


def write(
    folder: Path,
    record: Record,
    base: Mapping[str, Any],
    progress: Callable[[int, int], None],
    *,
    hashed: bool = True,
    most: int = MOST,
) -> Written:
    """Writes what the record holds into `folder`. `base`: contents of the corpus before; {} where this is all of it.
    Not `hashed`: for an import without vectors, which has no use for the hashes of texts. `most`: see shares()."""
    sql, schema = record.sql, f"s{len(record.attached)}"
    sql.execute(f"attach ? as {schema}", (str(folder / FILE),))
    for pragma in ("journal_mode = off", "synchronous = off"):
        sql.execute(f"pragma {schema}.{pragma}")
    create(sql, schema)
    lasting.gather(record, schema)
    for part in PARTS:
        sql.execute(f"insert into {schema}.{part} select * from main.{part}")
    rows = _Rows(record, schema, bool(base), hashed)
    rows.write(folder, progress, most)
    made = np.load(folder / "rows.npy", mmap_mode="r")
    arrange(folder, rows.heard, most)
    contents = _contents(record, base, rows)
    called, told = Called(sql, "every_"), mapped(folder / WORDS)
    return Written(folder, np.asarray(made), told, called, rows.spoken, rows.hashes, rows.fresh, contents)


class _Rows:
    """The rows on their way into the files: `spoken` of them have words, `heard` of these are of people. Of rows with
    words `hashes` and `fresh` as Written has them; of fresh rows the `digest` and `counts`; and how many messages each
    person `said`, by code."""

    def __init__(self, record: Record, schema: str, more: bool, hashed: bool) -> None:
        """`more`: there was a corpus before."""
        self._record, self._schema, self._more, self._hashed = record, schema, more, hashed
        self._keys, lengths = _keys(record)
        self.heard, self.spoken, self.total = lengths
        self.hashes = np.empty(self.spoken if hashed else 0, "S16")
        self.fresh = np.ones(self.spoken if hashed else 0, np.bool_)
        self.digest, self.counts, self.said = np.zeros(4, np.uint64), Counter[str](), Counter[int]()
        self._digest = Digest(Called(record.sql, "every_"))
        self._begun, self._at = list[tuple[int, int]](), 0  # who the rows are of now, and since which row

    def write(self, folder: Path, progress: Callable[[int, int], None], most: int) -> None:
        """Writes rows, words and times, and where each person's are."""
        kind = np.dtype(row_type(self._record.staged.kind["id"].itemsize))
        self._record.staged.hand_over(folder / WORDS)
        self._words = mapped(folder / WORDS)
        with (folder / "rows.npy").open("wb") as rows, (folder / "time.npy").open("wb") as times:
            head(rows, kind, self.total)
            head(times, np.dtype(np.int64), self.spoken)
            self._record.sql.execute("begin")
            for share in shares(self._keys, most):
                at = share[self._keys.all[share] < _GONE]
                found = self._record.staged.take(at)
                order = ordered(found["id"].__getitem__, self._keys.all[at], found["time"])
                for _, some in pieces(order, CHUNK):
                    self._chunk(found.take(some), kind, rows, times)
                    progress(self._at, self.total)
            self._keys.close()
            self._spans([(-1, self.heard)])
            self._record.sql.execute("commit")

    def _chunk(self, found: Array, kind: np.dtype[Any], rows: BinaryIO, times: BinaryIO) -> None:
        whole = found.view(np.uint8).reshape(len(found), found.itemsize)
        made = np.ascontiguousarray(whole[:, : kind.itemsize]).view(kind)[:, 0]
        made["flags"] &= _KEPT
        rows.write(made.view(np.uint8).tobytes())
        spoken = max(0, min(len(made), self.spoken - self._at))
        times.write(made["time"][:spoken].tobytes())
        self._tell(made, found["flags"] & MOVED == 0, found["numbers"], spoken)
        people = made["author"][: max(0, self.heard - self._at)]
        last = self._begun[-1][0] if self._begun else -1
        edges = np.flatnonzero(np.diff(people, prepend=np.int32(last)))
        self._spans(zip(people[edges].tolist(), (self._at + edges).tolist(), strict=True))
        self._at += len(made)

    def _tell(self, made: Array, fresh: Array, numbers: Array, spoken: int) -> None:
        new = made if fresh.all() else made[fresh]
        self.digest += self._digest.sum(new, numbers if fresh.all() else numbers[fresh])
        self.counts["messages"] += len(new)
        self.counts["threads"] += int(np.count_nonzero(new["flags"] & POST))
        self.counts["with words"] += int(np.count_nonzero(fresh[:spoken]))
        if self._hashed:
            part = slice(self._at, self._at + spoken)
            self.fresh[part] = fresh[:spoken]
            self.hashes[part] = self._text_hashes(made[:spoken])
        if self._more:
            people = made["author"][: max(0, self.heard - self._at)]
            self.said.update(people[fresh[: len(people)]].tolist())

    def _text_hashes(self, made: Array) -> list[bytes]:
        """As text_hash of what is embedded, which mostly is all the words."""
        found, sha256 = [], hashlib.sha256
        for start, size, title in zip(*(made[name].tolist() for name in ("start", "size", "title")), strict=True):
            said = self._words[start : start + size]
            if title or b">" in said:
                found.append(text_hash(words(said[:title].decode(), said[title:].decode())))
            else:
                found.append(sha256(said).digest()[:16])
        return found

    def _spans(self, begin: Iterable[tuple[int, int]]) -> None:
        """Notes the rows of each person but the last of those who `begin` somewhere."""
        self._begun += begin
        spans = [(person, start, stop) for (person, start), (_, stop) in pairwise(self._begun)]
        self._record.sql.executemany(f"insert into {self._schema}.spans values (?, ?, ?)", spans)
        self.counts["people"] += 0 if self._more else len(spans)
        del self._begun[:-1]


def _keys(record: Record) -> tuple[Filed, tuple[int, int, int]]:
    """What the staged rows are sorted by: people by number, then nobody's words and what has no words, by time; last
    what is not to be written. And how many are of people, have words, are to be written."""
    bots = [code for (code,) in record.sql.execute("select code from every_authors where bot")]
    counts = np.zeros(3, np.int64)

    def keys(part: Array) -> Array:
        flags, author = part["flags"], part["author"].astype(np.int64)
        found = np.where((author < 0) | np.isin(author, bots), _NOBODY + part["time"], author)
        found = np.where(flags & SPOKEN, found, _SILENT + part["time"])
        found = np.where(flags & ODD, _GONE, found)
        counts[:] += [np.count_nonzero(found < limit) for limit in (_NOBODY, _SILENT, _GONE)]
        return found

    made = Filed.of(record.staged.rows, record.folder / "staged.keys", record.staged.release, keys)
    heard, spoken, total = counts.tolist()
    return made, (heard, spoken, total)


def _before(record: Record, author: int) -> int:
    """How many messages with words somebody had in the corpus as it was."""
    found = 0
    for s in record.attached:
        span = record.sql.execute(f"select start, stop from {s.schema}.spans where author = ?", (author,)).fetchone()
        found += s.count(*span) if span else 0
    return found


def _contents(record: Record, base: Mapping[str, Any], rows: _Rows) -> dict[str, Any]:
    sql, more = record.sql, bool(base)
    counts = Counter(base["counts"]) if base else Counter()
    counts.update(rows.counts)
    old = "select count(*), coalesce(sum(spoken), 0), coalesce(sum(id = thread), 0) from old"
    counts.subtract(dict(zip(("messages", "with words", "threads"), sql.execute(old).fetchone(), strict=True)))
    for name, also in (("authors", ""), ("bots", "and bot")):
        new = f"select count(*) from main.authors where code > ? {also}"
        counts[name] += one(sql, new, record.last["authors"] if more else 0)
    gone = """select (select code from every_authors e where e.name = old.author and not bot), count(*)
        from old where spoken group by old.author"""
    rows.said.subtract({code: count for code, count in sql.execute(gone) if code is not None})
    for code, difference in rows.said.items():
        before = _before(record, code)
        counts["people"] += (before + difference > 0) - (before > 0)
    counts["places"] = len(_places(record))
    total = rows.digest + (digest.total_of(base["data_hash"]) if base else 0) - _gone_digest(record)
    names = ("messages", "with words", "people", "authors", "bots", "threads", "places")
    return {"data_hash": digest.text_of(total), "counts": {name: counts[name] for name in names}}


def _gone_digest(record: Record) -> Array:
    total, made = np.zeros(4, np.uint64), Digest(Called(record.sql, "every_"))
    for number, rows in record.gone().items():
        for _, part in pieces(np.array(rows), CHUNK):
            total += made.of(record.attached[number], part)
    return total


def _places(record: Record) -> set[int]:
    """The codes of those that have messages."""
    found, gone = set[int](), record.gone()
    for _, part in record.staged.parts():
        found |= set(np.unique(part["place"][part["flags"] & ODD == 0]).tolist())
    for s in record.kept:
        alive = s.alive.copy()
        alive[gone.get(s.number, [])] = False
        found |= set(np.flatnonzero(np.bincount(s.all["place"][alive[s.all["row"]]])).tolist())
    return found
