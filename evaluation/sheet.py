"""Sheet: a table of results that knows what its columns mean. Every analysis gives what it found in this one form; the
console, the report and the exported files print it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from evaluation.stats import Interval

Value = str | int | float | Interval | None
PlotKind = Literal["line", "scatter", "bars"]


@dataclass(frozen=True, slots=True)
class Column:
    """`name` is stable and fit for a file; `title` is what a reader sees; `about` says what it is and in what unit.
    `higher`: whether more is better, None where neither is."""

    name: str
    title: str
    about: str = ""
    places: int = 3
    higher: bool | None = None


@dataclass(frozen=True, slots=True)
class Plot:
    """How a sheet is drawn: column names. One line or colour for each value of `series`, all in one where it is "".

    `size`: how large a point is. `equality`: with the line of x = y. `log`: both axes as sign(v) log(1 + |v|).
    """

    kind: PlotKind
    x: str
    y: str
    series: str = ""
    size: str = ""
    equality: bool = False
    log: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """`rows` have a value for each of `columns`; None where there is none, nan where it is undefined. `where`: for each
    row, field -> value of the scored rows that it was made from ({} where it was made from all); empty for no rows."""

    name: str
    title: str
    about: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    where: tuple[Mapping[str, str], ...] = ()
    plot: Plot | None = None
