"""Rows as they are read become rows of the record: names replaced, texts scrubbed, of two copies the newer one kept."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from itertools import chain, islice
from typing import Any

import numpy as np

from memory import pseudonym
from memory.forgotten import Forgotten
from memory.names import Names
from memory.reading import Row, Tally
from memory.statements import one

_BATCH = 2000
_TOGETHER = 40  # rows of one insert: a fifth faster than one by one
_FIELDS = "row, id, thread, parent, author, time, text, score, place, kind, title, retrieved, named"
_ROW = f"({', '.join('?' for _ in _FIELDS.split(', '))})"
_INSERT = f"insert or ignore into messages({_FIELDS}) values "
_REPLACE = f"update messages set ({_FIELDS.removeprefix('row, ')}) = {_ROW.replace('?, ', '', 1)} where id = ?"


class Adding:
    """What one import adds to a record; `more`: there is a corpus already."""

    def __init__(self, sql: sqlite3.Connection, names: Names, forgotten: Forgotten, more: bool) -> None:
        self._sql, self._names, self._forgotten, self._more = sql, names, forgotten, more

    def add(self, rows: Iterable[Row], source: str, tally: Tally) -> None:
        """Upserts by id: of two rows the one retrieved later stays, the one read later where that is not known."""
        rows = iter(rows)
        while batch := list(islice(rows, _BATCH)):
            self._write(self._newer(batch, source, tally), source, tally)

    def _newer(self, batch: list[Row], source: str, tally: Tally) -> list[Row]:
        """Those that are no older copies of what the corpus has."""
        if not self._more:
            return batch
        seen = dict(self._sql.execute(_seen("earlier", "retrieved"), (json.dumps([r.id for r in batch]),)))
        newer = []
        for row in batch:
            if _older(row, seen.get(row.id)):
                tally.note("repaired", "an older copy of what the corpus has", f"{source}:{row.line}")
            else:
                newer.append(row)
        return newer

    def _write(self, batch: list[Row], source: str, tally: Tally) -> None:
        if not batch:
            return
        sql = self._sql
        sql.execute("begin")
        first = (one(sql, "select max(row) from messages") or 0) + 1
        values = self._values(batch, first)
        before = sql.total_changes
        for at in range(0, len(values), _TOGETHER):
            some = values[at : at + _TOGETHER]
            sql.execute(_INSERT + ", ".join([_ROW] * len(some)), list(chain.from_iterable(some)))
        if sql.total_changes - before < len(batch):
            self._twice(batch, values, first, source, tally)
        threads = {r.thread for r in batch}
        sql.executemany("insert or ignore into touched(thread) values (?)", [(t,) for t in threads if t is not None])
        sql.execute("commit")

    def _twice(self, batch: list[Row], values: list[tuple[Any, ...]], first: int, source: str, tally: Tally) -> None:
        """Rows that were passed over, for their id was there: the newest is to stay."""
        there = {
            id: (row, seen)
            for id, row, seen in self._sql.execute(
                _seen("messages", "row, retrieved"), (json.dumps([r.id for r in batch]),)
            )
        }
        for n, (row, new) in enumerate(zip(batch, values, strict=True), first):
            held, seen = there[row.id]
            if held == n:
                continue
            tally.note("repaired", "the same id twice: the newest is kept", f"{source}:{row.line}")
            if not _older(row, seen):
                self._sql.execute(_REPLACE, (*new[1:], row.id))
            there[row.id] = held, max(seen or 0, row.retrieved or 0) or None

    def _values(self, batch: list[Row], first: int) -> list[tuple[Any, ...]]:
        """_FIELDS of each; `first`: the row of the first."""
        if self._forgotten:
            for row in batch:
                if self._forgotten.has(row.id) or (row.author or "") in self._forgotten:
                    row.author, row.text, row.title = None, None, ""
        bots = {r.author for r in batch if r.bot}
        person: dict[str | None, str | None] = {None: None}
        person |= {a: self._names.person(a, a in bots) for a in dict.fromkeys(r.author for r in batch) if a is not None}
        place = {name: self._names.place(name) for name in {r.place for r in batch}}
        scrubbed, naming = pseudonym.suspects(
            [f"{r.title}\n{r.text or ''}" if r.title else r.text or "" for r in batch]
        )
        for n in scrubbed.tolist():
            row = batch[n]
            row.text, row.title = row.text and pseudonym.scrub(row.text), pseudonym.scrub(row.title)
        if self._forgotten:  # before it is written: what stood in a file for a moment could stay in it
            clean = self._forgotten.cleaned
            for row in batch:
                row.text, row.title = row.text and clean(row.text), clean(row.title)
            place = {name: clean(called) for name, called in place.items()}
        named = np.zeros(len(batch), np.int64)
        named[naming] = 1
        return [
            (
                n,
                r.id,
                r.id if r.kind == "post" else r.thread,
                r.parent,
                person[r.author],
                r.time,
                r.text,
                r.score,
                place[r.place],
                r.kind,
                r.title,
                r.retrieved,
                name,
            )
            for n, (r, name) in enumerate(zip(batch, named.tolist(), strict=True), first)
        ]


def _older(row: Row, seen: int | None) -> bool:
    return seen is not None and row.retrieved is not None and row.retrieved < seen


def _seen(table: str, columns: str) -> str:
    return f"select id, {columns} from {table} where id in (select value from json_each(?)) and not placeholder"
