"""Batch: many messages of one source at once, a column for each field; what nearly all rows of a dump travel as."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap

import numpy as np
from numpy.typing import NDArray

from memory.reading import Row
from memory.stored import UNKNOWN


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages as a Row has them. `id`, `thread`, `parent`: bytes with Reddit's prefixes, at most WIDTH
    (memory/stored.py) of them, and all name something, but for a post's parent. `time`, `score`, `retrieved`: int64; a
    score can be UNKNOWN, `retrieved` 0. `line` is the first one's, the others follow. `bots`: authors that are."""

    id: NDArray[np.bytes_]
    thread: NDArray[np.bytes_]
    parent: NDArray[np.bytes_]
    author: list[str | None]
    time: NDArray[np.int64]
    text: list[str | None]
    score: NDArray[np.int64]
    place: list[str]
    retrieved: NDArray[np.int64]
    line: int
    title: list[str]
    post: NDArray[np.bool_]
    bots: frozenset[str] = frozenset()

    def __len__(self) -> int:
        return len(self.id)

    def rows(self) -> Iterator[Row]:
        """The same, one by one."""
        ids, threads, above = (
            np.char.decode(column, "ascii").tolist() for column in (self.id, self.thread, self.parent)
        )
        scores = (None if score == UNKNOWN else score for score in self.score.tolist())
        seen = (moment or None for moment in self.retrieved.tolist())
        parents = (parent or None for parent in above)
        kinds = ("post" if post else "comment" for post in self.post.tolist())
        bots = (author in self.bots for author in self.author)
        columns = (ids, threads, parents, self.author, self.time.tolist(), self.text, scores, self.place)
        more = (kinds, self.title, seen, range(self.line, self.line + len(self)), bots)
        yield from starmap(Row, zip(*columns, *more, strict=True))
