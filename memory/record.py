"""An import in the making: files of what was read and of all in the corpus that it bears on. Knows no vectors.

Plain threads stay in the staged files; the others, and what the corpus has of them, are mended in a database. Both are
written without a journal and thrown away in the end; what becomes of them is a segment.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from memory import marked
from memory.adding import Adding
from memory.batch import Batch
from memory.earlier import Earlier
from memory.forgotten import MARK, Forgotten
from memory.hashing import text_numbers
from memory.mentions import mentions, replaced
from memory.names import Names
from memory.plain import Plain
from memory.reading import Row, Tally
from memory.segment import PARTS, Segment, attach, create
from memory.shares import pieces
from memory.staging import NAMED, ODD, WORDS, Staged
from memory.statements import change, each, one
from memory.stored import NUMBERED
from memory.threads import COLUMNS, STOOD_IN, Threads

STAGING = "import.sqlite"
READ, LOADED = 0, 1  # why a message is here: from a source, or out of the corpus
_BATCH = 2000
_CACHE = 8192  # kB, for each of the two files

_SCHEMA = """
create table messages(
    row integer primary key, id text not null unique, thread text, parent text, author text, time integer not null,
    text text, score integer, place text not null, kind text not null, title text not null,
    said_thread text, said_parent text, said_time integer,  -- all null where the tree has what the source says
    retrieved integer, placeholder integer not null default 0, why integer not null default 0,
    named integer not null default 1);  -- 0: no text of it can name anybody
create index nowhere on messages(id) where thread is null;
create view stated as select row, id, thread, parent, author, time, text, score, place, kind, title,
    iif(said_time is null, thread, said_thread) as said_thread,
    iif(said_time is null, parent, said_parent) as said_parent,
    coalesce(said_time, time) as said_time, retrieved, placeholder, why from messages;
create table old(  -- what the corpus has of the threads that are touched
    segment integer, row integer, id text, thread text, parent text, author text, time integer, text text,
    score integer, place text, kind text, title text, said_thread text, said_parent text, said_time integer,
    retrieved integer, placeholder integer, spoken integer, primary key (segment, row));
create table touched(thread text primary key, loaded integer not null default 0) without rowid;
create table unknown(  -- names in texts that are nobody's yet
    id text, who integer, primary key (id, who)) without rowid;
