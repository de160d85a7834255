"""Series: the rows of one system, measured by groups of turns since the real thread, and how a metric changes there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation import metrics
from evaluation.analysis.estimates import jackknife, parts, slope, weighted_slope
from evaluation.analysis.lines import GROUPS, by_distance
from evaluation.rows import Scored
from evaluation.scoring import answers
from evaluation.stats import Interval, interval

Places = NDArray[np.intp]


@dataclass(frozen=True)
class Series:
    """Rows of one system. With `minus`, rows of the same slots in the same order, every value is a difference."""

    name: str
    rows: Sequence[Scored]
    minus: Sequence[Scored] = ()

    @cached_property
    def groups(self) -> list[tuple[tuple[int, int], list[Scored]]]:
        """(first distance, last distance) and rows of each group that is not empty."""
        return list(by_distance(self.rows))

    @cached_property
    def _group(self) -> NDArray[np.intp]:
        """For each row the place of its group."""
        ends = [high for (low, high) in GROUPS if any(low <= r.distance <= high for r in self.rows)]
        return np.searchsorted(ends, [r.distance for r in self.rows])

    @cached_property
    def _answers(self) -> list[metrics.Answers]:
        return [answers(rows) for rows in (self.rows, self.minus) if rows]

    @cached_property
    def people(self) -> list[str]:
        return [row.user for row in self.rows]

    def measured(self, column: metrics.Metric) -> tuple[list[Interval], Interval]:
        """The metric in each group, and its slope over distances, with intervals that count people."""
        return self._mean(column.item) if column.item else self._whole(column)

    def _mean(self, item: str) -> tuple[list[Interval], Interval]:
        beside = [row.metrics[item] for row in self.minus] or [0.0] * len(self.rows)
        values = np.array([row.metrics[item] for row in self.rows]) - beside
        names = np.array(self.people, object)
        inside = [np.flatnonzero(self._group == n) for n in range(len(self.groups))]
        found = [interval(values[at].tolist(), names[at].tolist()) for at in inside]
        return found, slope([row.distance for row in self.rows], values.tolist(), self.people)

    def _whole(self, column: metrics.Metric) -> tuple[list[Interval], Interval]:
        """Of a metric that is no mean of answers: every group, whole and without each part of the people."""
        part = parts(self.people)
        distance = np.array([row.distance for row in self.rows], np.float64)
        values, slopes = [], []
        for without in range(-1, int(part.max()) + 1):
            inside = [np.flatnonzero((self._group == n) & (part != without)) for n in range(len(self.groups))]
            values.append([self._value(column, at) for at in inside])
            x = [float(distance[at].mean()) if len(at) else 0.0 for at in inside]
            slopes.append(weighted_slope(x, values[-1], [len(at) for at in inside]))
        table = np.array(values)
        found = [
            jackknife(float(table[0, n]), table[1:, n].tolist(), len(rows), len({r.user for r in rows}))
            for n, (_, rows) in enumerate(self.groups)
        ]
        return found, jackknife(slopes[0], slopes[1:], len(self.rows), len(set(self.people)))

    def _value(self, column: metrics.Metric, at: Places) -> float:
        if not len(at) or column.whole is None:
            return float("nan")
        own, *other = (column.whole(_part(of, at)) for of in self._answers)
        return own - (other[0] if other else 0.0)


def _part(of: metrics.Answers, at: Places) -> metrics.Answers:
    def taken(values: list[Any]) -> list[Any]:
        return [values[n] for n in at]

    return metrics.Answers(taken(of.truth), taken(of.guess), of.labels, taken(of.p) if of.p else [])
