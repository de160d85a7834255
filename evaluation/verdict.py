"""The verdict: is the model ahead of the best trivial baseline, task by task? Pure functions over a table and its rows.

Ahead and behind go by the paired difference, whose interval counts people. The best baseline is chosen after the fact,
which is hard on the model. Baselines with hindsight read what the model may not see and are never the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from evaluation.contrast import difference
from evaluation.metrics import METRICS, Metric, headline
from evaluation.rows import BASELINE, MODEL, Scored
from evaluation.scoring import Cell
from evaluation.stats import Interval

GUARD = "accuracy"  # behind on it, a model that failed somewhere is not ahead: MCC can rise by failing on one class
SIGNS = {1: "ahead", 0: "undecided", -1: "behind"}
LEVEL = 1e-9  # what two values that are the same may differ by
HEADLINE = {"label": "mcc", "number": "mae", "text": "rouge1"}  # the metric that decides a task


@dataclass(frozen=True, slots=True)
class Standing:
    """One task of one mode. `gap`: the model's value - that of `best`, on the same answers; None without a `best`.
    `sign`: 1 ahead, -1 behind, where the interval of `gap` leaves out 0. Else 0, undecided: also where that interval is
    unknown or has no width, and for a model ahead that failed somewhere and is behind on GUARD.

    `wins` of `columns`: metrics on which the model's value alone is better than every baseline's.
    """

    run: str
    mode: str
    task: str
    metric: Metric
    model: Cell
    best: Cell | None
    gap: Interval | None
    sign: int
    wins: int
    columns: int


def standings(cells: Iterable[Cell], rows: Iterable[Scored]) -> list[Standing]:
    """One for each (run, mode, task) that has a model row, in the order of the cells; `rows`: what these come from."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.run, cell.mode, cell.task), []).append(cell)
    answered: dict[tuple[str, str, str, str], list[Scored]] = {}
    for row in sorted((r for r in rows if r.truth is not None), key=lambda r: r.key):
        answered.setdefault((row.run, row.mode, row.task, row.system), []).append(row)
    return [_standing(group, answered) for group in groups.values() if any(c.system == MODEL for c in group)]


def best_of(cells: Iterable[Cell], metric: Metric) -> float:
    """The best value of a column among systems without hindsight; nan where nobody has one."""
    values = [v for c in cells if not c.hindsight and not math.isnan(v := c.metrics.get(metric.name, math.nan))]
    return math.nan if not values else max(values) if metric.higher else min(values)


def verdict(found: Sequence[Standing]) -> str:
    """One sentence about the tasks of one mode: yes, partly, no or undecided, then each task with its values."""
    found = [s for s in found if s.model.asked]
    if not found:
        return "Nothing to judge: no answer is about a message whose true score or text is known."
    parts = [
        f"{word} on {_listed(_with_values(s) for s in found if s.sign == sign)}"
        for sign, word in SIGNS.items()
        if any(s.sign == sign for s in found)
    ]
    ahead = sum(s.sign == 1 for s in found)
    if not any(s.sign for s in found):
        users = max(s.model.users for s in found)
        people = "1 person" if users == 1 else f"{users} people"
        opening = f"Undecided: with {people}, nothing tells the model from the best trivial baseline"
    else:
        tasks = "1 task" if len(found) == 1 else f"{len(found)} tasks"
        opening = "Yes" if ahead == len(found) else "Partly" if ahead else "No"
        opening += f": the model beats the best trivial baseline on {ahead} of {tasks}"
    return f"{opening}; {', '.join(parts)}."


def system(name: str) -> str:
    """A system as it is printed: "baseline:own_last" is "own last"."""
    return name.removeprefix(BASELINE).replace("_", " ")


def number(value: float, places: int = 3) -> str:
    """Fixed decimals with a real minus; "n/a" for nan."""
    return "n/a" if math.isnan(value) else f"{value:.{places}f}".replace("-", "−")


def _standing(group: list[Cell], answered: Mapping[tuple[str, str, str, str], list[Scored]]) -> Standing:
    [model] = [c for c in group if c.system == MODEL]
    [metric] = [m for m in METRICS if m.name == HEADLINE[model.kind]]
    rivals = [c for c in group if c.system != MODEL and not c.hindsight]
    top = best_of(rivals, metric)
    best = next((c for c in rivals if c.metrics.get(metric.name) == top), None)
    columns = headline(model.kind)
    gains = {column.name: _gain(model, rivals, column) for column in columns}
    sides = [answered.get((c.run, c.mode, c.task, c.system), []) for c in (best, model) if c is not None]
    gap = _gap(metric, *sides) if best is not None else None
    sign = _sign(metric, gap) if gap is not None else 0
    if sign == 1 and model.failed and gains.get(GUARD, 0.0) < -LEVEL:
        sign = 0
    wins = sum(gain > LEVEL for gain in gains.values())
    return Standing(model.run, model.mode, model.task, metric, model, best, gap, sign, wins, len(columns))


def _gain(model: Cell, rivals: list[Cell], metric: Metric) -> float:
    """How much better the model's value is than that of every rival; nan where one is not there."""
    return (model.metrics[metric.name] - best_of(rivals, metric)) * (1 if metric.higher else -1)


def _gap(metric: Metric, first: list[Scored], second: list[Scored]) -> Interval | None:
    """second - first on the same answers; None where they are not the same."""
    same = [(r.thread, r.slot, r.repeat) for r in first] == [(r.thread, r.slot, r.repeat) for r in second]
    return difference(metric, first, second) if first and same else None


def _sign(metric: Metric, gap: Interval) -> int:
    if not gap.low < gap.high or gap.low <= 0 <= gap.high:
        return 0
    return 1 if (gap.low > 0) == bool(metric.higher) else -1


def _with_values(s: Standing) -> str:
    ours = number(s.model.metrics[s.metric.name])
    if s.best is None:
        return f"{s.task} ({s.metric.title} {ours})"
    if s.gap is None:
        return f"{s.task} ({s.metric.title} {ours}, {system(s.best.system)} {number(s.best.metrics[s.metric.name])})"
    ends = "" if math.isnan(s.gap.low) else f" [{_signed(s.gap.low)}, {_signed(s.gap.high)}]"
    spoilt = f", {s.model.failed} failed" if s.sign == 0 and _sign(s.metric, s.gap) else ""
    return f"{s.task} ({s.metric.title} {ours}, {_signed(s.gap.mean)}{ends} against {system(s.best.system)}{spoilt})"


def _signed(value: float) -> str:
    return number(value) if value < 0 else f"+{number(value)}"


def _listed(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
