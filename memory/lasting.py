"""What a record has in its database, and in the segments that are written again, is put to the staged rows; and what is
said of few messages goes to the segment's names."""

from __future__ import annotations

import json
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.record import Record
from memory.segment import Segment
from memory.shares import pieces
from memory.staging import MOVED, Staged, fill
from memory.statements import each, one
from memory.stored import POST, SAID, STAND_IN, UNKNOWN
from memory.threads import COLUMNS
from memory.words import together

_BATCH = 2000


def gather(record: Record, schema: str) -> None:
    """All that is to be in the segment `schema`, whose tables of names are there."""
    bytes_ = ", ".join(f"length(cast(coalesce({name}, '') as blob))" for name in ("id", "thread", "parent"))
    longest = one(record.sql, f"select max(max({bytes_})) from messages") or 0
    record.staged.widen(max([longest, *(s.rows.dtype["id"].itemsize for s in record.moved)]))
    record.sql.execute(f"insert into {schema}.mentions select who, id from unknown")
    for s in record.moved:
        _move(record, s, schema)
    _mended(record, schema)


def _move(record: Record, s: Segment, schema: str) -> None:
    """The messages of a segment that still count."""
    alive = s.alive.copy()
    alive[record.gone().get(s.number, [])] = False
    gone = json.dumps([id.decode() for id in s.rows["id"][~alive].tolist()])
    for table, columns in (("mentions", "who, id"), ("said", "id, thread, parent, time")):
        kept = f"select {columns} from {s.schema}.{table} where id not in (select value from json_each(?))"
        record.sql.execute(f"insert or ignore into {schema}.{table} {kept}", (gone,))
    rows = np.flatnonzero(alive)
    for _, at in pieces(rows[np.argsort(s.rows["start"][rows], kind="stable")], _BATCH):
        found = s.rows.take(at)
        made = np.zeros(len(at), record.staged.kind)
        for name in found.dtype.names or ():
            made[name] = found[name]
        made["flags"] |= MOVED
        made["start"] = np.cumsum(found["size"]) - found["size"]
        record.staged.add(made, b"".join(s.said(found)))


def _mended(record: Record, schema: str) -> None:
    """The messages in the database."""
    sql = record.sql
    codes = dict(sql.execute("select name, code from every_authors where name in (select author from messages)"))
    strange = "select distinct thread from messages where thread not in (select name from every_threads)"
    sql.execute(f"insert into main.threads(name) {strange}")
    rows = each(sql, f"select {COLUMNS} from stated order by row")
    while part := list(islice(rows, _BATCH)):
        columns: dict[str, Any] = dict(zip(COLUMNS.split(", "), zip(*part, strict=True), strict=True))
        threads = record.earlier.threads({*columns["thread"]})
        made = _records(record.staged, columns)
        made["author"] = [-1 if name is None else codes[name] for name in columns["author"]]
        places = {name: record.adding.place(name) for name in {*columns["place"]}}
        made["place"] = [places[name] for name in columns["place"]]
        made["thread"] = [threads[name] for name in columns["thread"]]
        said = list(zip(columns["said_thread"], columns["said_parent"], columns["said_time"], strict=True))
        tree = zip(columns["thread"], columns["parent"], columns["time"], strict=True)
        other = [n for n, (meant, is_) in enumerate(zip(said, tree, strict=True)) if meant != is_]
        made["flags"][other] |= SAID
        values = ((columns["id"][n], *said[n]) for n in other)
        sql.executemany(f"insert or replace into {schema}.said values (?, ?, ?, ?)", values)
        record.staged.add(made, fill(made, *together(columns["title"], columns["text"])))


def _records(staged: Staged, columns: dict[str, Any]) -> NDArray[Any]:
    made = np.zeros(len(columns["id"]), staged.kind)
    made["id"] = [id.encode() for id in columns["id"]]
    made["thread_id"] = [thread.encode() for thread in columns["thread"]]
    made["parent"] = [(parent or "").encode() for parent in columns["parent"]]
    made["time"], made["retrieved"] = columns["time"], [moment or 0 for moment in columns["retrieved"]]
    made["score"] = [UNKNOWN if score is None else score for score in columns["score"]]
    post = np.array([kind == "post" for kind in columns["kind"]])
    stand_in = np.array(columns["placeholder"], np.bool_)
    made["flags"] = np.where(post, POST, 0) | np.where(stand_in, STAND_IN, 0)
    return made
