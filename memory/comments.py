"""The lines of a dump that are comments like nearly all, decoded and settled many at a time; the others are left alone.

What comes out is what fields.row() makes of each line, but in half the time: what is decoded is the Rows.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np

from memory.fields import MILLISECONDS, text, writer
from memory.reading import Row

_NEWLINE, _OPEN = b"\n{"
_Seconds = Annotated[int, msgspec.Meta(ge=0, lt=MILLISECONDS)]


class Comment(Row, kw_only=True):
    """A line of the usual kind. Any other (a post, a time as text, a score that is none) does not decode."""

    thread: str | None = msgspec.field(name="link_id")
    parent: str | None = msgspec.field(name="parent_id")
    time: Annotated[int, msgspec.Meta(gt=0, lt=MILLISECONDS)] = msgspec.field(name="created_utc")
    text: str | None = msgspec.field(name="body")
    place: str = msgspec.field(name="subreddit")
    retrieved: _Seconds | None = msgspec.field(name="retrieved_on", default=None)
    kind: str = msgspec.field(name=" kind", default="comment")  # " ": no field of a dump
    title: str = msgspec.field(name=" title", default="")
    line: int = msgspec.field(name=" line", default=0)
    bot: bool = msgspec.field(name=" bot", default=False)
    post_title: None = msgspec.field(name="title", default=None)
    selftext: None = None
    score_hidden: bool = False
    retrieved_utc: _Seconds | None = None


_DECODE = msgspec.json.Decoder(Comment).decode_lines


def comments(part: bytes, number: int) -> list[Comment] | None:
    """The Rows of these whole lines, of which the first is `number`; None where one of them is not usual."""
    data = np.frombuffer(part, np.uint8)
    ends = data == _NEWLINE
    many = np.count_nonzero(ends)
    begun = np.count_nonzero(ends[:-1] & (data[1:] == _OPEN)) + (data[0] == _OPEN)
    if not ends[-1] or begun != many:  # the decoder passes over blank lines, and takes two objects on one for two
        return None
    try:
        found = _DECODE(part)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if len(found) == many and _settled(found, number) else None


def _settled(found: list[Comment], number: int) -> bool:
    """Makes each what row() makes of it, unless one has ids or a name of an unusual form. Many are looked at as one
    text, for that costs a third of looking at each."""
    ids, names, said = [r.id for r in found], [r.author for r in found], [r.text for r in found]
    threads, parents = [r.thread for r in found], [r.parent for r in found]
    if not (all(ids) and all(names) and all(threads) and all(parents)) or "_" in "".join(ids):
        return False
    people = ",".join(names)  # type: ignore[arg-type]
    under, above = "\n" + "\n".join(threads), "\n" + "\n".join(parents)  # type: ignore[arg-type]
    if (
        under.count("\nt3_") != len(found)
        or above.count("\nt1_") + above.count("\nt3_") != len(found)
        or " " in people
        or not people.isprintable()  # as other spaces are not
    ):
        return False
    if "[" in people:
        for r in found:
            r.author = writer(r.author)
    words = "\n".join(filter(None, said))
    if "[" in words or "&" in words or "\0" in words:
        for r in found:
            if r.text is not None and ("[" in r.text or "&" in r.text or "\0" in r.text):
                r.text = text(r.text)
    for r in found:
        r.line = number
        r.id = "t1_" + r.id
        number += 1
        if r.score_hidden:
            r.score = None
        if not r.retrieved:
            r.retrieved = r.retrieved_utc or None
    return True
