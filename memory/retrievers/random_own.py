"""k of the person's own messages by lot: what is gained by being theirs, whatever it says. Source: LaMP's control."""

import hashlib
from dataclasses import dataclass

import numpy as np

from memory.ranking import top
from memory.recall import History, Recalled


@dataclass(frozen=True)
class Policy:
    """Score: the number drawn, from (seed, user, before, query) alone."""

    k: int = 5
    seed: int = 0

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        key = repr((self.seed, history.user, history.before, query)).encode(errors="surrogatepass")
        drawn = np.random.default_rng(list(hashlib.sha256(key).digest())).random(len(history))
        return [Recalled(m, float(drawn[i]), {"draw": float(drawn[i])}) for i, m in top(history, drawn, self.k)]
