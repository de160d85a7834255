"""A sheet as the page's template takes it: safe text, which rows a cell leads to, what is best. Knows no markup."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

from evaluation.rendering.svg import Picture, picture
from evaluation.rendering.text import is_words, shown
from evaluation.sheet import Column, Sheet

SHOWN = 25  # rows that stand in the page itself; more are paged from the packed part
NAMES = ("user", "place", "author", "person", "thread")  # columns whose words are somebody's name


@dataclass(frozen=True)
class Table:
    """`rows`: (query of the scored rows that it was made from or "", its cells). `total`: with those packed."""

    name: str
    title: str
    about: str
    columns: tuple[Column, ...]
    words: tuple[bool, ...]
    rows: list[tuple[str, list[str]]]
    total: int
    picture: Picture | None


def table(sheet: Sheet, name: Callable[[str], str]) -> tuple[Table, list[tuple[str, list[str]]]]:
    """What stands in the page, and all rows where they are more than that ([] where not). `name` makes a name safe."""
    rows = []
    for n, row in enumerate(sheet.rows):
        found = sheet.where[n] if n < len(sheet.where) else {}
        where = urlencode(sorted(found.items()), errors="replace")
        said = [
            name(value) if isinstance(value, str) and column.name in NAMES else shown(value, column)
            for value, column in zip(row, sheet.columns, strict=True)
        ]
        rows.append((where, said))
    words = tuple(is_words(sheet, at) for at in range(len(sheet.columns)))
    made = Table(sheet.name, sheet.title, sheet.about, sheet.columns, words, rows[:SHOWN], len(rows), picture(sheet))
    return made, rows if len(rows) > SHOWN else []
