"""From a record to a segment: rows in the order of the arrays, the arrays, and what the corpus then holds in all.

SQLite sorts, and what is read of it goes to the files in pieces, so memory does not grow with what is written.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
from numpy.lib import format as npy

from memory.record import MOVED, Record
from memory.segment import (
    COLUMNS,
    FIELDS,
    FILE,
    NUMBERED,
    PARTS,
    SPOKEN,
    UNKNOWN,
    Array,
    create,
    index,
    text_hash,
    words,
)
from memory.statements import each, one

CHUNK = 4096
_FIELDS, _COLUMNS = (len(names.split(", ")) for names in (FIELDS, COLUMNS))
_KINDS: dict[str, type] = {
    "row": np.int32, "time": np.int64, "score": np.int32, "author": np.int32, "place": np.int32, "thread": np.int32,
    "speaks": np.bool_,
}  # fmt: skip
_BITS = 256
_PACK = msgspec.msgpack.Encoder().encode


@dataclass(frozen=True)
class Written:
    """A segment whose vectors are still to come, with `spoken` rows with words. Aligned with these: `hashes` of their
    texts, and which are `fresh`, so that no older segment has them. `contents`: what the manifest says of the corpus
    with it."""

    folder: Path
    schema: str
    spoken: int
    hashes: Array
    fresh: Array
    contents: dict[str, Any]

    def ids(self, record: Record) -> Iterator[str]:
        """Of the fresh rows."""
        query = f"select row, id from {self.schema}.messages where row < ? order by row"
        return (id for row, id in each(record.sql, query, len(self.fresh)) if self.fresh[row])

    def away(self, record: Record, again: Iterable[str]) -> list[str]:
        """Those messages that had words, or are in `again`, and have none now."""
        query = f"""select id from (select id from old where spoken union select value from json_each(?))
            where id not in (select id from {self.schema}.messages where spoken)"""
        return [id for (id,) in record.sql.execute(query, (json.dumps(list(again)),))]


def write(
    folder: Path,
    record: Record,
    base: Mapping[str, Any],
    progress: Callable[[int, int], None],
    *,
    hashed: bool = True,
) -> Written:
    """Writes what the record holds into `folder`. `base`: contents of the corpus before; {} where this is all of it.
    Not `hashed`: for an import without vectors, which has no use for the hashes of texts."""
    sql, schema = record.sql, f"s{len(record.attached)}"
    sql.execute(f"attach ? as {schema}", (str(folder / FILE),))
    for pragma in ("journal_mode = off", "synchronous = off"):
        sql.execute(f"pragma {schema}.{pragma}")
    create(sql, schema)
    _number(record)
    for part in PARTS:
        sql.execute(f"insert into {schema}.{part} select * from main.{part}")
    _sort(record, schema)
    index(sql, schema)
    sql.execute(f"insert into {schema}.mentions select who, m.row from unknown join {schema}.messages m using (id)")
    rows = _Rows(record, schema, bool(base), hashed)
    rows.read(folder, progress)
    _arrays(record, schema, folder, rows.total)
    contents = _contents(record, base, rows)
    return Written(folder, schema, rows.spoken, rows.hashes, rows.fresh, contents)


def message_hash(fields: tuple[Any, ...]) -> bytes:
    """32 bytes, of all FIELDS of a message. The hash of a corpus is the sum of its messages': whatever their order, and
    what is changed is taken away and added."""
    return hashlib.sha256(_PACK(fields)).digest()


def _number(record: Record) -> None:
    """here_authors, here_places, here_threads: name -> code of all that messages here name; new ones get one."""
    sql = record.sql
    for table, column in zip(NUMBERED, ("author", "place", "thread"), strict=True):
        sql.execute(f"create temp table here_{table}(name text primary key, code integer, bot integer) without rowid")
        sql.execute(f"insert into here_{table}(name) select distinct {column} from messages where {column} is not null")
        there = f"select {{}} from every_{table} e where e.name = here_{table}.name"
        if table == "authors":
            sql.execute(f"update here_authors set (code, bot) = ({there.format('code, bot')})")
        else:
            new = f"select name from here_{table} where not exists ({there.format('1')})"
            sql.execute(f"insert into main.{table}(name) {new}")
            sql.execute(f"update here_{table} set code = ({there.format('code')})")


def _sort(record: Record, schema: str) -> None:
    """The rows in their order; the first is number 0."""
    columns, sql = ", ".join(f"m.{name}" for name in COLUMNS.split(", ")), record.sql
    nobody, silent = 2**60, 2**61  # after every code
    sql.execute(f"insert into {schema}.messages values (-1, {', '.join('0' * (_COLUMNS + 1))})")  # counted on from here
    sql.execute(
        f"""insert into {schema}.messages select null, {columns}, {SPOKEN} as spoken
            from stated m left join here_authors a on a.name = m.author
            order by case when not spoken then {silent} when a.bot = 0 then a.code else {nobody} end, m.time, m.id"""
    )
    sql.execute(f"delete from {schema}.messages where row < 0")


class _Rows:
    """What is told by the rows in their order: `total` of them, `spoken` of these with words, `hashes` and `fresh` as
    Written has them, the `digest` of fresh ones, `counts`, and how many `said` something by code of the person."""

    def __init__(self, record: Record, schema: str, more: bool, hashed: bool) -> None:
        """`more`: there was a corpus before."""
        self._sql, self._schema, self.more, self._hashed = record.sql, schema, more, hashed
        self.total: int = one(self._sql, f"select coalesce(max(row), -1) + 1 from {schema}.messages")
        silent = f"select not spoken from {schema}.messages where row = ?"
        self.spoken = bisect_left(range(self.total), 1, key=lambda row: one(self._sql, silent, row))
        self.hashes = np.empty(self.spoken if hashed else 0, "S16")
        self.fresh = np.ones(self.spoken if hashed else 0, np.bool_)
        self.digest, self.counts, self.said = np.zeros(_BITS // 32, np.uint64), Counter[str](), Counter[int]()
        self._person, self._since = -1, 0

    def read(self, folder: Path, progress: Callable[[int, int], None]) -> None:
        """Reads them, and writes the times of those with words, and where each person's are."""
        new = f"(select why != {MOVED} from main.messages o where o.id = m.id)" if self.more else "1"
        query = f"""select {", ".join(f"m.{name}" for name in FIELDS.split(", "))}, {new},
            case when spoken and not bot then code else -1 end
            from {self._schema}.messages m left join here_authors a on a.name = m.author order by row"""
        with (folder / "time.npy").open("wb") as times, closing(self._sql.cursor()) as cursor:
            _head(times, np.int64, self.spoken)
            cursor.execute(query)
            self._sql.execute("begin")
            at = 0
            while found := cursor.fetchmany(CHUNK):
                self._chunk(at, found, times)
                at += len(found)
                progress(at, self.total)
            self._close(self.spoken)
        self._sql.execute("commit")

    def _chunk(self, at: int, found: list[tuple[Any, ...]], times: BinaryIO) -> None:
        with_words = found[: max(0, self.spoken - at)]
        times.write(np.array([f[4] for f in with_words], np.int64).tobytes())
        new = [f[:_FIELDS] for f in found if f[_FIELDS]]
        self.digest += _sum(map(message_hash, new))
        self.counts["messages"] += len(new)
        self.counts["threads"] += sum(f[0] == f[1] for f in new)
        fresh = np.array([f[_FIELDS] for f in with_words], np.bool_)
        self.counts["with words"] += int(fresh.sum())
        if self._hashed:
            self.fresh[at : at + len(fresh)] = fresh
            self.hashes[at : at + len(fresh)] = [text_hash(words(f[9], f[5])) for f in with_words]
        people = np.array([f[-1] for f in with_words], np.int64)
        if self.more:
            self.said.update(people[fresh & (people >= 0)].tolist())
        for edge in np.flatnonzero(np.diff(people, prepend=self._person)).tolist():
            self._close(at + edge)
            self._person, self._since = int(people[edge]), at + edge

    def _close(self, end: int) -> None:
        if self._person >= 0:
            insert = f"insert into {self._schema}.spans values (?, ?, ?)"
            self._sql.execute(insert, (self._person, self._since, end))
            self.counts["people"] += not self.more


