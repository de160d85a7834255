"""Known: vectors by the hash of their text, so that no text is encoded twice."""

from __future__ import annotations

import numpy as np

from memory.recall import Vectors
from memory.stored import Array


class Known:
    """Vectors by the hash of their text: the rows of `vectors`, read where they lie."""

    def __init__(self, hashes: Array, rows: Array, vectors: Array) -> None:
        self.hashes, self.rows, self.vectors = hashes, rows, vectors

    @staticmethod
    def of(hashes: Array, vectors: Array) -> Known:
        """`hashes` of each of the `vectors`, in any order; of equal ones the first counts."""
        known, first = np.unique(hashes, return_index=True)
        return Known(known, first, vectors)

    def get(self, key: bytes) -> Vectors | None:
        """float32 (d,), or None for a text that is not here."""
        [at] = self.places(np.array([key], "S16"))
        return None if at < 0 else np.asarray(self.vectors[at], np.float32)

    def places(self, keys: Array) -> Array:
        """For each of `keys` its row in the vectors, -1 where there is none."""
        if not len(self.hashes):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self.hashes, keys), len(self.hashes) - 1)
        return np.where(self.hashes[at] == keys, self.rows[at], -1)

    def fill(self, keys: Array, into: Array, at: Array) -> Array:
        """Copies the vectors of those `keys` that stand at the positions `at` and are here `into` the same positions;
        the positions of the others."""
        places = self.places(keys[at])
        here = places >= 0
        into[at[here]] = self.vectors[places[here]]
        return at[~here]
