"""Who a corpus has been told to forget: kept as keyed hashes alone, so that no later import brings anybody back."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from typing import Any

from memory import pseudonym

MARK = "[forgotten]"
_RUN = re.compile(r"[\w-]+")
_PIECE = re.compile(r"[^\W_]+|[_-]+")
_START = re.compile(r"(?<![^\W_])(?=\S)")
_LONGEST = 16  # pieces of a run that are tried together: names have fewer
_CACHED = 200_000


class Forgotten:
    """Of one record. False while nobody was forgotten; `secret` makes the hashes and may be None until then."""

    def __init__(self, sql: sqlite3.Connection, secret: bytes | None) -> None:
        self._sql, self._secret = sql, secret
        self._seen: dict[str, bool] = {}
        self._read()

    def _read(self) -> None:
        found = self._sql.execute("select who, length from every_forgotten").fetchall()
        self._who = {who for who, _ in found}
        self._lengths = sorted({length for _, length in found if length}, reverse=True)
        self._seen.clear()

    def __bool__(self) -> bool:
        return bool(self._who)

    def __contains__(self, name: str) -> bool:
        if not self._who or self._secret is None:
            return False
        if name not in self._seen:
            if len(self._seen) > _CACHED:
                self._seen.clear()
            self._seen[name] = pseudonym.digest(self._secret, name) in self._who
        return self._seen[name]

    def has(self, message: str) -> bool:
        """Whether it was written by one of them, under whatever name it comes now."""
        if not self._who:
            return False
        return (
            self._sql.execute("select 1 from every_forgotten_messages where id = ?", (message,)).fetchone() is not None
        )

    def add(self, who: bytes, name: str | None = None) -> None:
        """A digest; with the name where it is known: one of several words is then found inside texts as well."""
        odd = len(name) if name is not None and not _RUN.fullmatch(name) else 0
        self._sql.execute("insert or ignore into forgotten values (?, ?)", (who, odd))
        self._read()

    def cleaned(self, text: str) -> str:
        """`text` with MARK for each of their names; a name inside a longer word is none."""
        if not self._who:
            return text
        for length in self._lengths:
            text = _replaced(text, length, self)
        return _RUN.sub(lambda run: self._cleaned(run[0]), text)

    def cleaned_all(self, value: Any) -> Any:
        """As cleaned, for every text in a value of JSON's kinds: names of files and reports can hold a name too."""
        if isinstance(value, str):
            return self.cleaned(value)
        if isinstance(value, dict):
            return {key: self.cleaned_all(inner) for key, inner in value.items()}
        return [self.cleaned_all(inner) for inner in value] if isinstance(value, (list, tuple)) else value

    def _cleaned(self, run: str) -> str:
        pieces = _PIECE.findall(run)
        found, at = list[str](), 0
        while at < len(pieces):
            ends = range(min(len(pieces), at + _LONGEST), at, -1)
            end = next((end for end in ends if "".join(pieces[at:end]) in self), None)
            found.append(pieces[at] if end is None else MARK)
            at = at + 1 if end is None else end
        return "".join(found)


def _replaced(text: str, length: int, names: Forgotten) -> str:
    def parts() -> Iterator[str]:
        done = 0
        for start in (match.start() for match in _START.finditer(text)):
            end = start + length
            if start >= done and text[start:end] in names and not text[end : end + 1].isalnum():
                yield text[done:start] + MARK
                done = end
        yield text[done:]

    return "".join(parts())
