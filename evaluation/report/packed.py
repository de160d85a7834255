"""What the page shows only when asked for, as one compressed block: texts once, by line; rows by column.

Lines of messages come back in prompts behind a quotation mark, and prompts of a thread share most of theirs, so a text
is a list of numbers of lines; -1 - n is line n behind "> ". page.js unpacks it.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from evaluation.report.names import named
from evaluation.rows import MODEL, Scored
from evaluation.scoring import number
from evaluation.transcript import plain
from memory.fence import MARK

CODED = (
    "run", "mode", "task", "system", "user", "place", "thread", "slot", "failure", "judged", "retriever", "model",
    "fallback",
)  # fmt: skip
NUMBERS = ("repeat", "distance", "history")
PLACES = 4  # decimals of a metric's value on the page; scores.ndjson has all
NAMES = ("user", "place", "thread", "slot", "author")

Text = int | list[int] | None


class Lines:
    """Every line of every text, once, safe to show."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def text(self, text: str | None) -> Text:
        """What stands for `text`."""
        if text is None:
            return None
        found = [self._line(line) for line in plain(text, show=True).split("\n")]
        return found[0] if len(found) == 1 else found

    def _line(self, line: str) -> int:
        if line.startswith(MARK):
            return -1 - self.known.setdefault(line[len(MARK) :], len(self.known))
        return self.known.setdefault(line, len(self.known))


def pack(content: Any) -> str:
    """JSON, raw deflate, base64: nothing in it can end a script element."""
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    press = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, 9)
    return b64encode(press.compress(data.encode("utf-8", "replace")) + press.flush()).decode()


def columns(rows: Sequence[Scored], lines: Lines) -> dict[str, Any]:
    """The rows by column: `words` of each coded field and the numbers that stand for them; metrics by name. `safe`:
    words as they are shown, where that differs."""
    found: dict[str, Any] = {"size": len(rows), "words": {}, "safe": {}, "coded": {}, "metrics": {}}
    for field in CODED:
        values = ["yes" if (value := getattr(row, field)) is True else value or "" for row in rows]
        at = {value: n for n, value in enumerate(dict.fromkeys(values))}
        found["words"][field] = [_valid(value) for value in at]
        found["coded"][field] = [at[value] for value in values]
        safe = named if field in NAMES else _shown
        found["safe"][field] = {n: shown for value, n in at.items() if (shown := safe(value)) != value}
    for field in NUMBERS:
        found[field] = [getattr(row, field) for row in rows]
    found["measured"] = [round(number(row), PLACES) if row.kind == "number" else None for row in rows]
    for field in ("truth", "value"):
        found[field] = [_value(row, getattr(row, field), lines) for row in rows]
    found["answer"] = [lines.text(row.answer) if row.value is None and row.system == MODEL else None for row in rows]
    found["reason"] = [lines.text(row.reason or None) for row in rows]
    for name in ("p", "mass"):
        found[name] = [_rounded(row.detail.get(name)) for row in rows]
    for name in dict.fromkeys(key for row in rows for key in row.metrics):
        found["metrics"][name] = [_rounded(row.metrics.get(name)) for row in rows]
    return found


def _value(row: Scored, value: str | float | None, lines: Lines) -> Any:
    if row.kind == "text" and value is not None:
        return lines.text(str(value))
    return round(value, PLACES) if isinstance(value, float) else value


def _rounded(value: Any) -> float | None:
    return round(value, PLACES) if isinstance(value, float | int) else None


def _shown(text: str) -> str:
    return plain(text, show=True)


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
