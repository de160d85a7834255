"""What the fields of a dump row mean, whatever year, API or table they come from: one row of fields to one Row.

Source: field types by month from the schema files of arctic_shift; Reddit escapes exactly & < > in its API text.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import UTC, datetime

import msgspec

from memory.reading import Row

GONE = frozenset({"[deleted]", "[removed]", "[ removed by reddit ]", "[deleted by user]", "[removed by reddit]"})
_NOBODY = GONE | {""}
LATEST = 2**40  # seconds; anything later is milliseconds
MILLISECONDS = 100_000_000_000
FAR = 2**62  # no score is as far from 0; what is said to be is unknown
KINDS = ("t1_", "t3_")
_NONE = (None, "")
_HIDDEN = (True, "true", "True")
_ESCAPED = re.compile(r"&(amp|lt|gt);")
_PLAIN = re.compile(r"[<>]|&(?!(?:amp|lt|gt|quot|apos|nbsp|#\d+|#x[0-9a-fA-F]+);)")
_CHARACTER = {"amp": "&", "lt": "<", "gt": ">"}

Number = int | float | str | None


class Fields(msgspec.Struct, gc=False):
    """The fields that matter; all others are skipped unread, which is where the speed comes from."""

    id: str | int | None = None
    name: str | None = None
    author: str | None = None
    body: str | None = None
    title: str | None = None
    selftext: str | None = None
    created_utc: Number = None
    score: Number = None
    score_hidden: bool | int | str | None = None
    parent_id: str | int | None = None
    link_id: str | int | None = None
    subreddit: str | None = None
    retrieved_on: Number = None
    retrieved_utc: Number = None


def row(line: Fields, number: int) -> Row | str:
    """The Row, or the reason why there is none. What nearly every row has is told first: this is asked of millions."""
    title, said = line.title, line.body
    post = title is not None or line.selftext is not None
    if not post and said is None and line.link_id is None:
        return "neither a comment nor a submission"
    kind = "t3_" if post else "t1_"
    id = fullname(line.id if line.id not in _NONE else line.name, kind)
    if id is None:
        return "no id"
    if id[:3] != kind:
        return "a comment with a post's id, or the reverse"
    when = line.created_utc
    if type(when) is not int or not 0 < when < MILLISECONDS:
        when = moment(when)
        if when is None:
            return "no usable time"
    thread: str | None = id
    parent: str | None = None
    if post:
        said = line.selftext
    else:
        thread = fullname(line.link_id, "t3_")
        if thread is not None and thread[:3] != "t3_":
            thread = None  # a link to a comment: its parent knows better
        parent = fullname(line.parent_id, "t1_") or thread
        if thread is None and parent is not None and parent[:3] == "t3_":
            thread = parent
        if parent is None:
            return "neither link_id nor parent_id"
    counted, author = line.score, line.author
    return Row(
        id,
        thread,
        parent,
        author if author and author[0].isalnum() else writer(author),
        when,
        said if said and said[0].isalnum() and not ("&" in said or "\0" in said) else text(said),
        None
        if line.score_hidden and line.score_hidden in _HIDDEN
        else counted
        if type(counted) is int and -FAR < counted < FAR
        else score(counted),
        line.subreddit or "",
        "post" if post else "comment",
        "" if title is None else (text(title) or "").strip(),
        moment(line.retrieved_on) or moment(line.retrieved_utc),
        number,
    )


def fullname(id: str | int | None, kind: str) -> str | None:
    """ "c13", "t1_c13" or (the old API's parents) 1234 in base 10 -> "t1_..."; None for nothing."""
    if not isinstance(id, str):
        return None if id is None else kind + _base36(id)
    if not id:
        return None
    return id if id[:3] in KINDS else kind + id


def _base36(number: int) -> str:
    digits = ""
    while number > 0:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


def writer(name: str | None) -> str | None:
    """`name`, or None where it says that the account is gone."""
    if name is None or (_bracket(name) and name.strip().casefold() in _NOBODY):
        return None
    return name


def _bracket(text: str) -> bool:
    """Whether `text` may be one of GONE, or blank: told by its first character, because this is asked of every row."""
    return not text or text[0] == "[" or text[0].isspace()


def moment(value: Number) -> int | None:
    """UTC seconds of an int, float, text of either, milliseconds, or ISO text (no zone: UTC); else None."""
    if value is None or (type(value) is int and 0 < value < MILLISECONDS):
        return value
    if isinstance(value, str):
        value = _stamp(value)
    if value is None or not math.isfinite(value) or value <= 0:
        return None
    seconds = int(value) if value < MILLISECONDS else int(value / 1000)
    return seconds if seconds < LATEST else None


def _stamp(text: str) -> float | None:
    with suppress(ValueError):
        return float(text)
    with suppress(ValueError):
        stamp = datetime.fromisoformat(text.strip())
        return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
    return None


def score(value: Number) -> int | None:
    try:
        counted = value if type(value) is int or value is None else int(float(value))
    except (ValueError, OverflowError):
        return None
    return counted if counted is not None and -FAR < counted < FAR else None


def text(text: str | None) -> str | None:
    """`text` unescaped once, None where it is gone. Text with a bare & < > was never escaped and stays as it is."""
    if text is None or (_bracket(text) and text.strip().casefold() in GONE):
        return None
    if "\0" in text:
        text = text.replace("\0", "")
    if "&" in text and not _PLAIN.search(text):
        return _ESCAPED.sub(lambda m: _CHARACTER[m[1]], text)
    return text
