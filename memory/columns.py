"""Columns of what nearly all lines have alike: their ids, people, texts and numbers, settled many at a time.

What comes out is what fields.py makes of each, or None where one of them is not usual: it is for who looks at each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from io import BytesIO
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from memory.fields import text, writer
from memory.stored import WIDTH

_SPACE, _THREE = b" 3"
_COMMENT = int.from_bytes(b"t1_", "little")
_PREFIX = np.uint32(0xFFFDFF)  # of four bytes, what "t1_" and "t3_" have in common
_USUAL = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-[]"  # of names, and of what stands for none


def decoded(lines: bytes, decode: Callable[[bytes], list[Any]], fields: int) -> list[list[Any]] | None:
    """The values of each of the `fields` that structs have; None where these lines are not one struct each."""
    values: list[Any] = []
    try:
        for struct in map(msgspec.structs.astuple, decode(lines)):
            values += struct
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if len(values) != fields * sum(map(bool, BytesIO(lines))):  # a blank line, or several structs on one
        return None
    return [values[n::fields] for n in range(fields)]


def fullnames(joined: str, rows: int) -> NDArray[np.bytes_] | None:
    """(3, rows): the ids, threads and parents that stand in `joined`, each with its prefix and a tab after it, unless
    one has an unusual form. A tab leads to the next cell, so that too long a text, or a line's end in one, makes the
    whole longer."""
    if not joined.isascii() or " " in joined or "\0" in joined:
        return None
    padded = np.frombuffer(joined.encode().expandtabs(WIDTH), np.uint8)
    if len(padded) != 3 * WIDTH * rows:
        return None
    cells = padded * (padded != _SPACE).view(np.uint8)
    prefixes = cells.view("<u4")[:: WIDTH // 4] & _PREFIX
    digits = cells[WIDTH * rows + 1 : 2 * WIDTH * rows : WIDTH]  # of the prefixes of threads
    if (prefixes != _COMMENT).any() or (digits != _THREE).any():
        return None
    columns: NDArray[np.bytes_] = cells.view(f"S{WIDTH}").reshape(3, -1)
    return columns


def authors(names: list[str]) -> list[str | None] | None:
    """What writer() makes of each, unless one has a space around it or in it."""
    people = "".join(names)
    odd = people.encode().translate(None, _USUAL)
    if odd and (" " in people or not people.isprintable()):  # as other spaces are not
        return None
    return [writer(name) if "[" in name else name for name in names] if "[" in people else [*names]


def texts(said: list[str]) -> list[str | None]:
    """What text() makes of each. It is asked only where a text holds a "&" or a NUL, or begins with what may stand
    around "[deleted]": told by comparing, which costs half of what looking at the first character does, and for texts
    of ASCII alone, which are cheap to join, from all of them as one."""
    if all(map(str.isascii, said)):
        words = "".join(said)
        if not ("&" in words or "[" in words or "\0" in words):
            return [*said]
    return [
        text(one) if "&" in one or "\0" in one or not ("!" <= one < "[" or "\\" <= one < "\x7f") else one
        for one in said
    ]


def numbers(values: Sequence[Any], unknown: int = 0) -> NDArray[np.int64]:
    """Where there are any, None as `unknown`."""
    try:
        return np.fromiter(values, np.int64, len(values))
    except TypeError:
        return np.array([unknown if value is None else value for value in values])
