"""Values and sheets as plain text: what the console prints, and what every other form says in its cells."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evaluation.console import show
from evaluation.sheet import Column, Sheet, Value
from evaluation.stats import Interval
from evaluation.transcript import plain

UNDEFINED = "n/a"


def shown(value: Value, column: Column) -> str:
    """One cell: "" for None, n/a for nan, an interval as "0.12 [0.10, 0.14]", a real minus; text with its control and
    direction characters made visible."""
    if value is None:
        return ""
    if isinstance(value, str):
        return plain(value, show=True)
    if isinstance(value, Interval):
        middle = number(value.mean, column.places)
        if math.isnan(value.low) or math.isnan(value.high):
            return middle
        return f"{middle} [{number(value.low, column.places)}, {number(value.high, column.places)}]"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    return number(value, column.places)


def number(value: float, places: int) -> str:
    """Fixed decimals, thousands apart, with a real minus."""
    if math.isnan(value):
        return UNDEFINED
    said = f"{value:,.{places}f}"
    return said.removeprefix("-") if not said.strip("-0.,") else said.replace("-", "−")


def middle(value: Value) -> float | None:
    """The number that a cell is drawn and compared by; None where there is none."""
    if value is None or isinstance(value, str):
        return None
    found = value.mean if isinstance(value, Interval) else float(value)
    return None if math.isnan(found) else found


def is_words(sheet: Sheet, at: int) -> bool:
    """Whether a column holds text: it then stands on the left."""
    return any(isinstance(row[at], str) for row in sheet.rows)


def arrow(column: Column) -> str:
    return "" if column.higher is None else " ↑" if column.higher else " ↓"


def cells(sheet: Sheet) -> list[list[str]]:
    """All rows as text."""
    return [[shown(value, column) for value, column in zip(row, sheet.columns, strict=True)] for row in sheet.rows]


def print_sheet(sheet: Sheet) -> None:
    """Prints a sheet as a table on the console."""
    titles = [f"{column.title}{arrow(column)}" for column in sheet.columns]
    numbers = [title for at, title in enumerate(titles) if not is_words(sheet, at)]
    show(plain(sheet.title), titles, _one_line(cells(sheet)), right=numbers)


def _one_line(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[" ".join(cell.split()) for cell in row] for row in rows]
