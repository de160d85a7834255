"""Series: the rows of one system, measured by groups of turns since the real thread, and how a metric changes there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evaluation import metrics
from evaluation.analysis.estimates import slope, slopes
from evaluation.analysis.lines import GROUPS, by_distance
from evaluation.rows import Scored
from evaluation.scoring import answers
from evaluation.stats import Interval, interval, resampled, share
from evaluation.stats.intervals import Codes, Floats, coded
from evaluation.stats.resampling import Weighted
from evaluation.weighted import bounds, weighted

DRAWS = 500  # resamples of people, where a metric is no mean of answers


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
    def _group(self) -> Codes:
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
        return self._mean(column) if column.item else self._whole(column)

    def _mean(self, column: metrics.Metric) -> tuple[list[Interval], Interval]:
        beside = [row.metrics[column.item] for row in self.minus] or [0.0] * len(self.rows)
        values = np.array([row.metrics[column.item] for row in self.rows]) - beside
        names = np.array(self.people, object)
        inside = [np.flatnonzero(self._group == n) for n in range(len(self.groups))]
        of = share if bounds(column) == (0.0, 1.0) and not self.minus else interval
        found = [of(values[at].tolist(), names[at].tolist()) for at in inside]
        return found, slope([row.distance for row in self.rows], values.tolist(), self.people)

    def _whole(self, column: metrics.Metric) -> tuple[list[Interval], Interval]:
        """Of a metric that is no mean of answers, by resamples of people, the same in all groups."""
        people, names = coded(self.people)
        inside = [np.flatnonzero(self._group == n) for n in range(len(self.groups))]
        count = np.stack([np.bincount(people[at], minlength=len(names)) for at in inside]).astype(np.float64)
        x = np.array([np.mean([row.distance for row in rows]) for _, rows in self.groups])
        values = [self._statistic(column, people, at) for at in inside]
        found = []
        for of, (_, rows) in zip(values, self.groups, strict=True):
            one = resampled(of, len(names), items=len(self.rows), draws=DRAWS)
            found.append(replace(one, n=len(rows), groups=len({r.user for r in rows})))

        def steep(w: Floats) -> Floats:
            return slopes(x, np.stack([of(w) for of in values], axis=1), w @ count.T)

        return found, replace(resampled(steep, len(names), items=len(self.rows), draws=DRAWS), n=len(self.rows))

    def _statistic(self, column: metrics.Metric, people: Codes, at: Codes) -> Weighted:
        """The metric of the rows `at`; with `minus`, less that of those."""
        sides = [weighted(column, _part(of, at), people[at])[0] for of in self._answers]
        size = int(people[at].max()) + 1

        def of(w: Floats) -> Floats:
            drawn = w[:, :size]
            own, *other = (side(drawn) for side in sides)
            return own - other[0] if other else own

        return of


def _part(of: metrics.Answers, at: Codes) -> metrics.Answers:
    def taken(values: list[Any]) -> list[Any]:
        return [values[n] for n in at]

    return metrics.Answers(taken(of.truth), taken(of.guess), of.labels, taken(of.p) if of.p else [])
