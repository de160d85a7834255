"""messages.sqlite: the record of what was read, one row a message, and the tree made of it. Knows no vectors.

Each import writes the file of a new generation (a copy of the last one plus what is new), so it is written without a
journal, thrown away when it was not finished, and never changed once readers have it.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from memory import pseudonym, tree
from memory.forgotten import MARK, Forgotten
from memory.message import Message
from memory.reading import Row, Tally

FILE = "messages.sqlite"
FIELDS = "id, thread, parent, author, time, text, score, place, kind, title"
WORDS = "(title != '' or coalesce(text, '') != '')"
_BATCH = 2000
_CACHED = 200_000  # names looked up, kept in memory (about 40 MB)

_SCHEMA = """
create table messages(
    row integer primary key, id text not null unique, thread text, parent text, author text, time integer not null,
    text text, score integer, place text not null, kind text not null, title text not null,
    said_thread text, said_parent text, said_time integer not null,  -- as the source says; the tree may differ
    retrieved integer, import integer not null, placeholder integer not null default 0);
create table authors(
    author integer primary key, name text not null unique, identity blob not null unique,
    bot integer not null, start integer not null default 0, stop integer not null default 0);
create table places(place integer primary key, name text not null unique);
create table threads(thread integer primary key, id text not null unique, size integer not null);
"""
_INSERT = """
insert into messages(id, thread, parent, author, time, text, score, place, kind, title, retrieved,
                     import, said_thread, said_parent, said_time)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?2, ?3, ?5)
on conflict(id) do update set
    thread = excluded.thread, parent = excluded.parent, author = excluded.author, time = excluded.time,
    text = excluded.text, score = excluded.score, place = excluded.place, kind = excluded.kind, title = excluded.title,
    retrieved = excluded.retrieved, import = excluded.import, placeholder = 0,
    said_thread = excluded.said_thread, said_parent = excluded.said_parent, said_time = excluded.said_time
