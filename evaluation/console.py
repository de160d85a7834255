"""What a person sees while something runs: progress with what is done, tokens and time left; tables; one-line errors.

On a terminal a bar that moves, elsewhere a plain line every few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from simulator.records import Turn
    from simulator.run import Progress
    from simulator.wrappers import Usage

WIDE = 240  # columns where there is no terminal: a file or a pipe takes lines of any length
EVERY = 10.0  # seconds between plain lines where there is no terminal


def console(stderr: bool = False) -> Console:
    from rich.console import Console

    found = Console(highlight=False, soft_wrap=True, stderr=stderr)
    if not found.is_terminal:
        found.width = WIDE
    return found


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], right: Iterable[str] = ()) -> None:
    """Prints a table; columns named in `right` are aligned right. Cells are text, never markup."""
    from rich.table import Table
    from rich.text import Text

    numbers = set(right)
    table = Table(title=title, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(cell)) for cell in row))
    console().print(table)


class Live:
    """A progress display for one task at a time; use as a context manager.

    `above`: on a terminal, what moves above the bar, e.g. growing threads. `stderr`: where standard output is for data.
    """

    def __init__(self, stderr: bool = False) -> None:
        self.above: Callable[[], Any] | None = None
        self._display: Any = None
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            SpinnerColumn,
            TextColumn,
            TimeRemainingColumn,
        )

        self._console = console(stderr)
        self._bar: Progress | None = None
        if self._console.is_terminal:
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(bar_width=16),
                MofNCompleteColumn(),
                TextColumn("left"),
                TimeRemainingColumn(compact=True),
                console=self._console,
            )
        self._tasks: dict[str, Any] = {}
        self._note = ""  # below the bars, where there is room for all of it
        self._said = 0.0
        self._began: dict[str, tuple[float, int]] = {}
        self._ended: dict[str, int] = {}

    def __enter__(self) -> Live:
        if self._bar is not None:
            from rich.live import Live as Display

            self._display = Display(get_renderable=self._shown, console=self._console, refresh_per_second=4)
            self._display.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._display is not None:
            self._display.stop()

    @property
    def moves(self) -> bool:
        """Whether this is a terminal, where what was shown can change."""
        return self._bar is not None

    def say(self, text: str) -> None:
        """Prints lines that stay, above what moves; text, never markup."""
        from rich.text import Text

        self._console.print(Text(text))

    def _shown(self) -> Any:
        from rich.console import Group
        from rich.text import Text

        noted = [Text(self._note, no_wrap=False, overflow="fold")] if self._note else []
        return Group(*([self.above()] if self.above else []), *([self._bar] if self._bar else []), *noted)

    def __call__(self, what: str, done: int, total: int | None = None, note: str = "") -> None:
        """Shows that `done` of `total` of `what` are finished."""
        if self._bar is not None:
            if what not in self._tasks:
                self._tasks[what] = self._bar.add_task(what, total=total)
            self._bar.update(self._tasks[what], completed=done, total=total)
            self._note = note
            return
        now = time.monotonic()
        first = self._began.setdefault(what, (now, done))
        line = f"{what}: {done}{f' of {total}' if total else ''}{_left(first, now, done, total)} {note}".rstrip()
        if now - self._said >= EVERY or first[0] == now or (done == total and self._ended.get(what) != done):
            self._said = now
            self._console.print(line)
        if done == total:
            self._ended[what] = done  # is said once, however often it is heard


def _left(first: tuple[float, int], now: float, done: int, total: int | None) -> str:
    began, at = first
    if not total or done <= at or done >= total:
        return ""
    return f", {(now - began) / (done - at) * (total - done):.0f} s left"


def failed(progress: Progress) -> str:
    """ "3 failed (1 empty, 2 copied)"."""
    classes = ", ".join(f"{n} {kind}" for kind, n in sorted(progress.failures.items()))
    return f"{progress.failed} failed" + (f" ({classes})" if classes else "")


def watch(live: Live, usage: Usage, what: str) -> Any:
    """A watcher for simulator.run.simulate that feeds `live` with calls, tokens and speed."""
    began = time.monotonic()

    def seen(progress: Progress, turn: Turn | None) -> None:
        speed = (usage.tokens_in - usage.cached + usage.tokens_out) / max(0.001, time.monotonic() - began)
        share = usage.cached / usage.tokens_in if usage.tokens_in else 0
        note = f"{usage.tokens_in + usage.tokens_out:,} tokens, {share:.0%} cached, {speed:.0f}/s"
        note += f", {failed(progress)}" if progress.failed else ""
        live(what, progress.calls_done, progress.calls, note)

    return seen
