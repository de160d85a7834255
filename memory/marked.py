"""Rows of threads that are not plain, from the staged files into a record's tables: of two copies the newer one."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np

from memory.adding import Adding
from memory.copies import TWICE
from memory.earlier import Earlier
from memory.reading import Tally
from memory.staging import COPY, NAMED, ODD, Staged
from memory.stored import Called, Stored, stored

_BATCH = 2000
_TOGETHER = 40  # rows of one insert: a fifth faster than one by one
_FIELDS = "row, id, thread, parent, author, time, text, score, place, kind, title, retrieved, named"
_ROW = f"({', '.join('?' for _ in _FIELDS.split(', '))})"
_INSERT = f"insert or ignore into messages({_FIELDS}) values "
_REPLACE = f"update messages set ({_FIELDS.removeprefix('row, ')}) = {_ROW.replace('?, ', '', 1)} where id = ?"

Values = tuple[Any, ...]


def put(sql: sqlite3.Connection, staged: Staged, adding: Adding, earlier: Earlier, tally: Tally) -> None:
    """Upserts by id, in the order of reading: of two rows the one retrieved later stays, the one read later where that
    is not known. Notes each that is not the only one."""
    called = Called(sql, "every_")
    for start, part in staged.parts():
        found = np.flatnonzero((part["flags"] & ODD != 0) & (part["source"] != COPY))
        for at in range(0, len(found), _BATCH):
            here = start + found[at : at + _BATCH]
            _write(sql, _newer([*_rows(here, staged, adding, called)], earlier, tally), tally)


def _rows(here: Any, staged: Staged, adding: Adding, called: Called) -> Iterator[tuple[Values, str]]:
    """_FIELDS of each, and where it stood."""
    records = staged.rows.take(here)
    stood = zip(records["line"].tolist(), records["source"].tolist(), strict=True)
    read = stored(records, staged.words, called)
    for row, m, (line, source) in zip(here.tolist(), read, stood, strict=True):
        id, meant, parent = adding.long.get(row, (m.id, m.thread or None, m.parent))
        values = (
            row + 1, id, meant, parent, m.author, m.time, m.text, m.score, m.place, m.kind, m.title, m.retrieved,
            int(m.flags & NAMED != 0),
        )  # fmt: skip
        yield values, f"{adding.sources[source]}:{line}"


def _newer(batch: list[tuple[Values, str]], earlier: Earlier, tally: Tally) -> list[tuple[Values, str]]:
    """Those that are no older copies of what the corpus has."""
    if not earlier:
        return batch
    seen: dict[str, Stored] = {m.id: m for _, _, m in earlier.by_id([values[1] for values, _ in batch])}
    newer = []
    for values, where in batch:
        held = seen.get(values[1])
        if held is not None and not held.stand_in and _older(values, held.retrieved):
            tally.note("repaired", "an older copy of what the corpus has", where)
        else:
            newer.append((values, where))
    return newer


def _write(sql: sqlite3.Connection, batch: list[tuple[Values, str]], tally: Tally) -> None:
    if not batch:
        return
    sql.execute("begin")
    before = sql.total_changes
    for at in range(0, len(batch), _TOGETHER):
        some = batch[at : at + _TOGETHER]
        sql.execute(_INSERT + ", ".join([_ROW] * len(some)), list(chain.from_iterable(values for values, _ in some)))
    if sql.total_changes - before < len(batch):
        _twice(sql, batch, tally)
    threads = {values[2] for values, _ in batch}
    sql.executemany("insert or ignore into touched(thread) values (?)", [(t,) for t in threads if t is not None])
    sql.execute("commit")


def _twice(sql: sqlite3.Connection, batch: list[tuple[Values, str]], tally: Tally) -> None:
    """Rows that were passed over, for their id was there: the newest is to stay."""
    query = "select id, row, retrieved from messages where id in (select value from json_each(?)) and not placeholder"
    ids = json.dumps([values[1] for values, _ in batch])
    there = {id: (row, seen) for id, row, seen in sql.execute(query, (ids,))}
    for values, where in batch:
        row, id, seen = values[0], values[1], values[11]
        held, newest = there[id]
        if held == row:
            continue
        tally.note("repaired", TWICE, where)
        if not _older(values, newest):
            sql.execute(_REPLACE, (*values[1:], id))
        there[id] = held, max(newest or 0, seen or 0) or None


def _older(values: Values, seen: int | None) -> bool:
    return seen is not None and values[11] is not None and values[11] < seen
