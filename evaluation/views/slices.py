"""Per community and per person: the model beside the baseline that was best over all, by a mean of single answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from evaluation import metrics
from evaluation.rows import MODEL, Scored
from evaluation.scoring import Cell
from evaluation.sheet import Column, Sheet, Value
from evaluation.stats import interval
from evaluation.verdict import best_of, system

Field = Literal["place", "user"]
TITLES = {"place": "Community", "user": "Person"}


def slices(scored: Sequence[Scored], cells: Sequence[Cell], field: Field) -> Iterator[Sheet]:
    """For each (run, mode, task) one sheet with a row for each community or person, those asked most first.

    Intervals of communities are clustered by person; a person is one cluster, so theirs have none.
    """
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.run, cell.mode, cell.task), []).append(cell)
    many = len({cell.run for cell in cells}) > 1
    rows: dict[tuple[str, str, str, str, str], list[Scored]] = {}
    for row in scored:
        if row.truth is not None:
            rows.setdefault((row.run, row.mode, row.task, row.system, getattr(row, field)), []).append(row)
    for key, group in groups.items():
        column = next(c for c in metrics.headline(group[0].kind) if c.item)
        rivals = [c for c in group if c.system != MODEL and not c.hindsight]
        top = best_of(rivals, column)
        best = next((c.system for c in rivals if c.metrics[column.name] == top), "")
        if any(found[:4] == (*key, MODEL) for found in rows):
            yield _sheet(rows, (*key, best), column, field, many)


def _sheet(
    rows: dict[tuple[str, str, str, str, str], list[Scored]],
    key: tuple[str, str, str, str],
    column: metrics.Metric,
    field: Field,
    many: bool,
) -> Sheet:
    run, mode, task, best = key
    own = {at[4]: group for at, group in rows.items() if at[:4] == (run, mode, task, MODEL)}
    named = sorted(own, key=lambda name: (-len(own[name]), name))
    which = f" ({run})" if many else ""
    lines = []
    for name in named:
        ours, theirs = own[name], rows.get((run, mode, task, best, name), [])
        users = [r.user for r in ours]
        values = [r.metrics[column.item] for r in ours]
        mean: Value = interval(values, users) if field == "place" else sum(values) / len(values)
        rival = [r.metrics[column.item] for r in theirs]
        lines.append(
            (
                name or "(none)",
                *([len(set(users))] if field == "place" else []),
                len(ours),
                sum(r.failure is not None for r in ours),
                mean,
                sum(rival) / len(rival) if rival else None,
            )
        )
    return Sheet(
        f"{'communities' if field == 'place' else 'people'}-{task}-{mode}" + (f"-{run}" if many else ""),
        f"{task.capitalize()}, {mode}{which}, by {TITLES[field].lower()}",
        f"{column.title} of the model, and of {system(best) or 'no baseline'}, the best over all.",
        (
            Column(field, TITLES[field]),
            *([Column("people", "People")] if field == "place" else []),
            Column("asked", "Asked"),
            Column("failed", "Failed", higher=False),
            Column("model", f"Model's {column.title}", higher=column.higher),
            Column("baseline", f"{system(best).capitalize()}'s" if best else "Baseline", higher=column.higher),
        ),
        tuple(lines),
        tuple({"run": run, "mode": mode, "task": task, field: name} for name in named),
    )
