"""Rows of a benchmark -> tables: one line a cell, over all items and by community; a pure step over stored rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from evaluation.benchmark import figures
from evaluation.benchmark.domains import places
from evaluation.benchmark.figures import Counting
from evaluation.benchmark.items import POSITIVE
from evaluation.metrics.numbers import expected_max, skill
from evaluation.rows import BASELINE, MODEL
from evaluation.stats import Interval

Row = dict[str, Any]
CELL = ("setting", "policy", "model", "seed")
NOWHERE = "(none)"  # items of posts that do not say their community
EACH_BY_TRUTH = "each metric chosen by itself with the true text in hand"
LIKELY = ("bits_per_byte", "likelihood_failed")  # of an item, not of its answers; a failed one has its value
COUNTED: dict[str, Counting] = {"left out, as there": "left_out", "counted wrong": "wrong"}


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table. `cell`: setting, policy, model, seed; for a baseline its name alone. `note`: how it was read
    and counted. `intervals`: of values, by metric, where they are known. `more`: values of further measures."""

    task: str
    place: str  # "" over all
    cell: tuple[str, ...]
    asked: int
    failed: int
    values: dict[str, float]
    note: str = ""
    intervals: Mapping[str, Interval] = field(default_factory=dict)
    more: dict[str, float] = field(default_factory=dict)

    @property
    def further(self) -> Line:
        """The same line with its further measures alone."""
        return replace(self, values=self.more, more={}, intervals={})

    def shown(self, name: str) -> str:
        """A value as a cell of a table, with its interval."""
        known, value = self.intervals.get(name), self.values.get(name)
        return shown(value) if known is None or value is None else f"{known:{_places(value)}}"


def lines(rows: Sequence[Row]) -> list[Line]:
    """Over all items, then community by community."""
    found = list(_over(rows, ""))
    names = {str(row["place"]) for row in rows}
    for place in places(names) if len(names) > 1 else []:
        found += _over([row for row in rows if str(row["place"]) == place], place or NOWHERE)
    return found


def _over(rows: Sequence[Row], place: str) -> Iterable[Line]:
    there = [row for row in rows if row["protocol"] == "reference"]
    for cell, own in _grouped([row for row in there if row["system"] == MODEL]).items():
        yield from _reference(cell[0], place, cell[1:], own)
    yield from guessed([row for row in there if row["system"] != MODEL], place)
    yield from _corrected([row for row in rows if row["protocol"] == "corrected"], place)


def _grouped(rows: Sequence[Row]) -> dict[tuple[str, ...], list[Row]]:
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault((row["task"], *(str(row[name]) for name in CELL)), []).append(row)
    return found


def _corrected(rows: Sequence[Row], place: str) -> Iterable[Line]:
    from dataclasses import fields

    from evaluation.metrics import headline, of_kind, optional
    from evaluation.rows import Scored
    from evaluation.scoring import table

    own = {f.name for f in fields(Scored)}
    cells: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        name = tuple(str(row[n]) for n in CELL) if row["system"] == MODEL else (str(row["system"]),)
        cells.setdefault(name, []).append(row)
    for name, those in sorted(cells.items(), key=lambda cell: cell[0][0].startswith(BASELINE)):  # models first
        for cell in table(Scored(**{k: v for k, v in row.items() if k in own}) for row in those):
            shown = [*headline(cell.kind), *(m for m in optional(cell.kind) if m.name in cell.metrics)]
            values = {m.name: cell.metrics[m.name] for m in shown}
            answers = answered(those) if cell.kind == "text" and cell.system == MODEL else {}
            most = min(map(len, answers.values()), default=1)
            note = f"mean of {most}" if most > 1 else ""
            more = {m.name: cell.metrics[m.name] for m in of_kind(cell.kind) if not m.headline}
            yield Line(cell.task, place, name, cell.asked, cell.failed, values, note, cell.intervals, more)
            for k in sorted({2, most}) if most > 1 else ():
                best = {m.name: _best(answers.values(), m.item, k) for m in headline(cell.kind)}
                note = f"expected best of {k}, {EACH_BY_TRUTH}"
                yield Line(cell.task, place, name, len(answers), cell.failed, best, note)


