"""Scored rows without a run: replies, labels and numbers at given distances, for tests of evaluation/analysis."""

from __future__ import annotations

from typing import Any

from evaluation.rows import MODEL, Scored


def reply(user: str, said: str | None, true: str | None = None, number: int = 1, **more: Any) -> Scored:
    """The person's reply as simulated message `number` of thread t3_x, a minute after the one before."""
    given: dict[str, Any] = {
        "run": "r", "mode": "rollout", "task": "generation", "kind": "text", "thread": "t3_x", "slot": f"t1_{number}",
        "repeat": 0, "system": MODEL, "user": user, "place": "club", "parent": "t3_x", "time": 1000 + 60 * number,
        "distance": number, "history": 5, "value": said, "truth": true, "failure": None if said else "empty",
    }  # fmt: skip
    return Scored(**{**given, **more})


def label(user: str, correct: bool, number: int = 1, truth: str = "positive", **more: Any) -> Scored:
    other = {"positive": "negative", "negative": "positive"}
    given: dict[str, Any] = {
        "task": "sentiment", "kind": "label", "metrics": {"correct": float(correct), "brier": float(not correct)},
    }  # fmt: skip
    return reply(user, truth if correct else other[truth], truth, number, **{**given, **more})
