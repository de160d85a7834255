"""Reddit API listings: nested JSON of posts, comments and `more` nodes, one document or several in a file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from memory.elements import decoded, elements
from memory.errors import clip
from memory.fields import Fields, row
from memory.mending import BOM
from memory.reading import Row, Source, Tally

_START = re.compile(rb'\s*\[?\s*\{\s*"(?:kind|data)"\s*:')
_KIND = re.compile(rb'(?<!\\)"kind"\s*:\s*"(?:Listing|t1|t3|more)"')


def recognises(head: bytes) -> bool:
    """A listing, a list of them (as /comments/ID answers), or one a line."""
    return _START.match(head.removeprefix(BOM)) is not None and _KIND.search(head) is not None


def read(source: Source, tally: Tally) -> Iterator[Row]:
    """Posts and comments in the order in which they are nested; `line` is the one their listing begins on."""
    for element in elements(source, tally):
        thing = decoded(element, source, tally)
        if thing is None:
            tally.read += 1
        else:
            yield from _things(thing, f"{source.name}:{element.line}", element.line, tally)


def _things(thing: dict[str, Any], where: str, line: int, tally: Tally) -> Iterator[Row]:
    waiting: list[Any] = [thing]
    while waiting:
        here = waiting.pop()
        kind, data = (here.get("kind"), here.get("data")) if isinstance(here, dict) else (None, None)
        if kind == "Listing" and isinstance(data, dict):
            children = data.get("children")
            waiting += reversed(children if isinstance(children, list) else [])
            continue
        tally.read += 1
        if kind in ("t1", "t3") and isinstance(data, dict):
            made = _row(data, line)
            if isinstance(made, str):
                tally.note("dropped", made, where)
            else:
                yield made
            if data.get("replies"):  # "" where there are none
                waiting.append(data["replies"])
        elif kind == "more":
            tally.note("passed over", "a `more` node: replies that the source does not hold", where)
        else:
            tally.note("passed over", f"kind {clip(str(kind), 20)}: not a message", where)


def _row(data: dict[str, Any], line: int) -> Row | str:
    try:
        return row(msgspec.convert(data, Fields), line)
    except msgspec.ValidationError:
        return "a field of a type no dump has"
