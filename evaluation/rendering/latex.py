"""Sheets as LaTeX tables for a paper (booktabs). Text of a corpus stays text: no command of a cell is ever run."""

from __future__ import annotations

import re

from evaluation.rendering.text import arrow, cells, is_words
from evaluation.sheet import Sheet

_SIGNS = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "−": "$-$", "↑": r"$\uparrow$", "↓": r"$\downarrow$",
}  # fmt: skip
_MARKUP = re.compile("|".join(re.escape(sign) for sign in _SIGNS))


def latex(sheet: Sheet) -> str:
    """A table environment with caption and label tab:<name>; needs the packages booktabs and fontenc with T1."""
    columns = "".join("l" if is_words(sheet, at) else "r" for at in range(len(sheet.columns)))
    head = _row([escaped(column.title + arrow(column)) for column in sheet.columns])
    body = [_row([_guarded(escaped(cell)) for cell in row]) for row in cells(sheet)]
    return (
        "\n".join(
            [
                r"\begin{table}",
                r"\centering",
                rf"\caption{{{escaped(sheet.title)}. {escaped(sheet.about)}}}",
                rf"\label{{tab:{re.sub('[^a-z0-9-]+', '-', sheet.name.lower())}}}",
                rf"\begin{{tabular}}{{{columns}}}",
                r"\toprule",
                head,
                r"\midrule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                r"\end{table}",
            ]
        )
        + "\n"
    )


def escaped(text: str) -> str:
    """`text` in one line, every sign that LaTeX reads as its own made plain."""
    return _MARKUP.sub(lambda hit: _SIGNS[hit.group()], " ".join(text.split()))


def _guarded(cell: str) -> str:
    """A "[" or "*" after the end of a row would be read as an argument of that end."""
    return f"{{}}{cell}" if cell[:1] in ("[", "*") else cell


def _row(cells: list[str]) -> str:
    return rf"{' & '.join(cells)} \\"
