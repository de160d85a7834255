"""messages.sqlite: the record of what was read, one row a message. Knows no vectors.

Each import writes the file of a new generation (a copy of the last one plus what is new), so it is written without a
journal, thrown away when it was not finished, and never changed once readers have it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from memory import pseudonym
from memory.adding import Adding
from memory.forgotten import MARK, Forgotten
from memory.message import Message
from memory.names import Names
from memory.reading import Row, Tally
from memory.statements import change, each, one
from memory.threads import Threads

FILE = "messages.sqlite"
FIELDS = "id, thread, parent, author, time, text, score, place, kind, title"
WORDS = "(title != '' or coalesce(text, '') != '')"

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
        self._import: int = one(self.sql, "select coalesce(max(import), 0) + 1 from messages")
        self.names = Names(self.sql, key)
        self._adding = Adding(self.sql, self.names, self.forgotten, self._import)

    def close(self) -> None:
        self.sql.close()

    def add(self, rows: Iterable[Row], source: str, tally: Tally) -> None:
        """Upserts by id: of two rows the one retrieved later stays, the one read later where that is not known."""
        self._adding.add(rows, source, tally)

    def mend(self, tally: Tally) -> None:
        """Makes every thread a valid tree, from what the sources said; run again, it finds the same."""
        Threads(self.sql, self._import).mend(tally)

    def kept(self) -> int:
        """Messages that are as this import brought them."""
        query = "select count(*) from messages where import = ? and not placeholder"
        found: int = one(self.sql, query, self._import)
        return found

    def rename(self) -> None:
        """Replaces people's names inside texts, once all authors are known. The names' bytes are overwritten."""
        if self.key is not None:
            self._replace(lambda text: pseudonym.mentions(text, self.names.known))

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
