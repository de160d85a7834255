"""Large JSON files piece by piece: the objects inside an array (or object), one at a time, never the whole file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import msgspec

from memory.errors import BadInput
from memory.mending import mend
from memory.reading import CUT, LONGEST, Source, Tally

# All that stands before the next bracket, strings swallowed whole; no match means that more bytes are needed.
_STEP = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+([{}\[\]])', re.DOTALL)
_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:\s*$', re.DOTALL)
_BLOCK = 1 << 20
_OPEN, _LIST = ord("{"), ord("[")


class Element(NamedTuple):
    """`line`: where it begins, from 1. `key`: the name of what holds it, in an object. `raw`: its JSON."""

    line: int
    key: str | None
    raw: bytes


def elements(source: Source, tally: Tally, inside: Literal["[", "{"] = "[") -> Iterator[Element]:
    """The outermost objects that stand directly in an array, or with `inside` "{" in an object; several documents in
    one file follow each other. A document that breaks off is noted: what was whole before is kept.

    Raises:
        BadInput: an object longer than 64 MB.
    """
    holder = ord(inside)
    open_: list[tuple[int, str | None]] = []  # what is open above an element, and its key
    buffer, at, start, depth, key = b"", 0, -1, 0, ""
    line, counted = 1, 0  # the line that the byte `counted` of the buffer stands on
    sound = len(tally.problems)
    for block in _blocks(source, tally):
        buffer += block
        while step := _STEP.match(buffer, at):
            bracket, place = buffer[step.start(1)], step.start(1)
            if start >= 0:
                depth += 1 if bracket in b"{[" else -1
                if not depth:
                    name = key or next((k for _, k in reversed(open_) if k), None)
                    line, counted = line + buffer.count(b"\n", counted, start), start
                    yield Element(line, name, buffer[start : place + 1])
                    start = -1
            elif bracket in b"{[":
                named = _KEY.search(buffer, at, place)
                key = _name(named[1]) if named else ""
                if bracket == _OPEN and open_ and open_[-1][0] == holder:
                    start, depth = place, 1
                else:
                    open_.append((bracket, key))
            elif open_:
                open_.pop()
            at = place + 1
        cut = start if start >= 0 else at
        if len(buffer) - cut > LONGEST:
            raise BadInput(f"{source.path}: the object that begins before byte {source.done} is longer than 64 MB")
        line, counted = line + buffer.count(b"\n", counted, cut), 0
        buffer, at, start = buffer[cut:], at - cut, 0 if start >= 0 else -1
    if start >= 0:
        tally.note("dropped", f"{CUT} (last object)", f"{source.name}:{line}")
    if (start >= 0 or open_) and len(tally.problems) == sound and not source.allow_truncated:
        tally.problems.append(
            f"{source.path} ends in the middle of its JSON: what was whole before is kept; "
            "get it whole, or accept it with allow_truncated"
        )


def decoded(element: Element, source: Source, tally: Tally) -> dict[str, Any] | None:
    """The element as a dict; None, and noted, where it is beyond mending."""
    try:
        found: dict[str, Any] = msgspec.json.decode(element.raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        mended = mend(element.raw, f"{source.name}:{element.line}", True, tally)
        return mended[0] if mended else None
    return found


def _blocks(source: Source, tally: Tally) -> Iterator[bytes]:
    """The blocks of `source`, gathered to about 1 MB: a string cut at an edge is looked at twice."""
    held: list[bytes] = []
    size = 0
    for block in source.blocks(tally):
        held.append(block)
        size += len(block)
        if size >= _BLOCK:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def _name(raw: bytes) -> str:
    if b"\\" not in raw:
        return raw.decode(errors="replace")
    try:
        return str(json.loads(b'"' + raw + b'"', strict=False))
    except ValueError:
        return raw.decode(errors="replace")
