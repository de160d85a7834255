"""The steps of an import as a person wants to see them: megabytes, rows and rows a second, with the time left."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluation.console import Live

MB = 1_000_000


class Steps:
    """Give it to import_corpus as its progress: bytes become MB, and every step says its speed."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._rows = 0
        self._began: dict[str, tuple[float, int]] = {}  # step -> when, and how far it was then

    def __call__(self, what: str, done: int, total: int | None) -> None:
        if what == "rows":
            self._rows = done
            self._began.setdefault(what, (time.monotonic(), done))
        elif what == "read":
            note = f"{self._rows:,} rows{self._speed('rows', self._rows, ', ', ' rows/s')}"
            whole = None if total is None else -(-total // MB)
            self._live("read (MB)", whole if whole is not None and done == total else done // MB, whole, note)
        else:
            self._live(what, done, total, self._speed(what, done, "", "/s"))

    def _speed(self, what: str, done: int, before: str, unit: str) -> str:
        """ "" until there is one."""
        began, at = self._began.setdefault(what, (time.monotonic(), done))
        speed = (done - at) / max(0.001, time.monotonic() - began)
        return f"{before}{speed:,.0f}{unit}" if speed else ""
