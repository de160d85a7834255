"""Failed answers of the model by class, with the first case of each."""

from __future__ import annotations

from collections.abc import Sequence

from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Plot, Sheet

LONGEST = 200  # characters of an example


def failures(scored: Sequence[Scored]) -> Sheet:
    """One row for each (run, mode, task, class) with a failure; none where every answer could be read."""
    asked: dict[tuple[str, str, str], int] = {}
    failed: dict[tuple[str, str, str, str], list[Scored]] = {}
    for row in scored:
        if row.system == MODEL:
            key = row.run, row.mode, row.task
            asked[key] = asked.get(key, 0) + 1
            if row.failure is not None:
                failed.setdefault((*key, row.failure), []).append(row)
    keys = sorted(failed, key=lambda key: (-len(failed[key]), key))
    return Sheet(
        "failures",
        "Failures",
        "Answers that did not come, did not stand or could not be read. They stay in every value as the worst or a "
        "declared stand-in.",
        (
            Column("task", "Task"),
            Column("class", "Class"),
            Column("n", "Answers"),
            Column("share", "Share of asked", higher=False),
            Column("example", "First case", "what came back, or why nothing did"),
        ),
        tuple(
            (f"{key[2]}, {key[1]}", key[3], len(failed[key]), len(failed[key]) / asked[key[:3]], _example(failed[key]))
            for key in keys
        ),
        tuple({"run": k[0], "mode": k[1], "task": k[2], "system": MODEL, "failure": k[3]} for k in keys),
        Plot("bars", "class", "n", "task") if keys else None,
    )


def _example(rows: list[Scored]) -> str:
    said = next((text for r in rows if (text := r.reason or r.answer or "")), "")
    return said if len(said) <= LONGEST else f"{said[:LONGEST]} ..."