def skills(made: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """(columns, rows): a row a baseline, a column a model's cell: by how much that errs less over all items. Labels by
    the Brier score, numbers by MAE; of the corrected protocol."""
    errors = {
        line.cell: line.more.get("brier", line.values.get("mae")) for line in made if line.more and not line.place
    }
    known = {cell: error for cell, error in errors.items() if error is not None}
    models = [cell for cell in known if not cell[0].startswith(BASELINE)]
    others = [cell for cell in known if cell[0].startswith(BASELINE)]
    rows = [[other[0], *(shown(skill(known[model], known[other])) for model in models)] for other in others]
    return [" ".join(filter(None, cell)) for cell in models], rows


def answered(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """The answers to each text item that has a truth, failed ones too, which have the worst values."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["kind"] == "text" and row["truth"] is not None:
            found.setdefault((row["thread"], row["slot"]), []).append(row)
    return found


def _best(items: Iterable[Sequence[Row]], name: str, k: int) -> float:
    each = [expected_max([row["metrics"][name] for row in own], k) for own in items]
    return math.fsum(each) / len(each)


def _reference(task: str, place: str, cell: tuple[str, ...], rows: Sequence[Row]) -> Iterable[Line]:
    failed = sum(row["failure"] is not None for row in rows)
    if task == "generation":
        yield from _texts(place, cell, rows, failed)
        return
    for reader in ("chat", "log"):
        said = [row["value"][reader] for row in rows]
        for how, counting in COUNTED.items():
            truth = [row["truth"] for row in rows]
            make: Any = figures.classification if task == "sentiment" else figures.regression
            unread = sum(value is None for value in said)
            note = f"{reader} reader, {how}"
            yield Line(task, place, cell, len(rows), unread, make(truth, said, counting), note)


def guessed(rows: Sequence[Row], place: str) -> Iterable[Line]:
    """The baselines, once for each set of items; settings with the same items share a line. "always positive" stands
    there too: what the reference's own figures have to beat."""
    settings: dict[tuple[str, str], dict[str, list[Row]]] = {}
    for row in rows:
        settings.setdefault((row["task"], row["system"]), {}).setdefault(row["setting"], []).append(row)
    for (task, system), each in settings.items():
        sets: dict[frozenset[tuple[str, str]], list[str]] = {}
        for setting, own in each.items():
            sets.setdefault(frozenset((row["thread"], row["slot"]) for row in own), []).append(setting)
        for names in sets.values():
            own, cell = each[names[0]], (system, *((" = ".join(names),) if len(sets) > 1 else ()))
            yield _guessed(task, place, cell, own)
            if system == BASELINE + "majority":
                always = [row | {"value": {"chat": POSITIVE}} for row in own]
                yield _guessed(task, place, (BASELINE + "always_positive", *cell[1:]), always)


def _guessed(task: str, place: str, cell: tuple[str, ...], rows: Sequence[Row]) -> Line:
    truth, said = [row["truth"] for row in rows], [row["value"]["chat"] for row in rows]
    note = "hindsight: reads a score of the item's own post" if any(row.get("hindsight") for row in rows) else ""
    if task == "generation":
        targets = [row for row in rows if row["truth"]]
        names = sorted({name for row in targets for name in row["metrics"]})
        values = {n: figures.mean_of([row["metrics"].get(n) for row in targets], "wrong") for n in names}
        return Line(task, place, cell, len(targets), 0, values, note)
    make: Any = figures.classification if task == "sentiment" else figures.regression
    return Line(task, place, cell, len(rows), 0, make(truth, said, "wrong"), note)


def _texts(place: str, cell: tuple[str, ...], rows: Sequence[Row], failed: int) -> Iterable[Line]:
    """The mean of all answers, counted wrong where they failed, and the oracle's choice among the answers to an item.
    Items whose true text is empty are no targets, as in the reference."""
    targets = [row for row in rows if row["truth"]]
    names = sorted({name for row in targets for name in row.get("metrics", {})})
    each: dict[tuple[str, str], list[Row]] = {}
    for row in targets:
        each.setdefault((row["thread"], row["slot"]), []).append(row)
    most = max((len(own) for own in each.values()), default=0)

    def values(own: Sequence[Row], name: str) -> list[float | None]:
        return [row["metrics"].get(name) for row in own]

    mean = {n: figures.mean_of(values(targets, n), "left_out" if n in LIKELY else "wrong") for n in names}
    yield Line("generation", place, cell, len(targets), failed, mean, f"mean of {most}, counted wrong")
    for drop in (True, False):
        best = {n: [figures.best_of(values(own, n), drop) for own in each.values()] for n in names if n not in LIKELY}
        found = {name: figures.mean_of(chosen, "left_out") for name, chosen in best.items()}
        note = f"oracle best of {most}, left out, zeros {'left out (GPT there)' if drop else 'count'}"
        yield Line("generation", place, cell, len(each), failed, found, note)


def shown(value: float | None) -> str:
    """As a cell of a table."""
    if value is None or math.isnan(value):
        return "" if value is None else "nan"
    return f"{value:{_places(value)}}"


def _places(value: float) -> str:
    return ".3f" if abs(value) < 100 else ".1f"
