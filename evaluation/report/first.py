"""The first screen and the main tables: per run and mode a verdict, per task the model among its baselines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from evaluation import baselines, metrics, tasks
from evaluation.rows import BASELINE, MODEL, Scored
from evaluation.scoring import SKILL, Cell
from evaluation.stats import Interval
from evaluation.verdict import Standing, best_of, number, standings, system

MODES = {
    "replay": "Each turn answers the real thread; probes judge the real message.",
    "rollout": "Simulated messages replace the real ones; probes judge the simulated message against the score"
    " of the real one in its place. Baselines always see the real thread.",
    "free": "A new thread, by a scheduler: nobody really wrote here, so nothing is held against a truth.",
    "branch": "Another run's turns up to its first intervention, its own from there on.",
}


def modes(
    cells: Sequence[Cell], scored: Sequence[Scored], verdicts: Sequence[Mapping[str, str]]
) -> list[dict[str, Any]]:
    """Per run and mode, in the order of the cells: the stored verdict and a table for each task."""
    found = standings(cells, scored)
    said = {(v["run"], v["mode"]): v["verdict"] for v in verdicts}
    return [
        {
            "run": run,
            "mode": mode,
            "about": MODES.get(mode, ""),
            "verdict": said.get((run, mode), ""),
            "tasks": [
                _task([c for c in cells if (c.run, c.mode, c.task) == (run, mode, s.task)], s)
                for s in found
                if (s.run, s.mode) == (run, mode)
            ],
        }
        for run, mode in dict.fromkeys((s.run, s.mode) for s in found)
    ]


def rows_of(cell: Cell) -> str:
    """The query of the rows that a cell was made from."""
    where = {"run": cell.run, "mode": cell.mode, "task": cell.task, "system": cell.system}
    return urlencode(where, errors="replace")


def ends(value: Interval) -> str:
    """The ends of an interval; "" where they are unknown."""
    return "" if math.isnan(value.low) or math.isnan(value.high) else f"{number(value.low)} to {number(value.high)}"


def _task(cells: list[Cell], standing: Standing) -> dict[str, Any]:
    columns = metrics.headline(cells[0].kind)
    further = [c for c in metrics.of_kind(cells[0].kind) if not c.headline]
    best = {c.name: best_of(cells, c) for c in columns}
    mean = next(c for c in columns if c.item)
    about = {BASELINE + b.name: b.about for b in baselines.BASELINES}
    rows = [
        {
            "name": system(cell.system),
            "about": about.get(cell.system, ""),
            "model": cell.system == MODEL,
            "hindsight": cell.hindsight,
            "values": [
                (cell.intervals[c.name], not cell.hindsight and cell.metrics[c.name] == best[c.name]) for c in columns
            ],
            "further": [cell.intervals[c.name] for c in further],
            "per_person": cell.people_intervals[mean.name],
            "where": rows_of(cell),
            "cell": cell,
        }
        for cell in cells
    ]
    return {
        "name": cells[0].task,
        "question": tasks.load(cells[0].task).QUESTION,
        "columns": columns,
        "further": further,
        "skilled": cells[0].kind in SKILL,
        "mean": mean,
        "rows": rows,
        "where": rows_of(standing.model),
        "model": next(c for c in cells if c.system == MODEL),
        "standing": standing,
    }
