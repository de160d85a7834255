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

_CACHED = 200_000
_TOGETHER = 500  # looked up in one go
_LETTERS = 8  # of a pseudonym
_INSERT = "insert or ignore into authors(code, name, identity, bot) values (?, ?, ?, ?)"

Person = tuple[str, int]  # what somebody is called here, and the number


class Names:
    """The authors of one record. `key`: names become pseudonyms made with it; None keeps them. `cached`: people who are
    kept in memory, 200 bytes each."""

    def __init__(self, sql: sqlite3.Connection, key: bytes | None, cached: int = _CACHED) -> None:
        self._sql, self.key, self._cached = sql, key, cached
        self._known: dict[str, Person] = {}
        self._codes: dict[str | None, int] = {None: -1}
        self._all = one(sql, "select 1 from every_authors limit 1") is None  # whether `_known` has everybody

    def identity(self, name: str) -> bytes:
        """What `name` is here: the same for Bob and bob."""
        return name.casefold().encode(errors="replace") if self.key is None else pseudonym.digest(self.key, name)

    def people(self, names: Iterable[str]) -> dict[str, tuple[bytes, str | None]]:
        """The identity of each of these, and what an author of this corpus is called here; None for anybody else."""
        identities = {name: self.identity(name) for name in names}
        called = {identity: name for identity, name, _ in self._among("identity", {*identities.values()})}
        return {name: (identity, called.get(identity)) for name, identity in identities.items()}

    def _meet(self, names: Iterable[str], bots: Collection[str | None]) -> list[Person]:
        """Looks for all these people together, and gives those who are new what they are called and a number."""
        if len(self._known) > self._cached:
            self._known.clear()
            self._all = False
        folded, strange = [name.casefold() for name in names], dict[str, str]()
        for who, name in zip(folded, names, strict=True):
            if who not in self._known:
                strange.setdefault(who, name)
        identities = {who: self.identity(name) for who, name in strange.items()}
        people = {identity: strange[who] for who, identity in identities.items()}
        found: dict[bytes, Person] = {}
        if not self._all:
            found = {identity: (called, code) for identity, called, code in self._among("identity", people)}
        found |= self._added({identity: name for identity, name in people.items() if identity not in found}, bots)
        self._known |= {who: found[identity] for who, identity in identities.items()}
        return [self._known[who] for who in folded]

    def _added(self, people: dict[bytes, str], bots: Collection[str | None]) -> dict[bytes, Person]:
        """New people, by what they are, as they are called from now on."""
        calls = [*people.values()] if self.key is None else pseudonym.pseudonyms([*people], _LETTERS)
        taken = set() if self._all else {called for _, called, _ in self._among("name", calls)}
        last = int(one(self._sql, "select seq from sqlite_sequence where name = 'authors'") or 0)
        made = [
            (code, called, identity, name in bots or pseudonym.is_bot(name))
            for code, ((identity, name), called) in enumerate(zip(people.items(), calls, strict=True), last + 1)
        ]
        before = self._sql.total_changes
        self._sql.executemany(_INSERT, (person for person in made if person[1] not in taken) if taken else made)
        found = {identity: (called, code) for code, called, identity, _ in made}
        if self._sql.total_changes - before < len(made):  # two would be called the same
            for code, called, identity, bot in made:
                if one(self._sql, "select 1 from main.authors where code = ?", code) is None:
                    found[identity] = self._longer(called, identity), code
                    self._sql.execute(_INSERT, (code, found[identity][0], identity, bot))
        return found

    def _longer(self, called: str, identity: bytes) -> str:
        """A pseudonym that nobody has."""
        length = _LETTERS
        while any(self._among("name", [called])):
            length += 1
            [called] = pseudonym.pseudonyms([identity], length)
        return called

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
            if len(self._codes) > self._cached:
                self._codes = {None: -1}
            new = [name for name in dict.fromkeys(authors) if name is not None and name not in self._codes]
            self._codes |= zip(new, (code for _, code in self._meet(new, bots)), strict=True)
            return self.codes(authors)

    def place(self, place: str) -> str:
        """A profile page, u_NAME, is called by a pseudonym like its owner."""
        if self.key is not None and place[:2] in ("u_", "U_"):
            [(identity, called)] = self.people([place[2:]]).values()
            place = "u_" + (called or pseudonym.pseudonyms([identity], _LETTERS)[0])
        return place
