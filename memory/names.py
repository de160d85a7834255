"""What the people of a corpus are called in it: names as they are, or pseudonyms, each person one."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory import pseudonym
from memory.statements import one

_CACHED = 200_000  # names looked up, kept in memory (about 40 MB)
_TOGETHER = 500  # looked up in one go
_LETTERS = 8  # of a pseudonym


class Names:
    """The authors of one record. `key`: names become pseudonyms made with it; None keeps them."""

    def __init__(self, sql: sqlite3.Connection, key: bytes | None) -> None:
        self._sql, self.key = sql, key
        self._known: dict[str, tuple[str, int] | None] = {}
        self._codes: dict[str | None, int] = {None: -1}

    def identity(self, name: str) -> bytes:
        """What `name` is here: the same for Bob and bob."""
        return name.casefold().encode(errors="replace") if self.key is None else pseudonym.digest(self.key, name)

    def known(self, name: str) -> str | None:
        """What an author of this corpus is called here; None for anybody else."""
        found = self._person(name)
        return None if found is None else found[0]

    def _person(self, name: str) -> tuple[str, int] | None:
        folded = name.casefold()
        if folded not in self._known:
            if len(self._known) > _CACHED:
                self._known.clear()
            query = "select name, code from every_authors where identity = ?"
            self._known[folded] = self._sql.execute(query, (self.identity(name),)).fetchone()
        return self._known[folded]

    def person(self, name: str, bot: bool = False) -> tuple[str, int]:
        """What `name` is called here, and the number, from now on if not yet."""
        found = self._person(name)
        if found is None:
            self._meet([name], {name} if bot else ())
            found = self._known[name.casefold()]
        assert found is not None
        return found

    def _meet(self, names: Iterable[str], bots: Collection[str | None]) -> None:
        """Looks for all these people together, and gives those who are new what they are called and a number."""
        if len(self._known) > _CACHED:
            self._known.clear()
        strange: dict[str, str] = {}
        for name in names:
            if self._known.get(name.casefold()) is None:
                strange.setdefault(name.casefold(), name)
        identities = {self.identity(name): folded for folded, name in strange.items()}
        for identity, called, code in self._among("identity", identities):
            self._known[identities.pop(identity)] = called, code
        calls = {identity: self._call(identity, strange[folded]) for identity, folded in identities.items()}
        held = {called for _, called, _ in self._among("name", calls.values())}
        last = int(one(self._sql, "select seq from sqlite_sequence where name = 'authors'") or 0)
        made = []
        for code, (identity, called) in enumerate(calls.items(), last + 1):
            name, length = strange[identities[identity]], _LETTERS
            while self.key is not None and called in held:
                length += 1
                called = self._call(identity, name, length)
                held |= {other for _, other, _ in self._among("name", [called])}
            held.add(called)
            made.append((code, called, identity, name in bots or pseudonym.is_bot(name)))
            self._known[identities[identity]] = called, code
        self._sql.executemany("insert into authors(code, name, identity, bot) values (?, ?, ?, ?)", made)

    def _call(self, identity: bytes, name: str, length: int = _LETTERS) -> str:
        return name if self.key is None else pseudonym.pseudonym(identity, length)

    def _among(self, column: str, values: Iterable[bytes | str]) -> Iterator[tuple[bytes, str, int]]:
        """(identity, name, number) of the known people who have one of `values`."""
        rest = iter(list(values))
        while some := list(islice(rest, _TOGETHER)):
            marks = ", ".join("?" * len(some))
            query = f"select identity, name, code from every_authors where {column} in ({marks})"
            yield from self._sql.execute(query, some).fetchall()

    def codes(self, authors: Sequence[str | None], bots: Collection[str | None] = ()) -> NDArray[Any]:
        """The numbers of people, who get one if need be; -1 for nobody."""
        try:
            return np.fromiter(map(self._codes.__getitem__, authors), np.int32, len(authors))
        except KeyError:
            if len(self._codes) > _CACHED:
                self._codes = {None: -1}
            new = [name for name in dict.fromkeys(authors) if name is not None and name not in self._codes]
            self._meet(new, bots)
            self._codes |= {name: self.person(name)[1] for name in new}
            return self.codes(authors)

    def place(self, place: str) -> str:
        """A profile page, u_NAME, is called by a pseudonym like its owner."""
        if self.key is not None and place[:2] in ("u_", "U_"):
            place = "u_" + (self.known(place[2:]) or pseudonym.pseudonym(self.identity(place[2:])))
        return place
