"""Corpus: an imported folder, read lazily and never changed; a reader keeps the state it opened."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from memory.errors import Missing, UnknownName
from memory.generation import UNKNOWN, read_manifest
from memory.message import Message, Thread
from memory.record import FIELDS, FILE, decode, reading

_ALL = tuple(f"all_{name}" for name in ("row", "time", "score", "author", "place", "thread", "speaks"))
_ARRAYS = (*_ALL, "spoken_row", "spoken_time", "vectors", "known_hash", "known_row")
_CACHED = 512  # communities and people whose positions are kept
_SPANS = 65_536  # people whose place is kept (8 MB)
_DECODED = 20_000  # messages kept as they were read (20 MB): a person's next turn looks at most of them again

Array = NDArray[Any]


class Link(NamedTuple):
    """Who answered what when: a message without its words."""

    id: str
    thread: str
    parent: str | None
    author: str | None
    time: int


class Corpus:
    """Made by import_corpus. `manifest` has sources, counts and the import's report; `data_hash` names the contents."""

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        folder = path / manifest["generation"]
        self.path = path
        self.manifest = manifest
        self.data_hash: str = manifest["data_hash"]
        self.sql = reading(folder / FILE)
        # Everything is opened now: a later import removes the names of these files, not what is open.
        # Plain arrays over the mapped files: a slice of a memmap costs ten times as much.
        self.arrays: dict[str, Array] = {
            name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in _ARRAYS
        }
        self._places: dict[str, int] = dict(self.sql.execute("select name, place from places"))
        self._positions: dict[tuple[str, int], Array] = {}
        self._spans: dict[str, slice] = {}
        self._decoded: dict[int, Message] = {}

    @staticmethod
    def open(path: Path) -> Corpus:
        """
        Raises:
            Missing: there is none; says how to make one. BadInput: another format.
        """
        for _ in range(3):  # an import may switch to its new generation between the two reads
            try:
                return Corpus(path, read_manifest(path))
            except (FileNotFoundError, sqlite3.OperationalError):
                continue
        raise Missing(f"{path} has lost files of its current state; import it again into a new folder")

    def close(self) -> None:
        self.sql.close()
        self.arrays = {}

    def thread_ids(self) -> list[str]:
        """By time of the first message, then id."""
        return [id for (id,) in self.sql.execute("select id from threads order by thread")]

    def thread(self, id: str) -> Thread:
        """
        Raises:
            UnknownName: no such thread.
        """
        rows = self.sql.execute(f"select {FIELDS} from messages where thread = ? order by time, id", (id,)).fetchall()
        if not rows:
            raise UnknownName("thread", id, self.thread_ids())
        return Thread(id, tuple(map(decode, rows)))

    def message(self, id: str) -> Message:
        """
        Raises:
            UnknownName: no such message.
        """
        row = self.sql.execute(f"select {FIELDS} from messages where id = ?", (id,)).fetchone()
        if row is None:
            raise UnknownName("message", id, ())
        return decode(row)

    def people(self) -> dict[str, int]:
        """Author -> number of messages with words, by name; neither bots nor deleted accounts."""
        query = "select name, stop - start from authors where stop > start and not bot order by name"
        return dict(self.sql.execute(query))

    def places(self) -> list[str]:
        """The communities, by name."""
        return sorted(self._places)

    def heard(self, *, before: int) -> list[str]:
        """The people who had written something before `before`, by name."""
        query = "select name, start from authors where stop > start and not bot order by name"
        time = self.arrays["spoken_time"]
        return [name for name, start in self.sql.execute(query) if time[start] < before]

    def span(self, person: str) -> slice:
        """Where `person`'s messages stand in the spoken arrays; UnknownName for a bot or nobody."""
        if person not in self._spans:
            found = self.sql.execute("select start, stop from authors where name = ? and not bot", (person,)).fetchone()
            if found is None:
                raise UnknownName("person", person, self.people())
            if len(self._spans) >= _SPANS:
                self._spans.clear()
            self._spans[person] = slice(*found)
        return self._spans[person]

    def rows(self, rows: list[int]) -> tuple[Message, ...]:
        """The messages in these rows of the record, in the order given."""
        known = self._decoded
        new = [row for row in rows if row not in known]
        if len(known) + len(new) > _DECODED and known:
            known.clear()
            new = rows
        if len(new) == 1:
            query = f"select {FIELDS} from messages where row = ?"
            known[new[0]] = decode(self.sql.execute(query, new).fetchone())
        elif new:
            query = f"select row, {FIELDS} from messages where row in (select value from json_each(?))"
            known.update((row[0], decode(row[1:])) for row in self.sql.execute(query, (json.dumps(new),)))
        return tuple(known[row] for row in rows)

    def scores(
        self, *, before: int, place: str | None = None, author: str | None = None, outside: str | None = None
    ) -> NDArray[np.int64]:
        """Known scores of messages earlier than `before`, ascending by (time, id); `outside`: a thread left out.

        The scores themselves were counted when the data was collected, not at `before`.
        """
        at = self._at(before, place, author)
        score = self.arrays["all_score"][at]
        keep = score != UNKNOWN
        if outside is not None:
            keep &= self.arrays["all_thread"][at] != self._code("threads", "thread", "id", outside)
        found: NDArray[np.int64] = score[keep].astype(np.int64)
        return found

    def others(self, *, before: int, place: str, author: str, outside: str, k: int, seed: int) -> list[Message]:
        """At most `k` messages with words that other people wrote in `place` before `before`, in other threads than
        `outside`; drawn without replacement by `seed`, in the order drawn."""
        at = self._at(before, place, None)
        mine, here = self._code("authors", "author", "name", author), self._code("threads", "thread", "id", outside)
        keep = self.arrays["all_speaks"][at] & (self.arrays["all_author"][at] != mine)
        keep &= self.arrays["all_thread"][at] != here
        rows = self.arrays["all_row"][at][keep]
        drawn = np.random.default_rng(seed).permutation(len(rows))[: max(k, 0)]
        return list(Messages(self, rows[drawn]))

    def links(self, *, before: int, place: str | None = None, k: int) -> list[Link]:
        """The latest `k` (at least 1) messages before `before`, of a community where it is named, by (time, id)."""
        at = self._at(before, place, None)[-max(k, 1) :]
        rows: list[int] = self.arrays["all_row"][at].tolist()
        query = """select id, thread, parent, author, time from messages
                   where row in (select value from json_each(?)) order by time, id"""
        return [Link(*row) for row in self.sql.execute(query, (json.dumps(rows),))]

    def _at(self, before: int, place: str | None, author: str | None) -> Array:
        """Positions in the all_* arrays, ascending, of what fits and is earlier."""
        time = self.arrays["all_time"]
        if place is None and author is None:
            return np.arange(np.searchsorted(time, before))
        at = self._of("author", self._code("authors", "author", "name", author)) if author is not None else None
        if place is not None:
            spot = self._places.get(place, -1)
            at = self._of("place", spot) if at is None else at[self.arrays["all_place"][at] == spot]
        assert at is not None
        return at[: np.searchsorted(time[at], before)]

    def _of(self, column: str, code: int) -> Array:
        if (column, code) not in self._positions:
            if len(self._positions) >= _CACHED:
                self._positions.clear()
            self._positions[column, code] = np.flatnonzero(self.arrays[f"all_{column}"] == code)
        return self._positions[column, code]

    def _code(self, table: str, code: str, name: str, value: str) -> int:
        found = self.sql.execute(f"select {code} from {table} where {name} = ?", (value,)).fetchone()
        return -1 if found is None else int(found[0])


class Messages(Sequence[Message]):
    """Messages by their rows, read from the record when they are asked for."""

    def __init__(self, corpus: Corpus, rows: Array) -> None:
        self._corpus = corpus
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Message]:
        return iter(self[:])

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, at: int | slice) -> Message | tuple[Message, ...]:
        if not isinstance(at, slice):
            return self._corpus.rows([int(self._rows[at])])[0]
        return self._corpus.rows(self._rows[at].tolist())
