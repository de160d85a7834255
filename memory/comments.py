"""The lines of a dump that are comments like nearly all, decoded and settled many at a time; the others are left alone.

What comes out is what fields.row() makes of each line, in half to two thirds of the time: none is looked at by itself.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from memory.batch import Batch
from memory.fields import FAR, MILLISECONDS, text, writer
from memory.stored import UNKNOWN, WIDTH

_SPACE, _THREE = b" 3"
_COMMENT = int.from_bytes(b"t1_", "little")
_PREFIX = np.uint32(0xFFFDFF)  # of four bytes, what "t1_" and "t3_" have in common
_USUAL = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-[]"  # of names, and of what stands for none
_Seconds = Annotated[int, Meta(ge=0, lt=MILLISECONDS)]


class Comment(msgspec.Struct, gc=False, kw_only=True):
    """A line of the usual kind, its fields in the order of dumps, which is quicker. Any other (a post, a time as text,
    a score that is none) does not decode."""

    author: Annotated[str, Meta(min_length=1)]
    body: str
    created_utc: Annotated[int, Meta(gt=0, lt=MILLISECONDS)]
    id: Annotated[str, Meta(min_length=1)]
    link_id: str
    parent_id: str
    retrieved_on: _Seconds | None = 0
    retrieved_utc: _Seconds | None = 0
    score: Annotated[int, Meta(gt=-FAR, lt=FAR)] | None
    score_hidden: bool = False
    selftext: None = None
    subreddit: str
    title: None = None


_DECODE = msgspec.json.Decoder(Comment).decode
_MANY = len(Comment.__struct_fields__)


def comments(lines: list[bytes], number: int) -> Batch | None:
    """These lines, of which the first is `number`; None where one of them is not usual."""
    values: list[Any] = []
    try:
        for comment in map(msgspec.structs.astuple, map(_DECODE, lines)):
            values += comment
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    columns = [values[n::_MANY] for n in range(_MANY)]
    names, said, time, id, thread, parent, on, utc, score, hidden, _, place, _ = columns
    ids, authors, texts = _ids(id, thread, parent), _authors(names), _texts(said)
    if ids is None or authors is None or texts is None:
        return None
    scores = _numbers(score, UNKNOWN)
    if any(hidden):
        scores[hidden] = UNKNOWN
    seen = [first or second for first, second in zip(on, utc, strict=True)] if any(utc) and not all(on) else on
    return Batch(ids[0], ids[1], ids[2], authors, _numbers(time), texts, scores, place, _numbers(seen), number)


def _ids(ids: list[str], threads: list[str], parents: list[str]) -> NDArray[np.bytes_] | None:
    """The three as columns, unless one has an unusual form. A tab leads to the next cell, so that too long a text, or
    a line's end in one, makes the whole longer."""
    joined = "\t".join(["t1_" + "\tt1_".join(ids), *threads, *parents, ""])
    if not joined.isascii() or " " in joined or "\0" in joined or "_" in "".join(ids):
        return None
    padded = np.frombuffer(joined.encode().expandtabs(WIDTH), np.uint8)
    if len(padded) != 3 * WIDTH * len(ids):
        return None
    cells = padded * (padded != _SPACE).view(np.uint8)
    prefixes = cells.view("<u4")[:: WIDTH // 4] & _PREFIX
    digits = cells[WIDTH * len(ids) + 1 : 2 * WIDTH * len(ids) : WIDTH]  # of the prefixes of threads
    if (prefixes != _COMMENT).any() or (digits != _THREE).any():
        return None
    columns: NDArray[np.bytes_] = cells.view(f"S{WIDTH}").reshape(3, -1)
    return columns


def _authors(names: list[str]) -> list[str | None] | None:
    """What writer() makes of each, unless one has a space around it or in it."""
    people = "".join(names)
    odd = people.encode().translate(None, _USUAL)
    if odd and (" " in people or not people.isprintable()):  # as other spaces are not
        return None
    return [writer(name) if "[" in name else name for name in names] if "[" in people else [*names]


def _texts(said: list[str]) -> list[str | None] | None:
    """What text() makes of each. Many are looked at as one text, for that costs a third of looking at each."""
    words = "\n".join(said)
    if "\0" in words:
        return None
    if "[" in words or "&" in words:
        return [text(one) if "&" in one or "[" in one else one for one in said]
    return [*said]


def _numbers(values: list[Any], unknown: int = 0) -> NDArray[np.int64]:
    """Where there are any, None as `unknown`."""
    try:
        return np.fromiter(values, np.int64, len(values))
    except TypeError:
        return np.array([unknown if value is None else value for value in values])
