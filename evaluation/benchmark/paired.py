"""Rows of the reference protocol as scored answers, so that its cells are compared on the same items as any others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evaluation.benchmark.figures import FILL
from evaluation.rows import Scored
from evaluation.tasks import Kind, Value, load

READ = "chat reader, unread counted wrong"  # which of the reference's readers, and which of its ways to count
TEXTS = ("rouge1", "rougeL", "meteor", "sbert")  # its BLEU is made otherwise than the column of that name


def paired(row: Mapping[str, Any]) -> Scored:
    """The row of a model's answer by READ. A text item whose true text is empty is no target, as in the reference."""
    task = load(row["task"])
    truth, value = row["truth"], row["value"]["chat"]
    metrics = _metrics(task.KIND, truth, value, row.get("metrics") or {})
    return Scored(
        run=row["run"],
        mode="replay",
        task=row["task"],
        kind=task.KIND,
        thread=row["thread"],
        slot=row["slot"],
        repeat=row["repeat"],
        system=row["system"],
        user=row["user"],
        place=row["place"],
        parent="",
        time=0,
        distance=1,
        history=0,
        model=row["model"],
        seed=row["seed"],
        prompt_hash=row["prompt_hash"],
        truth=truth if task.KIND != "text" else truth or None,
        value=value,
        answer=row["answer"],
        failure=row["failure"] or ("unparseable" if value is None else None),
        reason=row["reason"],
        fill=FILL if value is None and task.KIND == "number" else None,
        metrics=metrics,
        stamps=dict.fromkeys(metrics, READ),
        attempts=row["attempts"],
        tokens_in=row["tokens_in"],
        tokens_out=row["tokens_out"],
        cached=row["cached"],
        seconds=row["seconds"],
    )


def _metrics(kind: Kind, truth: Any, value: Value | None, texts: Mapping[str, float]) -> dict[str, float]:
    if kind == "label":
        return {"correct": float(value == truth)}
    if kind == "number":
        return {"abs_error": abs(truth - (FILL if value is None else float(value)))}
    return {name: texts.get(name, 0.0) for name in TEXTS}
