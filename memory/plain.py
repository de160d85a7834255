"""Which threads of an import are plain: new, whole, and trees as they stand. They go into a segment as they are; all
others are marked, and a record mends them.

Ids are compared by 64 bits made of them, and where two seem the same by their bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from memory.copies import settle
from memory.earlier import Earlier
from memory.hashing import id_numbers
from memory.reading import Tally
from memory.shares import MOST, Filed, pieces, shares
from memory.staging import COPY, ID, ODD, PARENT, THREAD, Staged, fill
from memory.stored import POST, STAND_IN, UNKNOWN, Array
from memory.words import together

_LATEST = np.iinfo(np.int64).max


@dataclass
class _Threads:
    """Those of one share, by number from `first`: their names, whether each is `odd`, and for those without a post the
    time of their oldest message and the place to be given."""

    first: int
    names: Array
    odd: Array
    headless: Array
    oldest: Array
    place: Array


class Plain:
    """Looks through what was `staged`. Numbers of threads go on from `first`; `ranks` orders places by their names."""

    def __init__(
        self, staged: Staged, earlier: Earlier, first: int, ranks: dict[int, int], scratch: Path, most: int = MOST
    ) -> None:
        """`most`: rows looked at together, see shares()."""
        self._most = most
        self._staged, self._rows, self._earlier, self._first = staged, staged.rows, earlier, first
        self._codes = sorted(ranks, key=ranks.__getitem__)  # rank -> number of the place
        self._ranks = np.zeros(max(ranks, default=0) + 1, np.int32)
        self._ranks[[*ranks]] = [*ranks.values()]
        self._scratch = scratch
        self._threads: list[_Threads] = []
        self._wanted: list[Array] = []  # numbers of the ids that bring their threads along
        self._taken = np.empty(0, np.uint64)  # of comments with the name of a post

    def mark(self, sources: Sequence[str], tally: Tally) -> None:
        """Gives each row the number of its thread, and marks those whose thread is not plain, and older copies."""
        if not len(self._rows):
            return
        with ExitStack() as stack:
            ids, threads, parents = (stack.enter_context(closing(self._numbers(n))) for n in (ID, THREAD, PARENT))
            gone, twice = settle(self._staged, _twice(ids, self._most), sources, tally)
            self._staged.set("thread", gone, np.full(len(gone), -1))
            self._staged.set("source", gone, np.full(len(gone), COPY))
            self._taken = np.concatenate([_posing(part) for _, part in self._staged.parts()])
            for share in shares(threads, self._most):
                at = share[~np.isin(share, gone, assume_unique=True)] if len(gone) else share
                if len(at):
                    again = np.isin(at, twice, assume_unique=True)
                    self._look(at, ids.all[at], threads.all[at], parents.all[at], again)
            self._bring(ids.all)
        odd = np.concatenate([t.odd for t in self._threads])
        for _, part in self._staged.parts():
            marked = odd[np.maximum(part["thread"] - self._first, 0)] | (part["source"] == COPY)
            part["flags"] |= np.where(marked, np.uint8(ODD), np.uint8(0))

    def _numbers(self, n: int) -> Filed:
        return Filed.of(self._rows["numbers"][:, n], self._scratch / f"staged.numbers{n}", self._staged.release)

    def names(self) -> Iterator[tuple[int, str]]:
        """(number, id) of the plain threads."""
        for t in self._threads:
            for n in np.flatnonzero(~t.odd).tolist():
                yield t.first + n, t.names[n].decode()

    def stand_ins(self) -> Iterator[Array]:
        """Posts for the plain threads that have none, by their numbers: a second before the oldest message."""
        for t in self._threads:
            at = np.flatnonzero(t.headless & ~t.odd)
            made = np.zeros(len(at), self._staged.kind)
            made["id"] = made["thread_id"] = t.names[at]
            made["thread"], made["author"], made["place"] = t.first + at, -1, t.place[at]
            made["time"], made["score"], made["flags"] = t.oldest[at] - 1, UNKNOWN, POST | STAND_IN
            fill(made, *together([""] * len(at), [None] * len(at)))
            yield made

    def _look(self, at: Array, ids: Array, threads: Array, parents: Array, twice: Array) -> None:
        """Tells which threads of a share are odd. `at`: all rows of these threads; `twice`: whose id is there again."""
        rows = self._staged.take(at)
        flags, named, above, time = (
            np.ascontiguousarray(rows[name]) for name in ("flags", "thread_id", "parent", "time")
        )
        order = np.argsort(ids)
        up = order[np.minimum(np.searchsorted(ids, parents, sorter=order), len(at) - 1)]
        there = (ids[up] == parents) & (rows["id"][up] == above) & (named[up] == named)
        post = flags & POST != 0
        _, first, thread = np.unique(threads, return_index=True, return_inverse=True)
        head = np.full(len(first), -1)
        head[thread[post]] = np.flatnonzero(post)
        headless = head < 0
        fine = post | (there & (time[up] < time)) | (headless[thread] & (above == named))
        fine &= (flags & ODD == 0) & (named == named[first][thread]) & ~twice
        odd = np.bincount(thread[~fine], minlength=len(first)) > 0
        names = named[first]
        odd |= np.isin(threads[first], self._taken)
        if self._earlier:
            odd |= self._known(names) | self._earlier.has(names)
            odd |= np.bincount(thread[self._earlier.has(rows["id"])], minlength=len(first)) > 0
        number = self._first + sum(len(t.names) for t in self._threads)
        self._staged.set("thread", at, number + thread)
        oldest, place = np.full(len(first), _LATEST), np.zeros(len(first), np.int64)
        place[headless] = len(self._codes)
        some = np.flatnonzero(headless[thread])
        np.minimum.at(oldest, thread[some], time[some])
        np.minimum.at(place, thread[some], self._ranks[rows["place"][some]])
        self._threads.append(_Threads(number, names, odd, headless, oldest, np.array(self._codes)[place]))
        self._wanted += [parents[~post & ~there & odd[thread]], threads[first[odd]]]

    def _known(self, names: Array) -> Array:
        """Whether the corpus has each of these threads, or messages that belong to it."""
        named = [name.decode() for name in names.tolist()]
        known = {*self._earlier.threads(named), *(meant for meant, _ in self._earlier.strays(named))}
        return np.fromiter((name in known for name in named), np.bool_, len(named))

    def _bring(self, ids: Array) -> None:
        """The threads of parents that a marked row has elsewhere become odd as well: it may belong there. So does that
        of a comment that somebody takes for a thread."""
        wanted = np.unique(np.concatenate(self._wanted))
        if not len(wanted):
            return
        for t in self._threads:  # of which one without a post gets a stand-in
            t.odd |= np.isin(id_numbers(t.names), wanted)
        for start, part in pieces(ids):
            found = np.flatnonzero(np.isin(part, wanted))
            codes = np.unique(self._rows["thread"][start + found])
            for t in self._threads:
                mine = codes[(codes >= t.first) & (codes < t.first + len(t.names))]
                t.odd[mine - t.first] = True


def _posing(rows: Array) -> Array:
    """Numbers of the comments that are named as posts are."""
    some = rows[rows["flags"] & (ODD | POST) == ODD]
    found: Array = some["numbers"][some["id"].astype("S3") == b"t3_", ID]
    return found


def _twice(ids: Filed, most: int) -> Array:
    """Positions of what stands more than once, ascending."""
    found = []
    for at in shares(ids, most):
        values = ids.all[at]
        order = np.argsort(values)
        again = np.flatnonzero(values[order[1:]] == values[order[:-1]])
        found += [at[order[again]], at[order[again + 1]]]
    return np.unique(np.concatenate(found))
