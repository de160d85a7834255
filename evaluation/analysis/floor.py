"""The human noise floor: how far two halves of the real people are apart, beside the simulated half and the real one.

Both are taken at the same size, so that a perfect imitation lies at the floor, not above it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from evaluation.stats import Interval

SPLITS = 20  # seeded halvings of the people
LEAST = 4  # people below whom halves say nothing

T = TypeVar("T")


class Sample(NamedTuple, Generic[T]):
    """Values and whose they are, aligned."""

    values: Sequence[T]
    people: Sequence[str]

    def of(self, some: set[str]) -> list[T]:
        return [value for value, user in zip(self.values, self.people, strict=True) if user in some]


class Halves(NamedTuple):
    """Means over splits with the range of the middle 95 % of them. `simulated`: one half's simulated values against the
    other half's real ones; `floor`: both real."""

    simulated: Interval
    floor: Interval


def halves(
    simulated: Sample[T], real: Sample[T], distance: Callable[[Sequence[T], Sequence[T]], float], seed: int
) -> Halves | None:
    """None below LEAST people, or where no split leaves values on all sides. The same for a seed.

    People without simulated values, or without real ones, are left out: both sides are of the same people.
    """
    people = sorted({*simulated.people} & {*real.people})
    if len(people) < LEAST:
        return None
    apart: list[tuple[float, float]] = []
    dice = np.random.default_rng(seed)
    for _ in range(SPLITS):
        order = [people[n] for n in dice.permutation(len(people))]
        one, other = {*order[: len(order) // 2]}, {*order[len(order) // 2 :]}
        for here, there in ((one, other), (other, one)):
            target = real.of(there)
            apart.append((distance(simulated.of(here), target), distance(real.of(here), target)))
    found = np.array(apart)
    return Halves(*(_range(found[:, side], len(people)) for side in (0, 1)))


def _range(values: np.typing.NDArray[np.float64], people: int) -> Interval:
    low, high = np.quantile(values, [0.025, 0.975])
    return Interval(float(values.mean()), float(values.std()), float(low), float(high), len(values), people)
