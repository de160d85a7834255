"""Pushshift and Arctic Shift dumps: one JSON object a line, comments and submissions, plain or zstd, 2005 to now."""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from memory.fields import Fields, row
from memory.mending import BOM, mend
from memory.reading import Row, Source, Tally

_OBJECT = re.compile(rb'^\{[ \t]*["}]', re.MULTILINE)  # a "{" alone on its line is the start of another kind of JSON


def recognises(head: bytes) -> bool:
    """Some line begins with an object and its first field. A file whose first line is broken is still this format."""
    start = head.removeprefix(BOM).lstrip(b"\0 \t\r\n")
    return not start.startswith(b"[") and _OBJECT.search(start) is not None


def read(source: Source, tally: Tally) -> Iterator[Row]:
    """The rows of `source` in its order."""
    decode = msgspec.json.Decoder(Fields).decode
    for number, raw, whole in source.lines(tally):
        tally.read += 1
        try:
            made = row(decode(raw), number)
        except (msgspec.DecodeError, UnicodeDecodeError):
            for line in _mended(raw, f"{source.name}:{number}", whole, tally):
                made = row(line, number)
                if isinstance(made, str):
                    tally.note("dropped", made, f"{source.name}:{number}")
                else:
                    yield made
            continue
        if isinstance(made, str):
            tally.note("dropped", made, f"{source.name}:{number}")
        else:
            yield made


def _mended(raw: bytes, where: str, whole: bool, tally: Tally) -> list[Fields]:
    aside = Tally()  # a repair counts only where it gave a row
    found, wrong = [], 0
    for value in mend(raw, where, whole, aside):
        try:
            found.append(msgspec.convert(value, Fields))
        except msgspec.ValidationError:
            wrong += 1
    for what, reason in aside.counts:
        if what == "dropped" or found:
            tally.note(what, reason, where)
    if wrong and not aside.total("dropped"):
        tally.note("dropped", "a field of a type no dump has", where)
    return found
