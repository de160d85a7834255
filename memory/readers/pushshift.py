"""Pushshift and Arctic Shift dumps: one JSON object a line, comments and submissions, plain or zstd, 2005 to now.

Source: field types by month from the schema files of arctic_shift; Reddit escapes exactly & < > in its API text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from memory.reading import Row, Source, Tally

GONE = frozenset({"[deleted]", "[removed]", "[ removed by reddit ]", "[deleted by user]", "[removed by reddit]"})
LATEST = 2**40  # seconds; anything later is milliseconds
_ESCAPED = re.compile(r"&(amp|lt|gt);")
_PLAIN = re.compile(r"[<>]|&(?!(?:amp|lt|gt|quot|apos|nbsp|#\d+|#x[0-9a-fA-F]+);)")
_CHARACTER = {"amp": "&", "lt": "<", "gt": ">"}
_LONE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
_OBJECT = re.compile(rb'^\{[ \t]*["}]', re.MULTILINE)  # a "{" alone on its line is the start of another kind of JSON
_BOM = b"\xef\xbb\xbf"

Number = int | float | str | None


class _Line(msgspec.Struct, gc=False):
    """The fields that matter; all others are skipped unread, which is where the speed comes from."""

    id: str | int | None = None
    name: str | None = None
    author: str | None = None
    body: str | None = None
    title: str | None = None
    selftext: str | None = None
    created_utc: Number = None
    score: Number = None
    parent_id: str | int | None = None
    link_id: str | int | None = None
    subreddit: str | None = None
    retrieved_on: Number = None
    retrieved_utc: Number = None


def recognises(head: bytes) -> bool:
    """Some line begins with an object and its first field. A file whose first line is broken is still this format."""
    start = head.removeprefix(_BOM).lstrip(b"\0 \t\r\n")
    return not start.startswith(b"[") and _OBJECT.search(start) is not None


def read(source: Source, tally: Tally) -> Iterator[Row]:
    """The rows of `source` in its order."""
    decode = msgspec.json.Decoder(_Line).decode
    for number, raw, whole in source.lines(tally):
        tally.read += 1
        try:
            found = [decode(raw)]
        except (msgspec.DecodeError, UnicodeDecodeError):
            found = _mend(raw, f"{source.name}:{number}", whole, tally)
        for line in found:
            row = _row(line, number)
            if isinstance(row, str):
                tally.note("dropped", row, f"{source.name}:{number}")
            else:
                yield row


def _row(line: _Line, number: int) -> Row | str:
    """The Row, or the reason why there is none."""
    post = line.title is not None or line.selftext is not None
    if not post and line.body is None and line.link_id is None:
        return "neither a comment nor a submission"
    kind = "t3_" if post else "t1_"
    id = _fullname(line.id if line.id not in (None, "") else line.name, kind)
    if id is None:
        return "no id"
    if not id.startswith(kind):
        return "a comment with a post's id, or the reverse"
    when = _time(line.created_utc)
    if when is None:
        return "no usable time"
    thread: str | None = id
    parent: str | None = None
    if not post:
        thread = _fullname(line.link_id, "t3_")
        if thread is not None and not thread.startswith("t3_"):
            thread = None  # a link to a comment: its parent knows better
        parent = _fullname(line.parent_id, "t1_") or thread
        if thread is None and parent is not None and parent.startswith("t3_"):
            thread = parent
        if parent is None:
            return "neither link_id nor parent_id"
    return Row(
        id,
        thread,
        parent,
        None
        if line.author is None or line.author.strip().casefold() in GONE or not line.author.strip()
        else line.author,
        when,
        _text(line.selftext if post else line.body),
        _score(line.score),
        line.subreddit or "",
        "post" if post else "comment",
        (_text(line.title) or "").strip(),
        _time(line.retrieved_on) or _time(line.retrieved_utc),
        number,
    )


def _mend(raw: bytes, where: str, whole: bool, tally: Tally) -> list[_Line]:
    """Rows of a line that did not decode as it stands; notes what was done, or why nothing could be."""
    clean = raw.strip(b"\0 \t\r")
    done = ["NUL bytes around the row removed"] if b"\0" in raw[:1] + raw[-1:] and clean else []
    if clean.startswith(_BOM):
        clean = clean.removeprefix(_BOM)
        done.append("byte order mark removed")
    if not clean:
        tally.note("dropped", "no row on the line (blank or NUL bytes)", where)
        return []
    if _LONE.search(clean):
        clean = _lone(clean)
        done.append("half of a surrogate pair replaced")
    try:
        text = clean.decode()
    except UnicodeDecodeError:
        text = clean.decode(errors="replace")
        done.append("invalid UTF-8 replaced")
    objects, good = _objects(text)
    found, wrong = [], 0
    for value in objects:
        try:
            found.append(msgspec.convert(value, _Line))
        except msgspec.ValidationError:
            wrong += 1
    if not good:
        tally.note("dropped", "not JSON" if whole else "cut off in the middle (last line)", where)
    elif wrong:
        tally.note("dropped", "a field of a type no dump has", where)
    if len(found) > 1:
        done.append("several objects on one line")
    if found:
        for reason in done:
            tally.note("repaired", reason, where)
    return found


def _lone(clean: bytes) -> bytes:
    """Halves of surrogate pairs, escaped as \\udXXX, become U+FFFD; an escaped backslash before "u" is left alone."""

    def swap(match: re.Match[bytes]) -> bytes:
        before = clean[: match.start()]
        backslashes = len(before) - len(before.rstrip(b"\\"))
        return match[0] if backslashes % 2 else b"\\ufffd"

    return _LONE.sub(swap, clean)


def _objects(text: str) -> tuple[list[Any], bool]:
    """The JSON objects standing in `text` one after another, and whether that was all of it."""
    decoder, found, at = json.JSONDecoder(strict=False), list[Any](), 0
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found, False
        found.append(value)
        while at < len(text) and text[at] in " \t\r,\0":
            at += 1
    return found, True


def _fullname(id: str | int | None, kind: str) -> str | None:
    """ "c13", "t1_c13" or (the old API's parents) 1234 in base 10 -> "t1_..."; None for nothing."""
    if isinstance(id, int):
        return kind + _base36(id)
    if not id:
        return None
    return id if id[:3] in ("t1_", "t3_") else kind + id


def _base36(number: int) -> str:
    digits = ""
    while number > 0:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits or "0"


def _time(value: Number) -> int | None:
    """UTC seconds of an int, float, text of either, milliseconds, or ISO text (no zone: UTC); else None."""
    if isinstance(value, str):
        value = _stamp(value)
    if value is None or not math.isfinite(value) or value <= 0:
        return None
    seconds = int(value) if value < 1e11 else int(value / 1000)
    return seconds if seconds < LATEST else None


def _stamp(text: str) -> float | None:
    with suppress(ValueError):
        return float(text)
    with suppress(ValueError):
        stamp = datetime.fromisoformat(text.strip())
        return (stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp()
    return None


def _score(value: Number) -> int | None:
    try:
        return None if value is None else int(float(value))
    except (ValueError, OverflowError):
        return None


def _text(text: str | None) -> str | None:
    """`text` unescaped once, None where it is gone. Text with a bare & < > was never escaped and stays as it is."""
    if text is None or text.strip().casefold() in GONE:
        return None
    if "\0" in text:
        text = text.replace("\0", "")
    if "&" in text and not _PLAIN.search(text):
        return _ESCAPED.sub(lambda m: _CHARACTER[m[1]], text)
    return text
