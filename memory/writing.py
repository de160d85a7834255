"""From a record to a segment: rows in the order of the arrays, the arrays, and what the corpus then holds in all."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from memory.record import MOVED, Record
from memory.segment import (
    COLUMNS,
    FIELDS,
    FILE,
    NUMBERED,
    PARTS,
    SHIFT,
    SPOKEN,
    UNKNOWN,
    Array,
    create,
    in_order,
    index,
    text_hash,
    words,
)
from memory.statements import each, one

CHUNK = 4096
_FIELDS, _COLUMNS = (len(names.split(", ")) for names in (FIELDS, COLUMNS))
_KINDS: dict[str, type] = {
    "time": np.int64, "score": np.int32, "author": np.int32, "place": np.int32, "thread": np.int32, "speaks": np.bool_,
}  # fmt: skip
_BITS = 256


@dataclass(frozen=True)
class Written:
    """A segment whose vectors are still to come. Aligned with its rows with words: `hashes` of their texts, and which
    are `fresh`, so that no older segment has them. `contents`: what the manifest says of the corpus with it."""

    folder: Path
    schema: str
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


def write(folder: Path, record: Record, base: Mapping[str, Any], progress: Callable[[int, int], None]) -> Written:
    """Writes what the record holds into `folder`. `base`: contents of the corpus before; {} where this is all of it."""
    sql, schema = record.sql, f"s{len(record.attached)}"
    sql.execute(f"attach ? as {schema}", (str(folder / FILE),))
    for pragma in ("journal_mode = off", "synchronous = off"):
        sql.execute(f"pragma {schema}.{pragma}")
    create(sql, schema)
    _number(record)
    for part in PARTS:
        sql.execute(f"insert into {schema}.{part} select * from main.{part}")
    arrays, hashes, fresh, digest = _rows(record, schema, not base, progress)
    index(sql, schema)
    sql.execute(f"insert into {schema}.mentions select who, m.row from unknown join {schema}.messages m using (id)")
    spoken = len(hashes)
    speaking = np.where(arrays["speaks"][:spoken], arrays["author"][:spoken], -1)
    _spans(record, schema, speaking)
    np.save(folder / "time.npy", arrays["time"][:spoken])
    row = len(record.attached) << SHIFT | np.arange(len(fresh))
    order = in_order(sql, arrays["time"], row)
    np.save(folder / "all_row.npy", order.astype(np.int32))
    for name, array in arrays.items():
        np.save(folder / f"all_{name}.npy", array[order])
    contents = _contents(record, base, digest, _new_counts(record, bool(base), fresh, speaking))
    return Written(folder, schema, hashes, fresh[:spoken], contents)


def message_hash(fields: tuple[Any, ...]) -> int:
    """Of all FIELDS of a message. The hash of a corpus is the sum of its messages': whatever their order, and what is
    changed is taken away and added."""
    return int.from_bytes(hashlib.sha256(repr(fields).encode(errors="surrogatepass")).digest(), "big")


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


def _rows(
    record: Record, schema: str, whole: bool, progress: Callable[[int, int], None]
) -> tuple[dict[str, Array], Array, Array, int]:
    """Writes the rows: columns of the arrays in the order of the rows; hashes of texts; fresh; the sum of the hashes of
    fresh messages."""
    sql = record.sql
    total = one(sql, "select count(*) from messages")
    arrays: dict[str, Array] = {name: np.empty(total, kind) for name, kind in _KINDS.items()}
    hashes, fresh, digest, spoken, at = np.empty(total, "S16"), np.empty(total, np.bool_), 0, 0, 0
    columns = ", ".join(f"m.{name}" for name in COLUMNS.split(", "))
    cursor = sql.execute(
        f"""select {columns}, {SPOKEN} as spoken, why != {MOVED}, p.code, t.code, coalesce(a.code, -1),
            coalesce(not a.bot, 0) as speaks
            from messages m left join here_authors a on a.name = m.author
            join here_places p on p.name = m.place join here_threads t on t.name = m.thread
            order by not spoken, not speaks, a.code, m.time, m.id"""
    )
    insert = f"insert into {schema}.messages values ({', '.join('?' * (_COLUMNS + 2))})"
    sql.execute("begin")
    while found := cursor.fetchmany(CHUNK):
        sql.executemany(insert, [(at + n, *f[: _COLUMNS + 1]) for n, f in enumerate(found)])
        part = slice(at, at + len(found))
        said, new, places, threads, authors, speaks = zip(*(f[_COLUMNS:] for f in found), strict=True)
        fresh[part] = True if whole else new
        arrays["time"][part] = [f[4] for f in found]
        arrays["score"][part] = [UNKNOWN if f[6] is None else f[6] for f in found]
        arrays["place"][part], arrays["thread"][part], arrays["author"][part] = places, threads, authors
        arrays["speaks"][part] = np.logical_and(speaks, said)
        texts = [text_hash(words(f[9], f[5])) for f, says in zip(found, said, strict=True) if says]
        hashes[spoken : spoken + len(texts)] = texts
        changed = (f[:_FIELDS] for f, counts in zip(found, fresh[part].tolist(), strict=True) if counts)
        digest += sum(map(message_hash, changed))
        spoken, at = spoken + len(texts), at + len(found)
        progress(at, total)
    sql.execute("commit")
    return arrays, hashes[:spoken], fresh, digest


def _spans(record: Record, schema: str, speaking: Array) -> None:
    """Where each person's rows are; nobody's, -1, are last."""
    edges = np.flatnonzero(np.diff(speaking, prepend=-2, append=-2))
    spans = [(int(speaking[a]), int(a), int(b)) for a, b in pairwise(edges) if speaking[a] >= 0]
    record.sql.executemany(f"insert into {schema}.spans values (?, ?, ?)", spans)


def _new_counts(record: Record, more: bool, fresh: Array, speaking: Array) -> Counter[str]:
    """By how much each count of the manifest changes; `more`: there was a corpus before."""
    sql, found = record.sql, Counter[str]()
    new = f"select count(*), sum({SPOKEN}), sum(id = thread) from messages where why != {MOVED} or not {int(more)}"
    old = "select count(*), sum(spoken), sum(id = thread) from old"
    for sign, query in ((1, new), (-1, old)):
        for name, number in zip(("messages", "with words", "threads"), sql.execute(query).fetchone(), strict=True):
            found[name] += sign * (number or 0)
    first = record.last if more else dict.fromkeys(NUMBERED, 0)
    for name, table in (("authors", "authors"), ("bots", "authors"), ("places", "places")):
        also = "and bot" if name == "bots" else ""
        found[name] = one(sql, f"select count(*) from main.{table} where code > ? {also}", first[table])
    who, times = np.unique(speaking[fresh[: len(speaking)]], return_counts=True)
    change = Counter(dict(zip(who.tolist(), times.tolist(), strict=True)))
    gone = """select (select code from every_authors e where e.name = old.author and not bot), count(*)
        from old where spoken group by old.author"""
    change.subtract(dict(sql.execute(gone)))
    for code, difference in change.items():
        if code is not None and code >= 0:
            before = _before(record, code) if more else 0
            found["people"] += (before + difference > 0) - (before > 0)
    return found


def _before(record: Record, author: int) -> int:
    """How many messages with words somebody had in the corpus as it was."""
    found = 0
    for s in record.attached:
        span = record.sql.execute(f"select start, stop from {s.schema}.spans where author = ?", (author,)).fetchone()
        found += s.count(*span) if span else 0
    return found


def _contents(record: Record, base: Mapping[str, Any], digest: int, change: Counter[str]) -> dict[str, Any]:
    gone = sum(message_hash(row) for row in record.sql.execute(f"select {FIELDS} from old"))
    total = (int(base["data_hash"], 16) if base else 0) + digest - gone
    names = ("messages", "with words", "people", "authors", "bots", "threads", "places")
    then = base["counts"] if base else {}
    counts = {name: then.get(name, 0) + change[name] for name in names}
    return {"data_hash": f"{total % 2**_BITS:0{_BITS // 4}x}", "counts": counts}
