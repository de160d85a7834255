"""Personaconv, top layer: was it like them?

scored = await evaluation.score(turns, store)      # rows: the model and every baseline on the same targets
cells = evaluation.table(scored)                   # per mode, task and system: metrics and counts
    evaluation.write_report(run, manifest, turns, scores, store)   # one HTML file
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluation.baselines import BASELINES, Baseline
    from evaluation.metrics import METRICS, Metric
    from evaluation.report.page import write_report
    from evaluation.rows import Scored, dump, load
    from evaluation.scoring import Cell, score, table
    from evaluation.tasks import Task

__all__ = [
    "BASELINES",
    "METRICS",
    "Baseline",
    "Cell",
    "Metric",
    "Scored",
    "Task",
    "dump",
    "load",
    "score",
    "table",
    "write_report",
]

_HOME = {
    "BASELINES": "baselines",
    "METRICS": "metrics",
    "Baseline": "baselines",
    "Cell": "scoring",
    "Metric": "metrics",
    "Scored": "rows",
    "Task": "tasks",
    "dump": "rows",
    "load": "rows",
    "score": "scoring",
    "table": "scoring",
    "write_report": "report.page",
}


def __getattr__(name: str) -> Any:
    """Imported when first asked for, so that importing the package costs nothing."""
    if name not in _HOME:
        raise AttributeError(f"module 'evaluation' has no attribute {name!r}")
    return getattr(import_module(f"evaluation.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return list(__all__)
