"""Earlier: the messages of a corpus that count, for an import that adds to it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from memory.segment import Segment
from memory.stored import SAID, SPOKEN, Array, Called, Stored

_BATCH = 4096
Told = tuple[Any, ...]  # number of the segment, row, all columns of a record's `old`


class Earlier:
    """In those `segments` that are not written again; `sql` has their names in views."""

    def __init__(self, sql: sqlite3.Connection, segments: Sequence[Segment]) -> None:
        self._sql, self.segments = sql, segments
        self._called = Called(sql, "every_")

    def __bool__(self) -> bool:
        return bool(self.segments)

    def has(self, ids: Array) -> Array:
        """bool, for each of `ids` (bytes)."""
        found = np.zeros(len(ids), np.bool_)
        for s in self.segments:
            found |= s.find(ids) >= 0
        return found

    def by_id(self, ids: Iterable[str]) -> Iterator[tuple[Segment, int, Stored]]:
        """Those that are here."""
        named = list(ids)
        for start in range(0, len(named), _BATCH):
            wanted = np.array([id.encode() for id in named[start : start + _BATCH]])
            for s in self.segments:
                rows = s.find(wanted)
                rows = rows[rows >= 0]
                yield from zip([s] * len(rows), rows.tolist(), s.read(rows, self._called), strict=True)

    def threads(self, names: Iterable[str]) -> dict[str, int]:
        """Name -> number of those that are known."""
        query = "select name, code from every_threads where name in (select value from json_each(?))"
        return dict(self._sql.execute(query, (json.dumps(list(names)),)))

    def of_threads(self, names: Iterable[str]) -> Iterator[Told]:
        """All messages of these threads, with what their sources said."""
        for code in self.threads(names).values():
            for s in self.segments:
                yield from self.told(s, s.of_thread(code))

    def told(self, s: Segment, rows: Array) -> Iterator[Told]:
        """The messages in these rows of a segment, with what their sources said."""
        read = s.read(rows, self._called)
        said = self._said(s, [m.id for m in read if m.flags & SAID])
        for row, m in zip(rows.tolist(), read, strict=True):
            meant = said.get(m.id, (m.thread, m.parent, m.time))
            yield s.number, row, *m[:10], *meant, m.retrieved, int(m.stand_in), int(m.flags & SPOKEN != 0)

    def _said(self, s: Segment, ids: list[str]) -> dict[str, tuple[str | None, str | None, int]]:
        if not ids:
            return {}
        query = f"select id, thread, parent, time from {s.schema}.said where id in (select value from json_each(?))"
        return {id: (thread, parent, time) for id, thread, parent, time in self._sql.execute(query, (json.dumps(ids),))}

    def strays(self, threads: Iterable[str]) -> Iterator[tuple[str, str]]:
        """(thread that the source says, thread where it hangs) of messages that belong to one of `threads` and are in
        another."""
        named = json.dumps(list(threads))
        for s in self.segments:
            query = f"select id, thread from {s.schema}.said where thread in (select value from json_each(?))"
            meant = dict(self._sql.execute(query, (named,)))
            for _, _, m in Earlier(self._sql, [s]).by_id(meant):
                if m.thread != meant[m.id]:
                    yield meant[m.id], m.thread
