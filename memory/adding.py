"""Rows as they are read become rows of the record: names replaced, texts scrubbed, of two copies the newer one kept."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np

from memory import pseudonym
from memory.forgotten import Forgotten
from memory.names import Names
from memory.reading import Row, Tally
from memory.statements import one

_BATCH = 2000
_FIELDS = "id, thread, parent, author, time, text, score, place, kind, title, retrieved, named"
_SAID = "said_thread, said_parent, said_time"
_INSERT = f"""insert or ignore into messages({_FIELDS}, row, {_SAID})
    values ({", ".join(f"?{n}" for n in range(1, 14))}, ?2, ?3, ?5)"""
_REPLACE = f"""update messages set ({_FIELDS}, {_SAID}) =
    ({", ".join(f"?{n}" for n in range(1, 13))}, ?2, ?3, ?5) where id = ?1"""


class Adding:
    """What one import adds to a record."""

    def __init__(self, sql: sqlite3.Connection, names: Names, forgotten: Forgotten) -> None:
        self._sql, self._names, self._forgotten = sql, names, forgotten

    def add(self, rows: Iterable[Row], source: str, tally: Tally) -> None:
        """Upserts by id: of two rows the one retrieved later stays, the one read later where that is not known."""
        rows = iter(rows)
        while batch := list(islice(rows, _BATCH)):
            self._write(self._newer(batch, source, tally), source, tally)

    def _newer(self, batch: list[Row], source: str, tally: Tally) -> list[Row]:
        """Those that are no older copies of what the corpus has."""
        seen = dict(self._sql.execute(_seen("earlier", "retrieved"), (json.dumps([r.id for r in batch]),)))
        if not seen:
            return batch
        newer = []
        for row in batch:
            if _older(row, seen.get(row.id)):
                tally.note("dropped", "an older copy of what the corpus has", f"{source}:{row.line}")
            else:
                newer.append(row)
        return newer

    def _write(self, batch: list[Row], source: str, tally: Tally) -> None:
        if not batch:
            return
        sql, values = self._sql, self._values(batch)
        first = (one(sql, "select max(row) from messages") or 0) + 1
        before = sql.total_changes
        sql.execute("begin")
        sql.executemany(_INSERT, [(*v, n) for n, v in enumerate(values, first)])
        if sql.total_changes - before < len(batch):
            self._twice(batch, values, first, source, tally)
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
            tally.note("dropped", "the same id twice: the newest is kept", f"{source}:{row.line}")
            if not _older(row, seen):
                self._sql.execute(_REPLACE, new)
            there[row.id] = held, max(seen or 0, row.retrieved or 0) or None

    def _values(self, batch: list[Row]) -> list[tuple[Any, ...]]:
        """_FIELDS of each."""
        places = [self._names.place(r.place) for r in batch]
        if self._forgotten:
            for row in batch:
                if self._forgotten.has(row.id) or (row.author or "") in self._forgotten:
                    row.author, row.text, row.title = None, None, ""
        authors = [None if r.author is None else self._names.person(r.author, r.bot) for r in batch]
        scrubbed, named = pseudonym.suspects([f"{r.title}\n{r.text or ''}" if r.title else r.text or "" for r in batch])
        for n in scrubbed.tolist():
            row = batch[n]
            row.text, row.title = row.text and pseudonym.scrub(row.text), pseudonym.scrub(row.title)
        if self._forgotten:  # before it is written: what stood in a file for a moment could stay in it
            clean = self._forgotten.cleaned
            for row in batch:
                row.text, row.title = row.text and clean(row.text), clean(row.title)
            places = [clean(place) for place in places]
        names = np.zeros(len(batch), np.int64)
        names[named] = 1
        return [
            (r.id, r.thread, r.parent, author, r.time, r.text, r.score, place, r.kind, r.title, r.retrieved, name)
            for r, author, place, name in zip(batch, authors, places, names.tolist(), strict=True)
        ]


def _older(row: Row, seen: int | None) -> bool:
    return seen is not None and row.retrieved is not None and row.retrieved < seen


def _seen(table: str, columns: str) -> str:
    return f"select id, {columns} from {table} where id in (select value from json_each(?)) and not placeholder"