"""


def decode(row: tuple[Any, ...]) -> Message:
    """A row of FIELDS as a Message."""
    return Message(*row)


def reading(file: Path) -> sqlite3.Connection:
    """A finished file, opened read-only from any thread; nothing is written beside it."""
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)


class Record:
    """The file while it is being written, by one importer."""

    def __init__(self, file: Path, key: bytes | None, secret: bytes | None = None) -> None:
        """`key`: names become pseudonyms made with it; None keeps them. `secret`: hashes who was forgotten."""
        new = not file.exists()
        self.sql = sqlite3.connect(file, isolation_level=None)
        for pragma in ("journal_mode = off", "synchronous = off", "secure_delete = on", "cache_size = -65536"):
            self.sql.execute(f"pragma {pragma}")
        if new:
            self.sql.executescript(_SCHEMA)
        self.sql.execute("drop index if exists by_thread")  # sorted once at the end instead of kept sorted row by row
        self.key = key
        self.forgotten = Forgotten(self.sql, secret)
        self._import: int = self._one("select coalesce(max(import), 0) + 1 from messages")
        self._known: dict[str, str | None] = {}

    def _one(self, query: str, *values: Any) -> Any:
        found = self.sql.execute(query, values).fetchone()
        return None if found is None else found[0]

    def close(self) -> None:
        self.sql.close()

    # -- reading in

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
        query = """select id, import, retrieved from messages
                   where id in (select value from json_each(?)) and not placeholder"""
        there: dict[str, tuple[int, int | None]] = {
            id: (last, seen) for id, last, seen in self.sql.execute(query, (json.dumps([r.id for r in batch]),))
        }
        keep: dict[str, Row] = {}
        for row in batch:
            last, seen = there.get(row.id, (0, None))
            newer = seen is None or row.retrieved is None or row.retrieved >= seen
            if last == self._import:
                tally.note("dropped", "the same id twice: the newest is kept", f"{source}:{row.line}")
            elif not newer:
                tally.note("dropped", "an older copy of what the corpus has", f"{source}:{row.line}")
            if newer:
                keep[row.id] = row
            there[row.id] = (self._import, max(seen or 0, row.retrieved or 0) or None)
        self.sql.execute("begin")
        self.sql.executemany(_INSERT, [self._values(row) for row in keep.values()])
        self.sql.execute("commit")

    def _values(self, row: Row) -> tuple[Any, ...]:
        gone = self.forgotten and (self.forgotten.has(row.id) or (row.author or "") in self.forgotten)
        author = None if row.author is None or gone else self._person(row.author, row.bot)
        text = None if row.text is None or gone else pseudonym.scrub(row.text)
        title = "" if gone else pseudonym.scrub(row.title)
        place = self._place(row.place)
        if self.forgotten:  # before it is written: what stood in a file for a moment could stay in it
            clean = self.forgotten.cleaned
            text, title, place = text and clean(text), clean(title), clean(place)
        return (*row[:3], author, row.time, text, row.score, place, row.kind, title, row.retrieved, self._import)

    def _place(self, place: str) -> str:
        """A profile page, u_NAME, is called by a pseudonym like its owner."""
        if self.key is not None and place[:2] in ("u_", "U_"):
            place = "u_" + (self.known(place[2:]) or pseudonym.pseudonym(self._identity(place[2:])))
        return place

    # -- names

    def _identity(self, name: str) -> bytes:
        return name.casefold().encode(errors="replace") if self.key is None else pseudonym.digest(self.key, name)

    def known(self, name: str) -> str | None:
        """What an author of this corpus is called here; None for anybody else."""
        folded = name.casefold()
        if folded not in self._known:
            if len(self._known) > _CACHED:
                self._known.clear()
            self._known[folded] = self._one("select name from authors where identity = ?", self._identity(name))
        return self._known[folded]

    def _person(self, name: str, bot: bool = False) -> str:
        found = self.known(name)
        if found is None:
            identity = self._identity(name)
            found, length = name if self.key is None else pseudonym.pseudonym(identity), 8
            while self.key is not None and self._one("select 1 from authors where name = ?", found):
                length += 1
                found = pseudonym.pseudonym(identity, length)
            insert = "insert into authors(name, identity, bot) values (?, ?, ?)"
            self.sql.execute(insert, (found, identity, bot or pseudonym.is_bot(name)))
            self._known[name.casefold()] = found
        return found

    def rename(self) -> None:
        """Replaces people's names inside texts, once all authors are known. The names' bytes are overwritten."""
        if self.key is not None:
            self._replace(lambda text: pseudonym.mentions(text, self.known))

    def clean(self, name: str) -> int:
        """Replaces the names of who was forgotten, and `name`, in texts and places; in how many messages."""
        alone = re.compile(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", re.IGNORECASE)

        def cleaned(text: str) -> str:
            return self.forgotten.cleaned(alone.sub(MARK, text))

        places = [place for (place,) in self.sql.execute("select distinct place from messages")]
        moved = [(new, old) for old in places if (new := cleaned(old)) != old]
        self._change("update messages set place = ? where place = ?", moved)
        return self._replace(cleaned)

    def _replace(self, renamed: Callable[[str], str]) -> int:
        changes = (
            (new_title, new_text, row)
            for row, title, text in self._each("select row, title, text from messages")
            if ((new_title := renamed(title)), (new_text := text and renamed(text))) != (title, text)
        )
        return self._change("update messages set title = ?, text = ? where row = ?", changes)

    def kept(self) -> int:
        """Messages that are as this import brought them."""
        found: int = self._one("select count(*) from messages where import = ? and not placeholder", self._import)
        return found

    # -- the tree

    def mend(self, tally: Tally) -> None:
        """Makes every thread a valid tree, from what the sources said; run again, it finds the same."""
        self.sql.execute("delete from messages where placeholder")
        self.sql.execute("update messages set thread = said_thread where thread is not said_thread")
        self._find_threads(tally)
        self._add_roots(tally)
        known = "select 1 from messages where id = ?"
        changes: list[tuple[str | None, int, str]] = []
        for thread, nodes in self._threads():
            ids = {n.id for n in nodes}
            absent = {n.parent for n in nodes if n.parent is not None and n.parent not in ids}
            elsewhere = frozenset(id for id in absent if self._one(known, id))
            mended, fixes = tree.repair(thread, nodes, elsewhere)
            for fix in fixes:
                tally.note("repaired", fix.reason, fix.node.id)
            changes += [(n.parent, n.time, n.id) for n in mended]
            if len(changes) > _BATCH:
                self._store(changes)
                changes = []
        self._store(changes)
        self.sql.execute("delete from threads")
        self.sql.execute("""insert into threads(id, size)
            select thread, count(*) from messages group by thread order by min(time), thread""")
        self.sql.execute("delete from places")
        self.sql.execute("insert into places(name) select distinct place from messages order by place")
        self.sql.execute("create index by_thread on messages(thread, time, id)")

    def _store(self, changes: list[tuple[str | None, int, str]]) -> None:
        set_ = "update messages set parent = ?1, time = ?2 where id = ?3 and (parent is not ?1 or time != ?2)"
        self._change(set_, changes)

    def _find_threads(self, tally: Tally) -> None:
        """Comments without link_id (or with a comment's) belong where their parent does; without one, nowhere."""
        wrong = "update messages set thread = null where thread in (select id from messages where kind != 'post')"
        self.sql.execute(wrong)
        lost: dict[str, str] = dict(self.sql.execute("select id, said_parent from messages where thread is null"))
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
                thread_of[here] if here in thread_of else self._one("select thread from messages where id = ?", here)
            )
            thread_of.update(dict.fromkeys(walk, thread))
        for id, at in thread_of.items():
            if at is None:
                tally.note("dropped", "no link_id, and its parent is not in the data", id)
            else:
                found.append((at, id))
        self._change("update messages set thread = ? where id = ?", found)
        self.sql.execute("delete from messages where thread is null")

    def _add_roots(self, tally: Tally) -> None:
        """A post without author or words for each thread whose own is not there, a second before its oldest comment."""
        query = """select thread, min(said_time) - 1, place from messages where thread not in
                   (select id from messages where kind = 'post') group by thread"""
        missing = self.sql.execute(query).fetchall()
        for thread, _, _ in missing:
            tally.note("repaired", "submission not in the data: an empty post stands for it", thread)
        insert = """insert into messages
            (id, thread, said_thread, time, said_time, place, kind, title, import, placeholder)
            values (?1, ?1, ?1, ?2, ?2, ?3, 'post', '', ?4, 1)"""
        self._change(insert, [(*row, self._import) for row in missing])

    def _threads(self) -> Iterator[tuple[str, list[tree.Node]]]:
        here, nodes = None, list[tree.Node]()
        query = "select thread, id, said_parent, said_time from messages order by +thread, id"
        for thread, id, parent, time in self._each(query):
            if thread != here:
                if here is not None:
                    yield here, nodes
                here, nodes = thread, []
            nodes.append(tree.Node(id, parent, time))
        if here is not None:
            yield here, nodes

    # -- plumbing

    def _each(self, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """Rows of a query, on a cursor of its own, so that writes can go on between them."""
        with closing(self.sql.cursor()) as cursor:
            yield from cursor.execute(query, values)

    def _change(self, statement: str, values: Iterable[tuple[Any, ...]]) -> int:
        """How many rows it changed."""
        before = self.sql.total_changes
        self.sql.execute("begin")
        self.sql.executemany(statement, values)
        self.sql.execute("commit")
        return self.sql.total_changes - before
