"""What a corpus is called by its contents: the sum of its messages' hashes, whatever their order.

So what is changed is taken away and added, and nothing else is looked at. All of a message counts; many are looked at
together. See hashing.py, also for what it is not.
"""

from __future__ import annotations

import hashlib

import numpy as np

from memory.hashing import id_numbers, mixed, text_numbers
from memory.segment import Segment
from memory.stored import POST, TEXT, Array, Called

_PARTS = 4
_ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93], np.uint64)


class Digest:
    """`called`: the names of what the messages have as numbers."""

    def __init__(self, called: Called) -> None:
        self._called = called
        self._names = {table: np.zeros(1, np.uint64) for table in ("authors", "places")}

    def sum(self, records: Array, numbers: Array) -> Array:
        """uint64 (4,): of messages in a segment's form. `numbers`: (n, 4), of the id, the thread's id, the parent's and
        the words of each, see hashing.py."""
        kinds = (records["flags"] & (POST | TEXT)).astype(np.int64) | records["title"].astype(np.int64) << 8
        named = [self._of(f"{name}s", records[name]) for name in ("author", "place")]
        whole = np.zeros(len(records), np.uint64)
        for part in (*numbers.T, *named, records["time"], records["score"], kinds):
            whole = mixed(whole + part.astype(np.uint64))
        return np.array([mixed(whole + factor).sum(dtype=np.uint64) for factor in _ODD], np.uint64)

    def of(self, segment: Segment, rows: Array) -> Array:
        """The sum of these rows of a segment."""
        records = segment.rows.take(rows)
        words = text_numbers(b"".join(segment.said(records)), records["size"].astype(np.int64))
        ids = (id_numbers(records[name]) for name in ("id", "thread_id", "parent"))
        return self.sum(records, np.stack([*ids, words], axis=1))

    def _of(self, table: str, codes: Array) -> Array:
        """A number of the name of each; 0 for nobody."""
        if codes.max(initial=-1) >= len(self._names[table]):
            more = np.zeros(2 * int(codes.max()) + 2 - len(self._names[table]), np.uint64)
            self._names[table] = np.concatenate([self._names[table], more])
        known = self._names[table]
        found: Array = np.where(codes < 0, 0, known[codes])
        new = np.unique(codes[(found == 0) & (codes >= 0)]).tolist()
        if new:
            names = self._called(table, new)
            known[new] = [int.from_bytes(hashlib.sha256(names[code].encode()).digest()[:8]) for code in new]
            found = np.where(codes < 0, 0, known[codes])
        return found


def text_of(total: Array) -> str:
    """64 hex digits."""
    return "".join(f"{int(part):016x}" for part in total)


def total_of(text: str) -> Array:
    """The sums that text_of() had."""
    return np.array([int(text[at : at + 16], 16) for at in range(0, 16 * _PARTS, 16)], np.uint64)
