"""Sheets as Markdown tables (GitHub's form). Text of a corpus stays text: nothing in a cell is markup."""

from __future__ import annotations

import re

from evaluation.rendering.text import arrow, cells, is_words
from evaluation.sheet import Sheet

_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~&!@]|:(?=//)|(?<=www)\.", re.IGNORECASE)  # bare addresses become links


def markdown(sheet: Sheet) -> str:
    """A heading, what it is about, and the table."""
    titles = [escaped(column.title + arrow(column)) for column in sheet.columns]
    marks = ["---" if is_words(sheet, at) else "---:" for at in range(len(titles))]
    lines = [f"### {escaped(sheet.title)}", "", escaped(sheet.about), ""]
    lines += [_row(titles), _row(marks), *(_row([escaped(cell) for cell in row]) for row in cells(sheet))]
    notes = [f"- {escaped(c.title)}: {escaped(c.about)}" for c in sheet.columns if c.about]
    return "\n".join([*lines, *(["", *notes] if notes else [])]) + "\n"


def escaped(text: str) -> str:
    """`text` in one line, with every sign that Markdown or HTML could read as its own made plain."""
    return _MARKUP.sub(lambda hit: f"\\{hit.group()}", " ".join(text.split()))


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
