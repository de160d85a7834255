"""Drift as a small SVG and as a table: how like the real replies, by simulated messages since the last real one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluation.rows import MODEL, Scored

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 220, 44, 34, 14
_GROUPS = ((1, 1, "1"), (2, 2, "2"), (3, 4, "3–4"), (5, 8, "5–8"), (9, 16, "9–16"), (17, 10**9, "17+"))
LINES = (("model", MODEL), ("own_nearest", "baseline:own_nearest"), ("parent_copy", "baseline:parent_copy"))
METRIC = "rouge1"


def drift(scored: Sequence[Scored]) -> dict[str, Any] | None:
    """Points of each line in picture coordinates with their values; None with fewer than two distances in a rollout."""
    rows = [r for r in scored if r.mode == "rollout" and METRIC in r.metrics]
    groups = [g for g in _GROUPS if any(g[0] <= r.distance <= g[1] for r in rows)]
    if len(groups) < 2:
        return None
    values = {
        name: [
            [r.metrics[METRIC] for r in rows if r.system == system and low <= r.distance <= high]
            for low, high, _ in groups
        ]
        for name, system in LINES
    }
    means = {name: [sum(v) / len(v) if v else 0.0 for v in line] for name, line in values.items()}
    top = _round_up(max(max(line) for line in means.values()))
    step = (WIDTH - LEFT - 20) / (len(groups) - 1)
    xs = [LEFT + 8 + n * step * 0.97 for n in range(len(groups))]
    lines = []
    for name, line in means.items():
        points = [(round(x, 1), round(_y(v, top), 1)) for x, v in zip(xs, line, strict=True)]
        lines.append({"name": name, "points": points, "path": " ".join(f"{x},{y}" for x, y in points), "values": line})
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": LEFT,
        "floor": HEIGHT - BOTTOM,
        "ticks": [(round(top * part / 4, 3), round(_y(top * part / 4, top), 1)) for part in range(5)],
        "labels": [(label, round(x, 1)) for (_, _, label), x in zip(groups, xs, strict=True)],
        "counts": [len(v) for v in values["model"]],
        "lines": lines,
    }


def _y(value: float, top: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * value / top


def _round_up(value: float) -> float:
    return next((top for top in (0.1, 0.2, 0.4, 0.6, 0.8) if value <= top), 1.0)
