"""Rows as they are read become rows of the record: names replaced, texts scrubbed, of two copies the newer one kept."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any

from memory import pseudonym
from memory.forgotten import Forgotten
from memory.names import Names
from memory.reading import Row, Tally

_BATCH = 2000
_INSERT = """
insert into messages(id, thread, parent, author, time, text, score, place, kind, title, retrieved,
                     said_thread, said_parent, said_time)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?2, ?3, ?5)
on conflict(id) do update set
    thread = excluded.thread, parent = excluded.parent, author = excluded.author, time = excluded.time,
    text = excluded.text, score = excluded.score, place = excluded.place, kind = excluded.kind, title = excluded.title,
    retrieved = excluded.retrieved,
    said_thread = excluded.said_thread, said_parent = excluded.said_parent, said_time = excluded.said_time
"""


class Adding:
    """What one import adds to a record."""

    def __init__(self, sql: sqlite3.Connection, names: Names, forgotten: Forgotten) -> None:
        self._sql, self._names, self._forgotten = sql, names, forgotten

    def add(self, rows: Iterable[Row], source: str, tally: Tally) -> None:
        """Upserts by id: of two rows the one retrieved later stays, the one read later where that is not known."""
        batch: list[Row] = []
        for row in rows:
            batch.append(row)
            if len(batch) == _BATCH:
                self._write(batch, source, tally)
                batch = []
        self._write(batch, source, tally)

    def _write(self, batch: list[Row], source: str, tally: Tally) -> None:
        there: dict[str, tuple[bool, int | None]] = {}  # id -> whether this import has it, and when it was retrieved
        for table in ("earlier", "messages"):
            query = (
                f"select id, retrieved from {table} where id in (select value from json_each(?)) and not placeholder"
            )
            found = self._sql.execute(query, (json.dumps([r.id for r in batch]),))
            there.update((id, (table == "messages", seen)) for id, seen in found)
        keep: dict[str, Row] = {}
        for row in batch:
            twice, seen = there.get(row.id, (False, None))
            newer = seen is None or row.retrieved is None or row.retrieved >= seen
            if twice:
                tally.note("dropped", "the same id twice: the newest is kept", f"{source}:{row.line}")
            elif not newer:
                tally.note("dropped", "an older copy of what the corpus has", f"{source}:{row.line}")
            if newer:
                keep[row.id] = row
            there[row.id] = (True, max(seen or 0, row.retrieved or 0) or None)
        self._sql.execute("begin")
        self._sql.executemany(_INSERT, [self._values(row) for row in keep.values()])
        self._sql.execute("commit")

    def _values(self, row: Row) -> tuple[Any, ...]:
        gone = self._forgotten and (self._forgotten.has(row.id) or (row.author or "") in self._forgotten)
        author = None if row.author is None or gone else self._names.person(row.author, row.bot)
        text = None if row.text is None or gone else pseudonym.scrub(row.text)
        title = "" if gone else pseudonym.scrub(row.title)
        place = self._names.place(row.place)
        if self._forgotten:  # before it is written: what stood in a file for a moment could stay in it
            clean = self._forgotten.cleaned
            text, title, place = text and clean(text), clean(title), clean(place)
        said = (row.id, row.thread, row.parent, author, row.time, text, row.score, place, row.kind, title)
        return (*said, row.retrieved)
