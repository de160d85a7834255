"""Every thread of a record made a valid tree, from what the sources said of it; run again, it finds the same."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from memory import tree
from memory.reading import Tally
from memory.statements import change, each, one

_BATCH = 2000


class Threads:
    """Of one record; `number`: the import that mends them."""

    def __init__(self, sql: sqlite3.Connection, number: int) -> None:
        self._sql, self._import = sql, number

    def mend(self, tally: Tally) -> None:
        """Makes them trees. What has to be repaired is noted, by its id."""
        self._sql.execute("delete from messages where placeholder")
        self._sql.execute("update messages set thread = said_thread where thread is not said_thread")
        self._find_threads(tally)
        self._add_roots(tally)
        known = "select 1 from messages where id = ?"
        changes: list[tuple[str | None, int, str]] = []
        for thread, nodes in self._threads():
            ids = {n.id for n in nodes}
            absent = {n.parent for n in nodes if n.parent is not None and n.parent not in ids}
            elsewhere = frozenset(id for id in absent if one(self._sql, known, id))
            mended, fixes = tree.repair(thread, nodes, elsewhere)
            for fix in fixes:
                tally.note("repaired", fix.reason, fix.node.id)
            changes += [(n.parent, n.time, n.id) for n in mended]
            if len(changes) > _BATCH:
                self._store(changes)
                changes = []
        self._store(changes)
        self._sql.execute("delete from threads")
        self._sql.execute("""insert into threads(id, size)
            select thread, count(*) from messages group by thread order by min(time), thread""")
        self._sql.execute("delete from places")
        self._sql.execute("insert into places(name) select distinct place from messages order by place")
        self._sql.execute("create index by_thread on messages(thread, time, id)")

    def _store(self, changes: list[tuple[str | None, int, str]]) -> None:
        set_ = "update messages set parent = ?1, time = ?2 where id = ?3 and (parent is not ?1 or time != ?2)"
        change(self._sql, set_, changes)

    def _find_threads(self, tally: Tally) -> None:
        """Comments without link_id (or with a comment's) belong where their parent does; without one, nowhere."""
        wrong = "update messages set thread = null where thread in (select id from messages where kind != 'post')"
        self._sql.execute(wrong)
        lost: dict[str, str] = dict(self._sql.execute("select id, said_parent from messages where thread is null"))
        found: list[tuple[str, str]] = []
        thread_of: dict[str, str | None] = {}
        for id in lost:
            walk: list[str] = []
            here = id
            while here in lost and here not in thread_of:
                thread_of[here] = None  # until known; also ends a circle
                walk.append(here)
                here = lost[here]
            thread = (
                thread_of[here]
                if here in thread_of
                else one(self._sql, "select thread from messages where id = ?", here)
            )
            thread_of.update(dict.fromkeys(walk, thread))
        for id, at in thread_of.items():
            if at is None:
                tally.note("dropped", "no link_id, and its parent is not in the data", id)
            else:
                found.append((at, id))
        change(self._sql, "update messages set thread = ? where id = ?", found)
        self._sql.execute("delete from messages where thread is null")

    def _add_roots(self, tally: Tally) -> None:
        """A post without author or words for each thread whose own is not there, a second before its oldest comment."""
        query = """select thread, min(said_time) - 1, place from messages where thread not in
                   (select id from messages where kind = 'post') group by thread"""
        missing = self._sql.execute(query).fetchall()
        for thread, _, _ in missing:
            tally.note("repaired", "submission not in the data: an empty post stands for it", thread)
        insert = """insert into messages
            (id, thread, said_thread, time, said_time, place, kind, title, import, placeholder)
            values (?1, ?1, ?1, ?2, ?2, ?3, 'post', '', ?4, 1)"""
        change(self._sql, insert, [(*row, self._import) for row in missing])

    def _threads(self) -> Iterator[tuple[str, list[tree.Node]]]:
        here, nodes = None, list[tree.Node]()
        query = "select thread, id, said_parent, said_time from messages order by +thread, id"
        for thread, id, parent, time in each(self._sql, query):
            if thread != here:
                if here is not None:
                    yield here, nodes
                here, nodes = thread, []
            nodes.append(tree.Node(id, parent, time))
        if here is not None:
            yield here, nodes
