"""The lines of a dump that are comments like nearly all, decoded and settled many at a time; the others are left alone.

What comes out is what fields.row() makes of each line, but in half the time: what is decoded is the Rows.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from memory.fields import MILLISECONDS, text, writer
from memory.reading import Row

_SHORTEST = 60  # bytes, more than a line without fields and less than one with all that are needed
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
    lines = part.split(b"\n")
    if lines.pop() or min(map(len, lines)) < _SHORTEST:  # the decoder passes over blank lines
        return None
    try:
        found = _DECODE(part)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return found if len(found) == len(lines) and _settled(found, number) else None


def _settled(found: list[Comment], number: int) -> bool:
    """Makes each what row() makes of it, unless one has ids or a name of an unusual form. Many are looked at as one
    text, for that costs a third of looking at each."""
    many, ids, names = len(found), [r.id for r in found], [r.author for r in found]
    if "" in ids or "_" in "".join(ids) or None in names or "" in names:
        return False
    people = ",".join(map(str, names))
    threads = "\n" + "\n".join([r.thread or "" for r in found])
    parents = "\n" + "\n".join([r.parent or "" for r in found])
    said = "\n".join([r.text or "" for r in found])
    if (
        threads.count("\nt3_") != many
        or parents.count("\nt1_") + parents.count("\nt3_") != many
        or " " in people
        or not people.isprintable()  # as other spaces are not
    ):
        return False
    if "[" in people:
        for r in found:
            r.author = writer(r.author)
    if "[" in said or "&" in said or "\0" in said:
        for r in found:
            if r.text is not None and ("[" in r.text or "&" in r.text or "\0" in r.text):
                r.text = text(r.text)
    for r in found:
        r.line = number
        r.id = "t1_" + r.id
        number += 1
    for r in found:
        if r.score_hidden:
            r.score = None
        if not r.retrieved:
            r.retrieved = r.retrieved_utc or None
    return True
