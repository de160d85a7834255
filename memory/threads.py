"""Every thread that an import touches, whole and made a valid tree, from what the sources said of it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator

from memory import tree
from memory.earlier import Earlier
from memory.reading import Tally
from memory.statements import change, each, one

_BATCH = 2000
FIELDS = "id, thread, parent, author, time, text, score, place, kind, title"
SAID = "said_thread, said_parent, said_time"  # as the source says; the tree may differ
COLUMNS = f"{FIELDS}, {SAID}, retrieved, placeholder"
STOOD_IN = "submission not in the data: an empty post stands for it"
LOST = "no link_id, and its parent is not in the data: import it with its parent, or after it"
_LOADED = 1  # see record.py
_COLUMNS = COLUMNS.replace("said_thread, said_parent, said_time, ", "")
_SAID = {"thread": "iif(kind = 'post', id, said_thread)", "parent": "said_parent", "time": "said_time"}
_AS_SAID = ", ".join(_SAID.get(name, name) for name in _COLUMNS.split(", "))
_KEEP = """said_thread = iif(said_time is null, thread, said_thread), said_parent = iif(said_time is null, parent,
    said_parent), said_time = coalesce(said_time, time)"""  # what the source says, before something else is written
_NAMED = "select thread from touched union select said_thread from old where said_thread is not null"  # as threads


class Threads:
    """Of one record."""

    def __init__(self, sql: sqlite3.Connection, earlier: Earlier) -> None:
        self._sql, self._earlier = sql, earlier

    def mend(self, tally: Tally) -> None:
        """Loads what the corpus has of them and makes them trees. What has to be repaired is noted, by its id."""
        lost = self._gather()
        gone = [id for id, thread in lost.items() if thread is None]
        for id in gone:
            tally.note("dropped", LOST, id)
        found = ((at, id) for id, at in lost.items() if at is not None)
        change(self._sql, f"update messages set {_KEEP}, thread = ? where id = ?", found)
        change(self._sql, "delete from messages where id = ?", ((id,) for id in gone))
        self._sql.execute("delete from messages where placeholder and id in (select id from old where placeholder)")
        self._add_roots(tally)
        changes: list[tuple[str | None, int, str]] = []
        for thread, nodes in self._odd():
            ids = {n.id for n in nodes}
            absent = {n.parent for n in nodes if n.parent is not None and n.parent not in ids}
            elsewhere = self._there(absent)
            mended, fixes = tree.repair(thread, nodes, elsewhere)
            for fix in fixes:
                tally.note("repaired", fix.reason, fix.node.id)
            changes += [(n.parent, n.time, n.id) for n in mended]
            if len(changes) > _BATCH:
                self._store(changes)
                changes = []
        self._store(changes)

    def _there(self, ids: Iterable[str]) -> frozenset[str]:
        """Those of `ids` that are in the corpus or in what is being mended."""
        named = list(ids)
        here = self._sql.execute(
            "select id from messages where id in (select value from json_each(?))", (json.dumps(named),)
        )
        return frozenset([*(id for (id,) in here), *(m.id for _, _, m in self._earlier.by_id(named))])

    def _store(self, changes: list[tuple[str | None, int, str]]) -> None:
        set_ = f"update messages set {_KEEP}, parent = ?1, time = ?2"
        change(self._sql, f"{set_} where id = ?3 and (parent is not ?1 or time != ?2)", changes)

    def _gather(self) -> dict[str, str | None]:
        """Loads threads until nothing outside bears on what is here; for comments whose source names no thread, or a
        comment as one, the thread where their parent is: None where there is none."""
        touch = "insert or ignore into touched(thread) values (?)"
        new = "select thread from touched where not loaded"
        if self._earlier:
            here, posts = (each(self._sql, f"select id from messages {only}") for only in ("", "where kind = 'post'"))
            change(self._sql, touch, {(m.thread,) for _, _, m in self._earlier.by_id(id for (id,) in here)})
            change(self._sql, touch, {(thread,) for _, thread in self._earlier.strays(id for (id,) in posts)})
        while True:
            loaded = self._earlier.of_threads([thread for (thread,) in self._sql.execute(new)])
            change(self._sql, f"insert into old values ({', '.join('?' * (len(COLUMNS.split(', ')) + 3))})", loaded)
            self._sql.execute(
                f"""insert or ignore into messages({_COLUMNS}, why)
                    select {_AS_SAID}, {_LOADED} from old where thread in ({new})"""
            )
            self._sql.execute("update touched set loaded = 1 where not loaded")
            lost = self._lost()
            found = {(thread,) for thread in lost.values() if thread is not None}
            if not change(self._sql, touch, found):
                return lost
            as_said = (
                "update messages set thread = said_thread, said_time = null where id = ? and said_time is not null"
            )
            change(self._sql, as_said, ((id,) for id in lost))

    def _lost(self) -> dict[str, str | None]:
        """id -> thread of the comments whose source names none, or a comment as one."""
        named = f"select id from messages where kind != 'post' and id in ({_NAMED})"
        wrong = [id for (id,) in self._sql.execute(named)]
        there = f"select thread from ({_NAMED}) where thread not in (select id from messages)"
        threads = (thread for (thread,) in self._sql.execute(there)) if self._earlier else ()
        wrong += [m.id for _, _, m in self._earlier.by_id(threads) if m.kind != "post"]
        if wrong:
            these = "select value from json_each(?)"
            self._sql.execute(
                f"update messages set {_KEEP}, thread = null where thread in ({these})", (json.dumps(wrong),)
            )
        lost: dict[str, str] = dict(self._sql.execute("select id, parent from messages where thread is null"))
        thread_of: dict[str, str | None] = {}
        for id in lost:
            walk: list[str] = []
            here = id
            while here in lost and here not in thread_of:
                thread_of[here] = None  # until known; also ends a circle
                walk.append(here)
                here = lost[here]
            thread = thread_of[here] if here in thread_of else self._thread(here)
            thread_of.update(dict.fromkeys(walk, thread))
        return thread_of

    def _thread(self, id: str | None) -> str | None:
        if id is None:
            return None
        found: str | None = one(self._sql, "select thread from messages where id = ?", id)
        return found or next((m.thread for _, _, m in self._earlier.by_id([id])), None)

    def _add_roots(self, tally: Tally) -> None:
        """A post without author or words for each thread whose own is not there, a second before its oldest comment."""
        post = "select 1 from messages p where p.id = named.thread and p.kind = 'post'"
        rootless = f"select thread from ({_NAMED}) named where not exists ({post})"
        self._sql.execute(f"create temp table rootless as {rootless}")
        if one(self._sql, "select count(*) from rootless"):
            self._sql.execute(
                f"""insert into messages(id, thread, time, place, kind, title, why, placeholder)
                    select thread, thread, min(time) - 1, min(place), 'post', '', {_LOADED}, 1 from messages
                    where thread in (select thread from rootless) group by thread"""
            )
        for (id,) in each(self._sql, "select id from rootless join messages on id = rootless.thread and placeholder"):
            tally.note("repaired", STOOD_IN, id)

    def _odd(self) -> Iterator[tuple[str, list[tree.Node]]]:
        """The threads that are not plainly trees: where all reply to something earlier in them, nothing is wrong."""
        self._sql.execute(
            """create temp table odd as select distinct thread from messages m
                where case when id = thread then parent is not null else not exists
                (select 1 from messages p where p.id = m.parent and p.thread = m.thread and p.time < m.time) end"""
        )
        if not one(self._sql, "select count(*) from odd"):
            return
        query = """select thread, id, said_parent, said_time from stated where thread in (select thread from odd)
            order by thread, id"""
        here, nodes = None, list[tree.Node]()
        for thread, id, parent, time in each(self._sql, query):
            if thread != here:
                if here is not None:
                    yield here, nodes
                here, nodes = thread, []
            nodes.append(tree.Node(id, parent, time))
        if here is not None:
            yield here, nodes
