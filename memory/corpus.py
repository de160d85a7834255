"""Corpus: an imported folder, read lazily and never changed; a reader keeps the state it opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memory.errors import Missing, UnknownName
from memory.message import Message, Thread
from memory.messages import Messages
from memory.segment import ALL, MAPPED, SHIFT, Segment, attach, in_order, of_thread, opened, read
from memory.shares import taken
from memory.state import read_manifest
from memory.stored import UNKNOWN, Array, Called, Stored

_CACHED = 512  # communities and people whose positions are kept
_SPANS = 65_536  # people whose place is kept (8 MB)
_DECODED = 20_000  # messages kept as they were read (20 MB): a person's next turn looks at most of them again


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
        self.path = path
        self.manifest = manifest
        self.data_hash: str = manifest["data_hash"]
        self.segments = opened(path, manifest["segments"])
        self.sql = sqlite3.connect(":memory:", uri=True, check_same_thread=False)
        attach(self.sql, self.segments)
        for table in ("authors", "places", "threads"):
            arms = " union all ".join(f"select * from {s.schema}.{table}" for s in self.segments)
            self.sql.execute(f"create temp view {table} as {arms}")
        self._called = Called(self.sql)
        self._positions: dict[tuple[str, int], Array] = {}
        self._spans: dict[str, list[tuple[Segment, int, int]]] = {}
        self._decoded: dict[int, Message] = {}

    @staticmethod
    def open(path: Path) -> Corpus:
        """
        Raises:
            Missing: there is none; says how to make one. BadInput: another format.
        """
        for _ in range(3):  # an import may switch to its new state between the two reads
            try:
                return Corpus(path, read_manifest(path))
            except (FileNotFoundError, sqlite3.OperationalError):
                continue
        raise Missing(f"{path} has lost files of its current state; import it again into a new folder")

    def close(self) -> None:
        self.sql.close()
        self.segments = []

    def release(self) -> None:
        """Gives back what the mapped files hold of memory, now and then for who reads most of a corpus in one go."""
        for s in self.segments:
            s.release()
            for size in (0, MAPPED):
                self.sql.execute(f"pragma {s.schema}.mmap_size = {size}")

    def thread_ids(self) -> list[str]:
        """By time of the first message, then id."""
        codes = self.all["thread"][self.all["post"]].tolist()
        names = self._called("threads", codes)
        return [names[code] for code in codes]

    def thread(self, id: str) -> Thread:
        """
        Raises:
            UnknownName: no such thread.
        """
        rows = self.of_thread(id)
        if not len(rows):
            raise UnknownName("thread", id, self.thread_ids())
        return Thread.of(id, (_message(stored) for stored in read(self.segments, rows, self._called)))

    def of_thread(self, id: str) -> Array:
        """The rows of its messages, by (time, id); none where there is no such thread."""
        return of_thread(self.segments, self.code("threads", id))

    def message(self, id: str) -> Message:
        """
        Raises:
            UnknownName: no such message.
        """
        wanted = np.array([id.encode(errors="replace")])
        for s in self.segments:
            [row] = s.find(wanted)
            if row >= 0:
                return _message(s.read([row], self._called)[0])
        raise UnknownName("message", id, ())

    def stored(self, rows: Array) -> list[Stored]:
        """All that is kept of the messages in these rows, in the order given."""
        return read(self.segments, rows, self._called)

    def called(self, table: str, codes: Iterable[int]) -> dict[int, str]:
        """At least the names of these `codes` of authors, places or threads."""
        return self._called(table, codes)

    def people(self) -> dict[str, int]:
        """Author -> number of messages with words, by name; neither bots nor deleted accounts."""
        counts: dict[int, int] = {}
        for s in self.segments:
            for author, start, stop in self.sql.execute(f"select author, start, stop from {s.schema}.spans"):
                counts[author] = counts.get(author, 0) + s.count(start, stop)
        names = self.sql.execute("select name, code from authors order by name")
        return {name: counts[code] for name, code in names if counts.get(code)}

    def places(self) -> list[str]:
        """The communities, by name."""
        there = set(np.unique(self.all["place"]).tolist())
        return [name for name, code in self.sql.execute("select name, code from places order by name") if code in there]

    def heard(self, *, before: int) -> list[str]:
        """The people who had written something before `before`, by name."""
        return [person for person in self.people() if len(self.past(person, before)[0])]

    def rows(self, rows: list[int]) -> tuple[Message, ...]:
        """The messages in these rows of the corpus, in the order given."""
        known = self._decoded
        new = [row for row in rows if row not in known]
        if len(known) + len(new) > _DECODED and known:
            known.clear()
            new = rows
        if new:
            known.update(zip(new, map(_message, read(self.segments, new, self._called)), strict=True))
        return tuple(known[row] for row in rows)

    def past(self, person: str, before: int) -> tuple[Array, Array, Callable[[], Array]]:
        """What `person` wrote with words before `before`, by (time, id): times, rows, and what reads the vectors.

        Raises:
            UnknownName: a bot, or nobody.
        """
        pieces = []
        for s, start, end in self._where(person):
            stop = start + int(np.searchsorted(s.time[start:end], before))
            pieces.append((s, start, stop, s.gone(start, stop) if len(s.dead) else s.dead))
        if len(pieces) == 1 and not len(pieces[0][3]):
            s, start, stop, _ = pieces[0]
            return s.time[start:stop], np.arange(start, stop) | s.number << SHIFT, lambda: s.vectors[start:stop]
        return self._woven([(s, np.delete(np.arange(start, stop), gone - start)) for s, start, stop, gone in pieces])

    def _woven(self, pieces: list[tuple[Segment, Array]]) -> tuple[Array, Array, Callable[[], Array]]:
        times = np.concatenate([s.time[rows] for s, rows in pieces])
        rows = np.concatenate([rows | s.number << SHIFT for s, rows in pieces])
        order = in_order(self.segments, times, rows)
        return times[order], rows[order], lambda: np.concatenate([s.vectors[rows] for s, rows in pieces])[order]

    def _where(self, person: str) -> list[tuple[Segment, int, int]]:
        """Where `person`'s messages stand; UnknownName for a bot or nobody."""
        if person in self._spans:
            return self._spans[person]
        code = self.code("authors", person, "and not bot")
        if code < 0:
            raise UnknownName("person", person, self.people())
        found = []
        for s in self.segments:
            span = self.sql.execute(f"select start, stop from {s.schema}.spans where author = ?", (code,)).fetchone()
            if span is not None:
                found.append((s, *span))
        if len(self._spans) >= _SPANS:
            self._spans.clear()
        self._spans[person] = found or [(self.segments[0], 0, 0)]
        return self._spans[person]

    @cached_property
    def all(self) -> dict[str, Array]:
        """Columns of every message by (time, id); codes of authors, places and threads, -1 for no author."""
        if len(self.segments) == 1:
            return self.segments[0].all
        parts = []
        for s in self.segments:
            keep = s.alive[s.all["row"]]
            parts.append({name: s.all[name][keep] for name in ALL})
            parts[-1]["row"] = parts[-1]["row"] | np.int64(s.number << SHIFT)
        found = {name: np.concatenate([part[name] for part in parts]) for name in ALL}
        order = in_order(self.segments, found["time"], found["row"])
        return {name: column[order] for name, column in found.items()}

    def scores(
        self,
        *,
        before: int,
        place: str | None = None,
        author: str | None = None,
        outside: str | None = None,
        comments: bool = False,
    ) -> NDArray[np.int64]:
        """Known scores of messages earlier than `before`, ascending by (time, id); `outside`: a thread left out;
        `comments`: of comments alone.

        The scores themselves were counted when the data was collected, not at `before`.
        """
        at = self._at(before, place, author)
        score = self.all["score"][at]
        keep = score != UNKNOWN
        if outside is not None:
            keep &= self.all["thread"][at] != self.code("threads", outside)
        if comments:
            keep &= ~self.all["post"][at]
        found: NDArray[np.int64] = score[keep].astype(np.int64)
        return found

    def column(self, name: str) -> Array:
        """One field of every record (see row_type in memory/stored.py), in the order of `all`."""
        rows = self.all["row"].astype(np.int64)
        found = np.empty(len(rows), self.segments[0].rows.dtype[name])
        for s in self.segments:
            mine = np.flatnonzero(rows >> SHIFT == s.number)
            found[mine] = taken(s.rows[name], rows[mine] & (1 << SHIFT) - 1, s.release)
        return found

    def spoke(self, author: str, thread: str, *, before: int) -> bool:
        """Whether `author` has a message in `thread` that is earlier than `before`."""
        who, where = self.code("authors", author), self.code("threads", thread)
        records = (s.rows.take(s.of_thread(where)) for s in self.segments)
        return any(bool(((found["author"] == who) & (found["time"] < before)).any()) for found in records)

    def others(self, *, before: int, place: str, author: str, outside: str, k: int, seed: int) -> list[Message]:
        """At most `k` messages with words that other people wrote in `place` before `before`, in other threads than
        `outside`; drawn without replacement by `seed`, in the order drawn."""
        at = self._at(before, place, None)
        keep = self.all["speaks"][at] & (self.all["author"][at] != self.code("authors", author))
        keep &= self.all["thread"][at] != self.code("threads", outside)
        rows = self.all["row"][at][keep]
        drawn = np.random.default_rng(seed).permutation(len(rows))[: max(k, 0)]
        return list(Messages(self, rows[drawn]))

    def links(self, *, before: int, place: str | None = None, k: int) -> list[Link]:
        """The latest `k` (at least 1) messages before `before`, of a community where it is named, by (time, id)."""
        at = self._at(before, place, None)[-max(k, 1) :]
        return [Link(*stored[:5]) for stored in self.stored(self.all["row"][at])]

    def _at(self, before: int, place: str | None, author: str | None) -> Array:
        """Positions in the arrays of `all`, ascending, of what fits and is earlier."""
        time = self.all["time"]
        if place is None and author is None:
            return np.arange(np.searchsorted(time, before))
        at = self._of("author", self.code("authors", author)) if author is not None else None
        if place is not None:
            spot = self.code("places", place)
            at = self._of("place", spot) if at is None else at[self.all["place"][at] == spot]
        assert at is not None
        return at[: np.searchsorted(time[at], before)]

    def _of(self, column: str, code: int) -> Array:
        if (column, code) not in self._positions:
            if len(self._positions) >= _CACHED:
                self._positions.clear()
            self._positions[column, code] = np.flatnonzero(self.all[column] == code)
        return self._positions[column, code]

    def code(self, table: str, name: str, also: str = "") -> int:
        """The number of one of the authors, places or threads in the arrays of `all`; -2 for what is not there."""
        found = self.sql.execute(f"select code from {table} where name = ? {also}", (name,)).fetchone()
        return -2 if found is None else int(found[0])


def _message(stored: Stored) -> Message:
    return Message(*stored[:10])
