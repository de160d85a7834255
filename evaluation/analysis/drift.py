"""Drift: every headline metric against the simulated messages since the last real one, beside the same slots answered
with the real thread in view (own history minus gold history), and the slope of each.

Source: own-answer and gold-answer history as in MT-Eval (Kwan et al. 2024); drift of personas: 2402.10962.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from evaluation import metrics
from evaluation.analysis.lines import COUNTS, SINCE, counts, silent, span, where
from evaluation.analysis.series import DRAWS, Series
from evaluation.rows import MODEL, Scored
from evaluation.scoring import BASELINE
from evaluation.sheet import Column, Plot, Sheet, Value

BESIDE = ("own_nearest", "parent_copy", "community_majority", "community_median")  # they show how hard the slots are
OWN, GOLD, COST = "model", "model, real thread", "own minus real thread"
HOW = (
    f"Intervals count people: clustered for means of answers; for MCC, F1, RMSE and Spearman by {DRAWS} "
    "seeded resamples of people."
)
NONE = "No task has known truths at two distances: a replay has one distance, a free thread has no truth."
Line = tuple[tuple[Value, ...], Mapping[str, str]]  # a row of a sheet, and where it comes from


def drift(rows: Sequence[Scored], gold: Sequence[Scored] = ()) -> tuple[Sheet, ...]:
    """For each task its headline metrics by turns since the last real message and, where `gold` (rows of a replay) has
    the same slots, what the own history costs; then the slopes of all. One sheet that says so below two distances.

    `rows`: of one run. A failed answer is in every value by its stand-in, and counted.
    """
    sheets: list[Sheet] = []
    slopes: list[Line] = []
    for task, series in _tasks(rows, gold).items():
        columns = metrics.headline(series[0].rows[0].kind)
        lines: dict[bool, list[Line]] = {}
        for one in series:
            measured = [one.measured(column) for column in columns]
            of = {"task": task, "system": one.rows[0].system}
            for n, ((low, high), group) in enumerate(one.groups):
                values: tuple[Value, ...] = tuple(found[n] for found, _ in measured)
                at = {} if one.name == GOLD else {"distance": span(low, high)}  # replayed rows are all at distance 1
                line = ((one.name, low, high, *counts(group), *values), where(group, **at, **of))
                lines.setdefault(one.name == COST, []).append(line)
            for column, (_, slope) in zip(columns, measured, strict=True):
                slopes.append(((task, column.title, one.name, *counts(one.rows), slope), where(one.rows, **of)))
        sheets += [_by_turns(task, of_cost, found, columns) for of_cost, found in lines.items()]
    return (*sheets, _slopes(slopes)) if sheets else (silent("drift", "Drift", NONE),)


def _tasks(rows: Sequence[Scored], gold: Sequence[Scored]) -> dict[str, list[Series]]:
    """What is compared, of each task that has answers at two distances; the model first."""
    targets = [r for r in rows if r.truth is not None and r.metrics]
    replayed = {_slot(r): r for r in gold if r.truth is not None and r.metrics and r.system == MODEL}
    found = {}
    for task in sorted({r.task for r in targets}):
        of_task = [r for r in targets if r.task == task]
        own = [r for r in of_task if r.system == MODEL]
        if len({r.distance for r in own}) < 2:
            continue
        both = [r for r in own if _slot(r) in replayed]
        real = [replace(replayed[_slot(r)], distance=r.distance) for r in both]
        beside = (Series(name, [r for r in of_task if r.system == BASELINE + name]) for name in BESIDE)
        series = (Series(OWN, own), Series(GOLD, real), *beside, Series(COST, both, real))
        found[task] = [one for one in series if one.rows]
    return found


def _slot(row: Scored) -> tuple[str, str, str, int]:
    return row.task, row.thread, row.slot, row.repeat


def _by_turns(task: str, of_cost: bool, lines: Sequence[Line], columns: Sequence[metrics.Metric]) -> Sheet:
    name, title = f"drift-{task}", f"Drift, {task}"
    about = (
        "By simulated messages since the last real one. Baselines always see the real thread: where they change too, "
    )
    about += f"the slots do. {HOW}"
    if of_cost:
        name, title = f"drift-cost-{task}", f"What the own history costs, {task}: rolled out minus replayed"
        about = f"The same slots, answered after the model's own messages and after the real ones. {HOW}"
    shown = (Column(m.name, m.title, m.resource, higher=m.higher) for m in columns)
    return Sheet(
        name,
        title,
        about,
        (Column("system", "Who answers"), *SINCE, *COUNTS, *shown),
        tuple(line for line, _ in lines),
        tuple(found for _, found in lines),
        Plot("line", "since", columns[0].name, "system"),
    )


def _slopes(lines: Sequence[Line]) -> Sheet:
    change = Column("slope", "Slope", "change of the metric for one more simulated message", 4)
    return Sheet(
        "drift-slopes",
        "Drift: change for each simulated message",
        "Least squares over answers, its error clustered by person; for MCC, F1, RMSE and Spearman over the groups of "
        "turns, weighted by size, over resamples of people.",
        (Column("task", "Task"), Column("metric", "Metric"), Column("system", "Who answers"), *COUNTS, change),
        tuple(line for line, _ in lines),
        tuple(found for _, found in lines),
    )
