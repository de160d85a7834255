"""The verdict: is the model ahead of the best trivial baseline, task by task? Pure functions over the table's cells.

The best baseline is chosen after the fact, metric by metric, which is hard on the model. Baselines with hindsight read
what the model may not see and are never the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluation.metrics import METRICS, Metric, headline
from evaluation.rows import MODEL
from evaluation.scoring import BASELINE, Cell

GUARD = "accuracy"  # behind on it, a model that failed somewhere is not ahead: MCC can rise by failing on one class
HEADLINE = {"label": "mcc", "number": "mae", "text": "rouge1"}  # the metric that decides a task


@dataclass(frozen=True, slots=True)
class Standing:
    """One task of one mode. `sign`: 1 ahead of `best` on the headline metric, 0 level, -1 behind, None undefined, or
    ahead with failures and behind on GUARD.

    `wins` of `columns`: metrics on which the model is ahead of the best baseline for that very metric.
    """

    run: str
    mode: str
    task: str
    metric: Metric
    model: Cell
    best: Cell | None
    sign: int | None
    wins: int
    columns: int


def standings(cells: Iterable[Cell]) -> list[Standing]:
    """One for each (run, mode, task) that has a model row, in the order of the cells."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.run, cell.mode, cell.task), []).append(cell)
    return [_standing(group) for group in groups.values() if any(c.system == MODEL for c in group)]


def best_of(cells: Iterable[Cell], metric: Metric) -> float:
    """The best value of a column among systems without hindsight; nan where nobody has one."""
    values = [v for c in cells if not c.hindsight and not math.isnan(v := c.metrics.get(metric.name, math.nan))]
    return math.nan if not values else max(values) if metric.higher else min(values)


def verdict(found: Sequence[Standing]) -> str:
    """One sentence about the tasks of one mode: yes, partly or no, then each task with both values."""
    ahead = [s for s in found if s.sign == 1]
    opening = "Yes" if len(ahead) == len(found) else "Partly" if ahead else "No"
    parts = [
        f"{word} on {_listed(_with_values(s) for s in found if s.sign == sign)}"
        for sign, word in ((1, "ahead"), (0, "level"), (-1, "behind"), (None, "undecided"))
        if any(s.sign == sign for s in found)
    ]
    if not found:
        return "Nothing to judge."
    tasks = "1 task" if len(found) == 1 else f"{len(found)} tasks"
    return f"{opening}: the model beats the best trivial baseline on {len(ahead)} of {tasks}; {', '.join(parts)}."


def system(name: str) -> str:
    """A system as it is printed: "baseline:own_last" is "own last"."""
    return name.removeprefix(BASELINE).replace("_", " ")


def number(value: float, places: int = 3) -> str:
    """Fixed decimals with a real minus; "n/a" for nan."""
    return "n/a" if math.isnan(value) else f"{value:.{places}f}".replace("-", "−")


def _standing(group: list[Cell]) -> Standing:
    [model] = [c for c in group if c.system == MODEL]
    [metric] = [m for m in METRICS if m.name == HEADLINE[model.kind]]
    rivals = [c for c in group if c.system != MODEL and not c.hindsight]
    top = best_of(rivals, metric)
    best = next((c for c in rivals if c.metrics.get(metric.name) == top), None)
    signs = [_sign(model, rivals, column) for column in headline(model.kind)]
    sign = _sign(model, rivals, metric)
    guards = [column for column in headline(model.kind) if column.name == GUARD]
    if sign == 1 and model.failed and any(_sign(model, rivals, guard) == -1 for guard in guards):
        sign = None
    return Standing(model.run, model.mode, model.task, metric, model, best, sign, signs.count(1), len(signs))


def _sign(model: Cell, rivals: list[Cell], metric: Metric) -> int | None:
    ours, theirs = model.metrics[metric.name], best_of(rivals, metric)
    if math.isnan(ours) or math.isnan(theirs):
        return None
    gap = (ours - theirs) * (1 if metric.higher else -1)
    return 0 if math.isclose(ours, theirs, abs_tol=1e-9) else (1 if gap > 0 else -1)


def _with_values(s: Standing) -> str:
    ours = number(s.model.metrics[s.metric.name])
    if s.best is None:
        return f"{s.task} ({s.metric.title} {ours})"
    theirs = number(s.best.metrics[s.metric.name])
    return f"{s.task} ({s.metric.title} {ours}, {system(s.best.system)} {theirs})"


def _listed(parts: Iterable[str]) -> str:
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
