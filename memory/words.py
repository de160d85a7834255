"""Words: many texts as one, UTF-8 with a NUL after each: they are looked at together, and none is an object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Words:
    """Texts without a NUL of their own. `ends`: where the NUL of each is, int64 (n,), ascending."""

    utf8: bytes
    ends: Positions

    @staticmethod
    def of(texts: Sequence[str]) -> Words:
        """Whose NULs are left out: a database, among others, takes one for the end."""
        utf8 = "\0".join((*texts, "")).encode()
        ends = np.flatnonzero(np.frombuffer(utf8, np.uint8) == 0)
        if len(ends) > len(texts):
            return Words.of([text.replace("\0", "") for text in texts])
        return Words(utf8, ends)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def starts(self) -> Positions:
        return np.concatenate([np.zeros(1, np.int64), self.ends + 1])[: len(self)]

    @property
    def sizes(self) -> Positions:
        """Bytes of each, without its NUL."""
        return self.ends - self.starts

    def texts(self) -> list[str]:
        return self.utf8.decode().split("\0")[:-1]

    def at(self, n: int) -> bytes:
        """One of them."""
        return self.utf8[int(self.ends[n - 1]) + 1 if n else 0 : int(self.ends[n])]

    def split(self, n: int, head: int) -> tuple[str, str]:
        """One of them: its first `head` bytes, and the others."""
        found = self.at(n)
        return found[:head].decode(), found[head:].decode()

    def places(self, sign: bytes) -> Positions:
        """Where this rare byte is, ascending."""
        found, at = list[int](), self.utf8.find(sign)
        while at >= 0:
            found.append(at)
            at = self.utf8.find(sign, at + 1)
        return np.array(found, np.int64)

    def holding(self, *places: Positions) -> NDArray[np.bool_]:
        """Whether some of these bytes are in each of the texts."""
        found = np.zeros(len(self), np.bool_)
        for some in places:
            found[np.searchsorted(self.ends, some)] = True
        return found

    def changed(self, new: Mapping[int, str]) -> Words:
        """With other texts in some positions, which ascend."""
        pieces, at, starts = list[bytes](), 0, self.starts
        grown = np.zeros(len(self), np.int64)
        for n, text in new.items():
            start, end, said = int(starts[n]), int(self.ends[n]), text.encode()
            pieces += self.utf8[at:start], said
            grown[n], at = len(said) - (end - start), end
        return Words(b"".join((*pieces, self.utf8[at:])), self.ends + np.cumsum(grown)) if new else self


def together(titles: Sequence[str], texts: Sequence[str | None]) -> tuple[Words, Positions, NDArray[np.bool_]]:
    """Each title with its text; how many bytes of these are the title's; and which have no text at all."""
    gone = np.array([text is None for text in texts], np.bool_)
    said: Sequence[Any] = [text or "" for text in texts] if gone.any() else texts
    if not any(titles):
        return Words.of(said), np.zeros(len(said), np.int64), gone
    titles = [title.replace("\0", "") for title in titles]
    words = Words.of([title + text for title, text in zip(titles, said, strict=True)])
    return words, np.array([len(title.encode()) for title in titles], np.int64), gone
