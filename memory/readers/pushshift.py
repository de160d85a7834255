"""Pushshift and Arctic Shift dumps: one JSON object a line, comments and submissions, plain or zstd, 2005 to now."""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO

import msgspec

from memory.batch import Batch
from memory.comments import comments
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
    for found in batches(source, tally):
        yield from found.rows() if isinstance(found, Batch) else (found,)


def batches(source: Source, tally: Tally) -> Iterator[Batch | Row]:
    """The same, together where many lines are usual."""
    number = 1
    for lines in source.parts(tally):
        found = comments(lines, number)
        if found is None:
            yield from _one_by_one(lines, number, source.name, tally)
        else:
            tally.read += len(found)
            yield found
        number += lines.count(b"\n") if found is None else len(found)


def _one_by_one(lines: bytes, number: int, name: str, tally: Tally) -> Iterator[Row]:
    decode = msgspec.json.Decoder(Fields).decode
    for at, raw in enumerate(BytesIO(lines), number):
        tally.read += 1
        where = f"{name}:{at}"
        try:
            found = [decode(raw)]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found = _mended(raw.removesuffix(b"\n"), where, raw.endswith(b"\n"), tally)
        for line in found:
            made = row(line, at)
            if isinstance(made, str):
                tally.note("dropped", made, where)
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
        if what != "repaired" or found:
            tally.note(what, reason, where)
    if wrong and not aside.total("dropped"):
        tally.note("dropped", "a field of a type no dump has", where)
    return found
