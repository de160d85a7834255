"""The person's last k messages: the control every cleverer strategy must beat. Source: LaMP's ranker "recency"."""

from dataclasses import dataclass

import numpy as np

from memory.ranking import fitting, told, top
from memory.recall import History, Recalled


@dataclass(frozen=True)
class Policy:
    """Score: minus the age in seconds at `before`."""

    k: int = 5
    max_tokens: int = 0

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        return fitting(newest(history, self.k), self.max_tokens)


def newest(history: History, k: int) -> list[Recalled]:
    """The last k, newest first; only these are read."""
    last = [m for _, m in top(history, np.arange(len(history)), k)]  # the history is in order of time
    last.sort(key=lambda m: (-m.time, m.id))
    minus_age = np.array([m.time - history.before for m in last])
    said = told({"recency": minus_age}, range(len(last)))
    return [Recalled(m, float(age), why) for m, age, why in zip(last, minus_age, said, strict=True)]
