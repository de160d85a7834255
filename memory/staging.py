"""Staged: what an import has read, as records and words in two files, in the order in which it was read."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.hashing import id_numbers, text_numbers
from memory.message import unquoted
from memory.shares import pieces, spans, taken
from memory.stored import SPOKEN, TEXT, WIDTH, Array, Mapped, mapped, row_type
from memory.words import Positions, Words

# Flags beside a segment's: goes by the record; a text can name somebody; was in the corpus.
ODD, NAMED, MOVED = 32, 64, 128
COPY = -1  # as the source: a newer copy of it was read
ID, THREAD, PARENT, WORDS = range(4)  # in `numbers`
_BUFFER = 1 << 18
_TOGETHER = 8192  # records, some 2 MB


def staged_type(width: int = WIDTH) -> np.dtype[Any]:
    """A segment's record, the line where it stood and the number of its source, and `numbers` as digest.py has them."""
    more = [("line", "i4"), ("source", "i4"), ("numbers", "u8", 4)]
    return np.dtype([*row_type(width), *more])


def fill(made: Array, words: Words, heads: Positions, gone: NDArray[np.bool_]) -> bytes:
    """Sets in the records `made` what their words, as together() gives them, tell, and returns these as they go to the
    file of words; `start` counts from there."""
    sizes, said = words.sizes, words.utf8.replace(b"\0", b"")
    made["size"], made["title"], made["start"] = sizes, heads, np.cumsum(sizes) - sizes
    flags = made["flags"] | np.where(sizes > 0, np.uint8(SPOKEN), 0) | np.where(gone, 0, np.uint8(TEXT))
    for n in np.flatnonzero(words.holding(words.places(b">")) & (made["title"] == 0)).tolist():
        if not unquoted(words.at(n).decode()):
            flags[n] &= ~SPOKEN & 255
    made["flags"] = flags
    if "numbers" in (made.dtype.names or ()):
        for n, name in enumerate(("id", "thread_id", "parent")):
            made["numbers"][:, n] = id_numbers(made[name])
        made["numbers"][:, WORDS] = text_numbers(said, sizes)
    return said


class Staged:
    """Grows at its end; what is there can be changed."""

    def __init__(self, folder: Path) -> None:
        self._files = folder / "staged.rows", folder / "staged.words"
        self._out = [file.open("wb", buffering=_BUFFER) for file in self._files]
        self._kind, self._length, self._end = staged_type(), 0, 0
        self._memmap: Any = None
        self._rows: Array | None = None
        self._words: Mapped | None = None

    def __len__(self) -> int:
        return self._length

    @property
    def kind(self) -> np.dtype[Any]:
        return self._kind

    def add(self, made: Array, words: bytes) -> None:
        """Records of `kind` with their words; `start` counts from the first of these."""
        made["start"] += self._end
        self._out[0].write(made.view(np.uint8).tobytes())  # of whole records it is five times as slow
        self._length += len(made)
        self._rows = None
        self.say(words)

    def say(self, words: bytes) -> int:
        """Words that some record is to point to; where they begin."""
        self._out[1].write(words)
        start, self._end = self._end, self._end + len(words)
        self._words = None
        return start

    @property
    def rows(self) -> Array:
        """All records, to be read and changed in their file."""
        if self._rows is None:
            self._out[0].flush()
            if not self._length:
                return np.empty(0, self._kind)
            self._memmap = np.memmap(self._files[0], self._kind, "r+", shape=(self._length,))
            self._rows = np.asarray(self._memmap)
        return self._rows

    @property
    def words(self) -> Mapped:
        if self._words is None:
            self._out[1].flush()
            if not self._end:
                return b""
            self._words = mapped(self._files[1])
        return self._words

    def parts(self) -> Iterator[tuple[int, Array]]:
        """(position of the first, some records) one after another; they can be changed in their file."""
        for start, part in pieces(self.rows, _TOGETHER):
            yield start, part
            self.release()

    def take(self, at: Array) -> Array:
        """The records at these positions."""
        return taken(self.rows, at, self.release)

    def set(self, name: str, at: Array, values: Array) -> None:
        """One field of the records at these ascending positions."""
        column = self.rows[name]
        for first, last in spans(column, at):
            column[at[first:last]] = values[first:last]
            self.release()

    def hand_over(self, file: Path) -> None:
        """Moves the words to `file`, which then has those of the unmarked records alone, in the order of these."""
        used = 0
        for _, part in self.parts():
            used += int(part["size"][part["flags"] & ODD == 0].sum())
        words = self.words
        if used == len(words):
            self._files[1].replace(file)
            return
        end = 0
        with file.open("wb") as out:
            for _, part in self.parts():
                kept = np.flatnonzero(part["flags"] & ODD == 0)
                start, size = part["start"][kept].astype(np.int64), part["size"][kept].astype(np.int64)
                breaks = 1 + np.flatnonzero(start[1:] != start[:-1] + size[:-1])  # between two is one piece of words
                for first, last in pairwise([0, *breaks.tolist(), len(kept)] if len(kept) else []):
                    out.write(words[start[first] : start[last - 1] + size[last - 1]])
                part["start"][kept] = end + np.cumsum(size) - size
                end += int(size.sum())

    def release(self) -> None:
        """Gives back the memory of what was read of the files."""
        for held in (getattr(self._memmap, "_mmap", None), self._words):
            if isinstance(held, mmap.mmap):
                held.madvise(mmap.MADV_DONTNEED)

    def widen(self, width: int) -> None:
        """Makes room for longer ids."""
        kind = staged_type(-(-width // 8) * 8)
        if kind.itemsize <= self._kind.itemsize:
            return
        wide = self._files[0].with_suffix(".wide")
        with wide.open("wb") as out:
            for _, part in pieces(self.rows):
                out.write(part.astype(kind).tobytes())
        self._out[0].close()
        wide.replace(self._files[0])
        self._out[0], self._kind, self._rows = self._files[0].open("ab", buffering=_BUFFER), kind, None

    def close(self) -> None:
        """And removes the files."""
        self._memmap = self._rows = self._words = None
        for out, file in zip(self._out, self._files, strict=True):
            out.close()
            file.unlink(missing_ok=True)
