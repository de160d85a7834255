"""Intervals of the columns of a cell, made when they are looked at: people are resampled, never single answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from evaluation.metrics import Answers, Metric
from evaluation.rows import Scored
from evaluation.stats import Interval, interval, resampled, share
from evaluation.stats.intervals import Codes, coded
from evaluation.weighted import bounds, weighted

WAYS = 10  # threads from which on their own spread can be told; below, an interval speaks of these threads alone


class Intervals(Mapping[str, Interval]):
    """Metric -> Interval, each computed once, when it is asked for.

    Over all answers (micro): means by clustered errors, by person and, where both repeat and there are WAYS threads, by
    thread too; all else by resamples of people. With `macro`: for means, over people, of each one's mean.
    """

    def __init__(
        self,
        columns: Sequence[Metric],
        rows: Sequence[Scored],
        answers: Callable[[Sequence[Scored]], Answers],
        macro: bool = False,
    ) -> None:
        self._columns = {column.name: column for column in columns if column.item or not macro}
        self._rows, self._answers, self._macro = rows, answers, macro
        self._made: dict[str, Interval] = {}

    def __getitem__(self, name: str) -> Interval:
        if name not in self._made:
            self._made[name] = self._make(self._columns[name]).within(*bounds(self._columns[name]))
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def _make(self, column: Metric) -> Interval:
        if not self._rows:
            return Interval(np.nan, np.nan, np.nan, np.nan, 0, 0)
        people, names = self._people
        if column.item:
            values = [row.metrics[column.item] for row in self._rows]
            of = share if bounds(column) == (0.0, 1.0) else interval
            if not self._macro:
                return of(values, [row.user for row in self._rows], across=self._threads)
            return of((np.bincount(people, weights=values) / np.bincount(people)).tolist(), names)
        statistic, draws, items = weighted(column, self._answers(self._rows), people)
        return replace(resampled(statistic, len(names), items=items, draws=draws), n=len(people))

    @cached_property
    def _people(self) -> tuple[Codes, list[str]]:
        return coded([row.user for row in self._rows])

    @cached_property
    def _threads(self) -> list[str] | None:
        return across(self._rows)


def across(rows: Sequence[Scored]) -> list[str] | None:
    """The thread of each row, where people and threads both repeat and there are WAYS threads."""
    threads = [row.thread for row in rows]
    both = len({row.user for row in rows}) < len(rows) > len(set(threads)) >= WAYS
    return threads if both else None
