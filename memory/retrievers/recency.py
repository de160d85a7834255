"""The person's last k messages: the control every cleverer strategy must beat. Source: LaMP's ranker "recency"."""

from dataclasses import dataclass

import numpy as np

from memory.ranking import top
from memory.recall import History, Recalled


@dataclass(frozen=True)
class Policy:
    """Score: minus the age in seconds at `before`."""

    k: int = 5

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        newest = top(history, np.arange(len(history)), self.k)  # the history is in order of time
        ages = [history.before - m.time for _, m in newest]
        found = [Recalled(m, -float(age), {"age_s": age}) for (_, m), age in zip(newest, ages, strict=True)]
        return sorted(found, key=lambda r: (-r.message.time, r.message.id))