"""


class Record:
    """The file while it is being written, by one importer."""

    def __init__(
        self, file: Path, key: bytes | None, secret: bytes | None = None, segments: Sequence[Segment] = ()
    ) -> None:
        """`key`: names become pseudonyms made with it; None keeps them. `secret`: hashes who was forgotten.
        `segments`: the corpus so far."""
        self.folder = file.parent
        self.sql = sqlite3.connect(file, isolation_level=None, uri=True)
        for pragma in ("journal_mode = off", "synchronous = off", f"cache_size = -{_CACHE}"):
            self.sql.execute(f"pragma {pragma}")
        create(self.sql, "main", parts=True)
        self.sql.executescript(_SCHEMA)
        attach(self.sql, segments)
        self.staged = Staged(file.parent)
        self.sql.execute("pragma temp_store = file")  # sorting takes the cache's size in memory, and files beyond
        self.attached, self.kept, self.moved = list(segments), list(segments), list[Segment]()
        self.last: dict[str, int] = {}  # the codes given so far
        for table in NUMBERED:
            codes = (one(self.sql, f"select max(code) from {s.schema}.{table}") or 0 for s in segments)
            self.last[table] = max(codes, default=0)
            self.sql.execute("insert into sqlite_sequence(name, seq) values (?, ?)", (table, self.last[table]))
        self._views()
        self.key = key
        self.forgotten = Forgotten(self.sql, secret)
        self.names = Names(self.sql, key)
        self.adding = Adding(self.sql, self.names, self.forgotten, self.staged)
        self.plain = 0  # messages that are in plain threads

    def close(self) -> None:
        self.staged.close()
        self.sql.close()

    def _views(self) -> None:
        """every_...: what is here and in the segments that stay."""
        self.earlier = Earlier(self.sql, self.kept)
        for part in PARTS:
            arms = [f"select * from {schema}.{part}" for schema in ("main", *(s.schema for s in self.kept))]
            self.sql.execute(f"drop view if exists temp.every_{part}")
            self.sql.execute(f"create temp view every_{part} as {' union all '.join(arms)}")

    def add(self, rows: Iterable[Row | Batch], source: str) -> None:
        """Takes all of them as they come."""
        self.adding.add(rows, source)

    def mend(self, tally: Tally, again: Iterable[str] = ()) -> int:
        """Makes every thread that is touched a valid tree, from what the sources said; run again, it finds the same.
        `again`: ids of messages whose threads are looked at as well. How many messages are as the sources had them."""
        self._sort_out(tally)
        new = {identity for (identity,) in each(self.sql, "select identity from main.authors")} if self.kept else set()
        named, about = [*again], json.dumps([_who(identity) for identity in new])
        for s in self.kept:  # texts that name somebody who was not known then
            query = f"select id from {s.schema}.mentions where who in (select value from json_each(?))"
            named += [id for (id,) in self.sql.execute(query, (about,))]
        touched = {(m.thread,) for _, _, m in self.earlier.by_id(named)}
        change(self.sql, "insert or ignore into touched(thread) values (?)", touched)
        Threads(self.sql, self.earlier).mend(tally)
        query = f"select count(*) from messages where why = {READ} and not placeholder"
        found: int = self.plain + one(self.sql, query)
        return found

    def _sort_out(self, tally: Tally) -> None:
        """Marks the threads that are not plain, and takes their rows into the database."""
        names = self.sql.execute("select code from every_places order by name").fetchall()
        ranks = {code: rank for rank, (code,) in enumerate(names)}
        plain = Plain(self.staged, self.earlier, self.last["threads"] + 1, ranks, self.folder)
        plain.mark(self.adding.sources, tally)
        change(self.sql, "insert into main.threads(code, name) values (?, ?)", plain.names())
        marked.put(self.sql, self.staged, self.adding, self.earlier, tally)
        self.plain = sum(int(np.count_nonzero(part["flags"] & ODD == 0)) for _, part in self.staged.parts())
        for made in plain.stand_ins():
            for id in made["id"].tolist():
                tally.note("repaired", STOOD_IN, id.decode())
            self.staged.add(made, b"")

    def rename(self) -> None:
        """Replaces people's names inside texts, once all authors are known; names of nobody are noted, as hashes."""
        if self.key is None:
            return
        self._rename_plain()
        texts = each(self.sql, "select row, id, title, text from messages where named")
        while part := list(islice(texts, _BATCH)):
            said = [(words or "").encode() for _, _, *both in part for words in both]
            new = self._renamed([id for _, id, _, _ in part], said)
            changes = [(title.decode(), part[n][3] and text.decode(), part[n][0]) for n, title, text in new]
            change(self.sql, "update messages set title = ?, text = ? where row = ?", changes)

    def _rename_plain(self) -> None:
        for _, part in self.staged.parts():
            words = self.staged.words  # opened anew: parts() gives back the memory of what was read through it
            for _, rows in pieces(np.flatnonzero(part["flags"] & (NAMED | ODD) == NAMED), _BATCH):
                ids = [id.decode() for id in part["id"][rows].tolist()]
                said = list[bytes]()
                for start, size, title in part[["start", "size", "title"]][rows].tolist():
                    said += words[start : start + title], words[start + title : start + size]
                new = self._renamed(ids, said)
                at, both = rows[[n for n, _, _ in new]], [title + text for _, title, text in new]
                sizes, together = np.fromiter(map(len, both), np.int64, len(both)), b"".join(both)
                part["start"][at] = self.staged.say(together) + np.cumsum(sizes) - sizes
                part["size"][at], part["title"][at] = sizes, [len(title) for _, title, _ in new]
                part["numbers"][at, WORDS] = text_numbers(together, sizes)

    def _renamed(self, ids: Sequence[str], said: Sequence[bytes]) -> list[tuple[int, bytes, bytes]]:
        """(position in `ids`, title, text), ascending, where a name gives way to what its person is called; names that
        are nobody's are noted. `said`: title and text of each."""
        found = mentions(said)
        people = self.names.people({mention.name for mention in found})
        spans = dict[int, list[tuple[int, int, bytes]]]()
        unknown = set[tuple[str, int]]()
        for n, start, end, name in found:
            identity, called = people[name]
            if called is None:
                unknown.add((ids[n // 2], _who(identity)))
            else:
                spans.setdefault(n, []).append((start, end, called.encode()))
        change(self.sql, "insert or ignore into unknown values (?, ?)", unknown)
        new = {n: replaced(said[n], some) for n, some in spans.items()}
        both = ((n, 2 * n, 2 * n + 1) for n in sorted({n // 2 for n in spans}))
        return [(n, new.get(title, said[title]), new.get(text, said[text])) for n, title, text in both]

    def clean(self, name: str) -> int:
        """Replaces the names of who was forgotten, and `name`, in texts and places; in how many messages."""
        alone = re.compile(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", re.IGNORECASE)

        def cleaned(text: str) -> str:
            return self.forgotten.cleaned(alone.sub(MARK, text))

        places = [place for (place,) in self.sql.execute("select distinct place from messages")]
        moved = [(new, old) for old in places if (new := cleaned(old)) != old]
        change(self.sql, "update messages set place = ? where place = ?", moved)
        return self._replace(cleaned)

    def _replace(self, renamed: Callable[[str], str]) -> int:
        changes = (
            (new_title, new_text, row)
            for row, title, text in each(self.sql, "select row, title, text from messages")
            if ((new_title := renamed(title)), (new_text := text and renamed(text))) != (title, text)
        )
        return change(self.sql, "update messages set title = ?, text = ? where row = ?", changes)

    # -- what becomes a segment

    def settle(self, again: Iterable[str] = ()) -> int:
        """Leaves alone what came out as the corpus has it, but for `again`; how many messages are to be written or to
        be taken away. What stays in `old` counts no more from now on."""
        now, then = (", ".join(f"{t}.{name}" for name in COLUMNS.split(", ")) for t in ("m", "o"))
        self.sql.execute(
            f"""create temp table same as select o.id from old o join stated m on m.id = o.id
                where ({now}) is ({then}) and m.id not in (select value from json_each(?))""",
            (json.dumps(list(again)),),
        )
        for table in ("messages", "old"):
            self.sql.execute(f"delete from {table} where id in (select id from same)")
        self.sql.execute("drop table same")
        found: int = one(self.sql, "select (select count(*) from messages) + (select count(*) from old)")
        return found

    def gone(self) -> dict[int, list[int]]:
        """Number of a segment -> its rows, ascending, that count no more."""
        found: dict[int, list[int]] = {}
        for number, row in self.sql.execute("select segment, row from old order by segment, row"):
            found.setdefault(number, []).append(row)
        return found

    def unsaid(self) -> dict[int, list[int]]:
        """Those of `gone` with words that are no longer what their message says, or that nobody says any more."""
        found: dict[int, list[int]] = {}
        query = """select segment, old.row from old left join messages m on m.id = old.id
            where (old.text is not null or old.title != '') and (old.text, old.title) is not (m.text, m.title)"""
        for number, row in self.sql.execute(query):
            found.setdefault(number, []).append(row)
        return found

    def move(self, segments: Sequence[Segment]) -> None:
        """These are to be written again with what is new: their names come here, their messages when all is written."""
        self.kept = [s for s in self.kept if s not in segments]
        self.moved += segments
        self._views()
        self._take_names(segments)

    def _take_names(self, segments: Sequence[Segment]) -> None:
        for s in segments:
            for part in PARTS:
                self.sql.execute(f"insert into main.{part} select * from {s.schema}.{part}")

    def load(self, segments: Sequence[Segment]) -> None:
        """Takes all messages of these into the database, to be changed there; they are written again as new."""
        columns = f"{COLUMNS}, why"
        insert = f"insert into messages({columns}) values ({', '.join('?' * len(columns.split(', ')))})"
        for s in segments:
            self.sql.execute(f"insert or ignore into unknown select id, who from {s.schema}.mentions")
            for _, rows in pieces(np.flatnonzero(s.alive), _BATCH):
                change(self.sql, insert, ((*told[2:-1], LOADED) for told in Earlier(self.sql, [s]).told(s, rows)))
        self.kept = [s for s in self.kept if s not in segments]
        self._take_names(segments)
        self._views()


def _who(identity: bytes) -> int:
    """A person in the list of who is named in texts: 8 bytes of the keyed hash; a chance likeness does no harm."""
    return int.from_bytes(identity[:8], "big", signed=True)
