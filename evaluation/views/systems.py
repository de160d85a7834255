"""The main table of each task and mode as a sheet: the model and its baselines, all measures, all counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from evaluation import metrics, tasks
from evaluation.scoring import SKILL, Cell
from evaluation.sheet import Column, Sheet, Value
from evaluation.verdict import system

MAIN = "main-"  # how the names of these sheets begin
COUNTS = (
    Column("people", "People", "whose answers were judged"),
    Column("asked", "Asked", "answers about messages whose truth is known"),
    Column("scored", "Read", "answers that could be read"),
    Column("failed", "Failed", "did not come or could not be read; they stay in every value", higher=False),
    Column("fallback", "Fell back", "found nothing earlier and used the next wider group", higher=False),
)


def systems(cells: Sequence[Cell]) -> Iterator[Sheet]:
    """One sheet for each (run, mode, task), in the order of the cells."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.run, cell.mode, cell.task), []).append(cell)
    many = len({cell.run for cell in cells}) > 1
    for (run, mode, task), group in groups.items():
        yield _sheet(group, f"{MAIN}{task}-{mode}" + (f"-{run}" if many else ""), f" ({run})" if many else "")


def _sheet(cells: list[Cell], name: str, which: str) -> Sheet:
    first = cells[0]
    asked = [c for c in metrics.optional(first.kind) if any(c.name in cell.metrics for cell in cells)]
    columns = (*metrics.of_kind(first.kind), *asked)
    means = [c for c in columns if c.item]
    skilled = first.kind in SKILL
    return Sheet(
        name,
        f"{first.task.capitalize()}, {first.mode}{which}",
        f"{tasks.load(first.task).QUESTION} The model and guesses that need no model, on the same messages; "
        "in brackets 95 % intervals that count people, not answers.",
        (
            Column("system", "System"),
            *(Column(c.name, c.title, c.stamp(), higher=c.higher) for c in columns),
            *(Column(f"{c.name}_people", f"{c.title}, mean of people", higher=c.higher) for c in means),
            *([Column("skill", "Model's skill over it", "1 - the model's error / its own")] if skilled else []),
            *COUNTS,
        ),
        tuple(
            (
                system(cell.system) + (" (hindsight)" if cell.hindsight else ""),
                *(cell.intervals[c.name] if c.name in cell.metrics else None for c in columns),
                *(cell.people_intervals[c.name] if c.name in cell.metrics else None for c in means),
                *([None if math.isnan(cell.skill) else cell.skill] if skilled else []),
                *_counts(cell),
            )
            for cell in cells
        ),
        tuple({"run": c.run, "mode": c.mode, "task": c.task, "system": c.system} for c in cells),
    )


def _counts(cell: Cell) -> tuple[Value, ...]:
    return cell.users, cell.asked, cell.scored, cell.failed, cell.fallback
