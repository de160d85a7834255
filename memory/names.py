"""What the people of a corpus are called in it: names as they are, or pseudonyms, each person one."""

from __future__ import annotations

import sqlite3

from memory import pseudonym
from memory.statements import one

_CACHED = 200_000  # names looked up, kept in memory (about 40 MB)


class Names:
    """The authors of one record. `key`: names become pseudonyms made with it; None keeps them."""

    def __init__(self, sql: sqlite3.Connection, key: bytes | None) -> None:
        self._sql, self.key = sql, key
        self._known: dict[str, str | None] = {}

    def identity(self, name: str) -> bytes:
        """What `name` is here: the same for Bob and bob."""
        return name.casefold().encode(errors="replace") if self.key is None else pseudonym.digest(self.key, name)

    def known(self, name: str) -> str | None:
        """What an author of this corpus is called here; None for anybody else."""
        folded = name.casefold()
        if folded not in self._known:
            if len(self._known) > _CACHED:
                self._known.clear()
            found = one(self._sql, "select name from every_authors where identity = ?", self.identity(name))
            self._known[folded] = found
        return self._known[folded]

    def person(self, name: str, bot: bool = False) -> str:
        """What `name` is called here, from now on if not yet."""
        found = self.known(name)
        if found is None:
            identity = self.identity(name)
            found, length = name if self.key is None else pseudonym.pseudonym(identity), 8
            while self.key is not None and one(self._sql, "select 1 from every_authors where name = ?", found):
                length += 1
                found = pseudonym.pseudonym(identity, length)
            insert = "insert into authors(name, identity, bot) values (?, ?, ?)"
            self._sql.execute(insert, (found, identity, bot or pseudonym.is_bot(name)))
            self._known[name.casefold()] = found
        return found

    def place(self, place: str) -> str:
        """A profile page, u_NAME, is called by a pseudonym like its owner."""
        if self.key is not None and place[:2] in ("u_", "U_"):
            place = "u_" + (self.known(place[2:]) or pseudonym.pseudonym(self.identity(place[2:])))
        return place
