"""What a plan can find: width of an interval and the smallest difference that a run of n items would show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from evaluation.stats.intervals import coded
from memory.errors import BadInput

ALPHA, POWER = 0.05, 0.8


@dataclass(frozen=True, slots=True)
class Plan:
    """`n` items of `users` people; `sd` of an item; `icc`: share of the variance that lies between people;
    `correlation` of two systems on one item, 0 where they answer different items."""

    n: int
    users: int
    sd: float
    icc: float = 0.0
    correlation: float = 0.0

    @property
    def effective(self) -> float:
        """Independent items that the plan is worth: n / design effect."""
        return self.n / design_effect(self.n / self.users, self.icc)

    @property
    def half_width(self) -> float:
        """Of the 95 % interval of one system's mean."""
        return z(1 - ALPHA / 2) * self.sd / math.sqrt(self.effective)

    @property
    def detectable(self) -> float:
        """The smallest true difference of two systems that is found with 80 % power at 5 %, two-sided."""
        omega2 = 2 * self.sd**2 * (1 - self.correlation)
        return (z(1 - ALPHA / 2) + z(POWER)) * math.sqrt(omega2 / self.effective)


def needed(difference: float, omega2: float) -> int:
    """Items that show `difference` with 80 % power, where omega2 is the variance of a paired difference.

    Source: Miller 2024 (2411.00640).
    """
    return math.ceil((z(1 - ALPHA / 2) + z(POWER)) ** 2 * omega2 / difference**2)


def design_effect(per_user: float, icc: float) -> float:
    """1 + (m - 1) ICC: how many times more items it takes when they come m a person."""
    return 1 + max(per_user - 1, 0.0) * icc


def icc(values: Sequence[float], groups: Sequence[str]) -> float:
    """Intraclass correlation by one-way analysis of variance, at least 0; nan where nobody has two items, or one person
    all. Source: Donner 1986, ICC(1) for groups of unequal size."""
    found = np.asarray(values, np.float64)
    at, names = coded(groups)
    n, count = len(found), len(names)
    if count < 2 or n <= count:
        return math.nan
    sizes = np.bincount(at)
    means = np.bincount(at, weights=found) / sizes
    within = float(((found - means[at]) ** 2).sum()) / (n - count)
    between = float((sizes * (means - found.mean()) ** 2).sum()) / (count - 1)
    typical = (n - float((sizes**2).sum()) / n) / (count - 1)
    total = between + (typical - 1) * within
    return max(0.0, (between - within) / total) if total > 0 else math.nan


def z(tail: float) -> float:
    if not 0 < tail < 1:
        raise BadInput(f"a probability of {tail} has no quantile; give one between 0 and 1")
    return NormalDist().inv_cdf(tail)