def _arrays(record: Record, schema: str, folder: Path, total: int) -> None:
    """all_*.npy: every message by (time, id)."""
    query = f"""select row, time, coalesce(score, {UNKNOWN}), coalesce(a.code, -1), p.code, t.code,
        coalesce(spoken and not a.bot, 0)
        from {schema}.messages m left join here_authors a on a.name = m.author
        join here_places p on p.name = m.place join here_threads t on t.name = m.thread order by time, id"""
    with ExitStack() as stack:
        cursor = stack.enter_context(closing(record.sql.cursor()))
        files = [stack.enter_context((folder / f"all_{name}.npy").open("wb")) for name in _KINDS]
        for file, kind in zip(files, _KINDS.values(), strict=True):
            _head(file, kind, total)
        cursor.execute(query)
        while found := cursor.fetchmany(CHUNK):
            for file, kind, column in zip(files, _KINDS.values(), np.array(found, np.int64).T, strict=True):
                file.write(column.astype(kind).tobytes())


def _head(file: BinaryIO, kind: type, length: int) -> None:
    """The beginning of a .npy file; the numbers follow as they are."""
    descr = npy.dtype_to_descr(np.dtype(kind))
    npy.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": (length,)})


def _sum(hashes: Iterable[bytes]) -> Array:
    """uint64 (8,): the sums of each 4 bytes; 2**32 messages of them fit."""
    found: Array = np.frombuffer(b"".join(hashes), "<u4").reshape(-1, _BITS // 32).sum(0, dtype=np.uint64)
    return found


def _number_of(digest: Array) -> int:
    return sum(int(part) << 32 * n for n, part in enumerate(digest))


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
    gone_hash = _sum(message_hash(row) for row in sql.execute(f"select {FIELDS} from old"))
    total = (int(base["data_hash"], 16) if base else 0) + _number_of(rows.digest) - _number_of(gone_hash)
    names = ("messages", "with words", "people", "authors", "bots", "threads", "places")
    return {"data_hash": f"{total % 2**_BITS:0{_BITS // 4}x}", "counts": {name: counts[name] for name in names}}


def _places(record: Record) -> set[int]:
    """The codes of those that have messages."""
    found = {code for (code,) in record.sql.execute("select code from here_places")}
    gone = record.gone()
    for s in record.kept:
        alive = np.ones(len(s.all["row"]), bool)
        alive[s.dead] = alive[gone.get(s.number, [])] = False
        found |= set(np.flatnonzero(np.bincount(s.all["place"][alive[s.all["row"]]])).tolist())
    return found
