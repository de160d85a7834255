"""The plot of a sheet in picture coordinates: lines with intervals, points, or bars. Knows no markup."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from evaluation.rendering.text import is_words, middle, number, shown
from evaluation.sheet import Plot, Sheet, Value
from evaluation.stats import Interval

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 440, 60, 12, 12, 44  # narrow, so that 12 px letters stay readable on a phone
HEIGHT = 250
SERIES = 6  # colours that can be told apart; what is beyond stands in the table alone
BARS = 30
FEWEST = 3  # ticks of an axis that is log-like; of fewer, some more are put between
STEP, THICK, NAME = 22, 13, 150  # of bars: pitch, thickness, room for names


@dataclass
class Line:
    """One series: points (x, y, radius), whiskers (x, low y, high y) and the path through the points."""

    name: str
    points: list[tuple[float, float, float]] = field(default_factory=list)
    whiskers: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def path(self) -> str:
        return " ".join(f"{x},{y}" for x, y, _ in self.points)


@dataclass
class Picture:
    """`bars`: (name, y, width, value, series). `left_out`: series or bars that are in the table alone."""

    kind: str
    height: int
    x_title: str
    y_title: str
    width: int = WIDTH
    lines: list[Line] = field(default_factory=list)
    bars: list[tuple[str, float, float, str, int]] = field(default_factory=list)
    x_ticks: list[tuple[float, str]] = field(default_factory=list)
    y_ticks: list[tuple[float, str]] = field(default_factory=list)
    equality: tuple[float, float, float, float] | None = None
    left_out: int = 0

    @property
    def below(self) -> bool:
        """Whether a bar stands for a value below 0: it is drawn to the same side."""
        return any(value.startswith("−") for _, _, _, value, _ in self.bars)

    @property
    def box(self) -> tuple[int, int, int, int]:
        """Left, top, right and bottom of the inner field."""
        return LEFT, TOP, WIDTH - RIGHT, self.height - BOTTOM


def picture(sheet: Sheet) -> Picture | None:
    """None where the sheet has no plot, or nothing that can be drawn."""
    plot = sheet.plot
    if plot is None or not sheet.rows:
        return None
    at = {column.name: n for n, column in enumerate(sheet.columns)}
    titles = {column.name: column.title for column in sheet.columns}
    if plot.kind == "bars":
        return _bars(sheet, plot, at, titles)
    words = is_words(sheet, at[plot.x])
    places = list(dict.fromkeys(str(row[at[plot.x]]) for row in sheet.rows)) if words else []
    series = list(dict.fromkeys(str(row[at[plot.series]]) for row in sheet.rows)) if plot.series else [""]
    kept = [row for row in sheet.rows if not plot.series or str(row[at[plot.series]]) in series[:SERIES]]
    found: list[tuple[str, float, float, Value, float]] = []
    for row in kept:
        x = float(places.index(str(row[at[plot.x]]))) if words else middle(row[at[plot.x]])
        y = middle(row[at[plot.y]])
        if x is not None and y is not None:
            size = middle(row[at[plot.size]]) if plot.size else None
            which = str(row[at[plot.series]]) if plot.series else ""
            found.append((which, x, y, row[at[plot.y]], max(0.0, size or 0.0)))
    if not found:
        return None
    scale = _log if plot.log else _same
    xs = [scale(x) for _, x, _, _, _ in found]
    if plot.kind == "line" and len(set(xs)) < 2:
        return None  # the table says it all
    ys = [scale(end) for _, _, y, value, _ in found for end in (y, *_ends(value))]
    if plot.equality:
        xs = ys = [*xs, *ys]
    drawn = Picture(plot.kind, HEIGHT, titles[plot.x], titles[plot.y], left_out=max(0, len(series) - SERIES))
    left, top, right, bottom = drawn.box
    x_of, x_ticks = _axis(xs, left + 8, right - 8, places, plot.log)
    y_of, y_ticks = _axis(ys, bottom - 6, top + 6, [], plot.log)
    largest = max(size for *_, size in found) or 1.0
    lines = {name: Line(name) for name in series[:SERIES]}
    for name, x, y, value, size in found:
        radius = round(2.5 + 9 * math.sqrt(size / largest), 1) if plot.size else 3.0
        here = x_of(scale(x))
        lines[name].points.append((here, y_of(scale(y)), radius))
        lines[name].whiskers += [(here, *(y_of(scale(end)) for end in ends)) for ends in [_ends(value)] if ends]  # type: ignore[misc]
    drawn.lines = [line for line in lines.values() if line.points]
    drawn.x_ticks, drawn.y_ticks = x_ticks, y_ticks
    if plot.equality:
        low, high = max(min(xs), -1e9), max(xs)
        drawn.equality = (x_of(low), y_of(low), x_of(high), y_of(high))
    return drawn


def _bars(sheet: Sheet, plot: Plot, at: dict[str, int], titles: dict[str, str]) -> Picture | None:
    rows = [row for row in sheet.rows if middle(row[at[plot.y]]) is not None]
    kept = rows[:BARS]
    largest = max((abs(middle(row[at[plot.y]]) or 0.0) for row in kept), default=0.0)
    if not largest:
        return None
    series = list(dict.fromkeys(str(row[at[plot.series]]) for row in kept)) if plot.series else [""]
    drawn = Picture("bars", STEP * len(kept) + 8, titles[plot.x], titles[plot.y], left_out=len(rows) - len(kept))
    column = sheet.columns[at[plot.y]]
    for n, row in enumerate(kept):
        value = row[at[plot.y]]
        name = shown(row[at[plot.x]], sheet.columns[at[plot.x]])
        which = series.index(str(row[at[plot.series]])) if plot.series else 0
        wide = (WIDTH - NAME - 70) * abs(middle(value) or 0.0) / largest
        said = number(middle(value) or 0.0, 0 if isinstance(value, int) else column.places)
        drawn.bars.append((_short(name), 4 + n * STEP, round(wide, 1), said, min(which, SERIES - 1)))
    drawn.lines = [Line(name) for name in series[:SERIES]] if plot.series else []
    return drawn


def _short(name: str) -> str:
    flat = " ".join(name.split())
    return flat if len(flat) <= 22 else f"{flat[:21]}…"


def _ends(value: Value) -> tuple[float, float] | tuple[()]:
    known = isinstance(value, Interval) and math.isfinite(value.low) and math.isfinite(value.high)
    return (value.low, value.high) if isinstance(value, Interval) and known else ()


def _same(value: float) -> float:
    return value


def _log(value: float) -> float:
    return math.copysign(math.log10(1 + abs(value)), value)


def _axis(
    values: Sequence[float], start: float, end: float, places: Sequence[str], log: bool
) -> tuple[Callable[[float], float], list[tuple[float, str]]]:
    """From values on the scale to picture coordinates, and the ticks."""
    if places:
        low, high = 0.0, max(1.0, len(places) - 1.0)
        every = math.ceil(len(places) / 8)
        marks = [(float(n), _short(place)) for n, place in enumerate(places) if n % every == 0]
    elif log:
        low, high = min(0.0, *values), max(*values, _log(1))
        for steps in ((1,), (1, 3), (1, 2, 5)):  # as few as tell where a point stands
            places_up = [step * 10**n for n in range(9) for step in steps]
            numbers = [*(-t for t in reversed(places_up)), 0, *places_up]
            marks = [(_log(n), number(n, 0)) for n in numbers if low - 1e-9 <= _log(n) <= high + 1e-9]
            if len(marks) > FEWEST:
                break
    else:
        low, high = min(values), max(values)
        if high - low < 1e-9:
            low, high = low - 0.5, high + 0.5
        step = _step((high - low) / 4)
        if all(value == round(value) for value in values):
            step = max(1.0, math.ceil(step))
        low, high = math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step
        digits = next(n for n in range(9) if abs(round(step, n) - step) < 1e-9)
        marks = [(low + n * step, number(low + n * step, digits)) for n in range(round((high - low) / step) + 1)]

    def of(value: float) -> float:
        return round(start + (end - start) * (value - low) / (high - low), 1)

    return of, [(of(value), label) for value, label in marks]


def _step(rough: float) -> float:
    unit = 10 ** math.floor(math.log10(rough))
    return float(unit * next(n for n in (1, 2, 2.5, 5, 10) if n * unit >= rough - 1e-12))
