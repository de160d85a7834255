"""Sorting more than memory should hold: a column is gone through in shares of its values, each small enough to sort.

Long columns are in mapped files, whose memory is given back as it is gone through: it counts for the process otherwise.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 1 << 17  # values of a share, about: what sorting takes is 5 to 50 MB for so many
_SAMPLED = 1 << 16
SPAN = 1 << 21  # bytes of a mapped file that are looked at before its memory is given back

Array = NDArray[Any]
Release = Callable[[], None]


class Filed:
    """An array in a file of its own, which is removed with it: memory holds what is being looked at."""

    def __init__(self, file: Path, kind: Any, length: int) -> None:
        self._file = file
        self._map = np.memmap(file, kind, "w+", shape=(length,)) if length else None
        self.all: Array = np.empty(0, kind) if self._map is None else np.asarray(self._map)

    @staticmethod
    def of(column: Array, file: Path, release: Release, change: Callable[[Array], Array] = lambda part: part) -> Filed:
        """What `change` makes of each piece of a column in a mapped file."""
        made = Filed(file, change(column[:0]).dtype, len(column))
        for start, part in pieces(column, max(1, 4 * SPAN // max(1, column.strides[0]))):
            made.all[start : start + len(part)] = change(part)
            release()
            made.release()
        return made

    def release(self) -> None:
        """Gives back the memory of what was looked at."""
        if self._map is not None:
            held: mmap.mmap = self._map._mmap  # type: ignore[attr-defined]
            held.madvise(mmap.MADV_DONTNEED)

    def close(self) -> None:
        self.all, self._map = np.empty(0), None
        self._file.unlink(missing_ok=True)


def shares(column: Filed, most: int = MOST) -> Iterator[Array]:
    """Positions in `column`, all of them once: those of its lowest values first, ascending within a share. Equal values
    are in one share, which may then be larger than `most`."""
    length = len(column.all)
    if length <= most:
        yield from [np.arange(length)] if length else ()
        return
    sample = np.sort(column.all[:: max(1, length // _SAMPLED)])
    count = 2 + 5 * length // (4 * most)
    edges = np.unique(sample[np.linspace(0, len(sample) - 1, count).astype(np.int64)[1:-1]])
    for low, high in pairwise([None, *edges, None]):
        if len(found := _between(column, low, high)):
            yield found


def _between(column: Filed, low: Any, high: Any) -> Array:
    found = []
    for start, part in pieces(column.all):
        keep = np.ones(len(part), np.bool_) if low is None else part >= low
        if high is not None:
            keep &= part < high
        found.append(start + np.flatnonzero(keep))
        column.release()
    return np.concatenate(found)


def pieces(column: Array, most: int = MOST) -> Iterator[tuple[int, Array]]:
    """(position of its first, the piece) of a long array."""
    for start in range(0, len(column), most):
        yield start, column[start : start + most]


def spans(column: Array, at: Array) -> Iterator[tuple[int, int]]:
    """Where the ascending positions `at` are to be cut, so that little of a mapped column is looked at together."""
    rows = max(1, SPAN // max(1, column.strides[0]))
    yield from pairwise(np.searchsorted(at, [*range(0, len(column), rows), len(column)]).tolist())


def taken(column: Array, at: Array, release: Release) -> Array:
    """`column[at]` of a mapped file, in the order of the file, and its memory given back on the way."""
    if len(column) * column.strides[0] <= SPAN:
        return picked(column, at)
    ascends = bool((at[1:] >= at[:-1]).all())
    order = np.arange(0) if ascends else np.argsort(at)
    ascending, found = at if ascends else at[order], np.empty(len(at), column.dtype)
    for first, last in spans(column, ascending):
        if column.flags.c_contiguous:
            column.take(ascending[first:last], out=found[first:last], mode="clip")
        else:
            found[first:last] = column[ascending[first:last]]
        release()
    if ascends:
        return found
    return picked(found, _places(order))


def picked(column: Array, at: Array) -> Array:
    """`column[at]`: of whole records eight times as fast as numpy's brackets."""
    return column.take(at) if column.flags.c_contiguous else column[at]


def ordered(ids: Callable[[Array], Array], *keys: Array) -> Array:
    """Positions by `keys`, the first counting most, then by id: `ids` gives those of some positions, and is asked only
    where all keys are equal."""
    at = np.lexsort(keys[::-1])
    level = np.ones(max(0, len(at) - 1), np.bool_)
    for key in keys:
        in_order = key[at]
        level &= in_order[1:] == in_order[:-1]
    if level.any():
        first = np.flatnonzero(level)
        tied = np.union1d(first, first + 1)
        some = at[tied]
        at[tied] = some[np.lexsort((by_text(ids(some)), *(key[some] for key in keys[::-1])))]
    return at


def by_text(ids: Array) -> Array:
    """The rank of each of `ids` (bytes) among them."""
    return _places(text_order(ids))


def _places(order: Array) -> Array:
    """Where each position stands in `order`."""
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(len(order))
    return found


def text_order(ids: Array) -> Array:
    """Positions of `ids` (bytes, of a width that eight divides) in their order: by numbers, which is far faster."""
    parts = eights(ids)
    keys = [parts[:, n] for n in range(parts.shape[1]) if n == 0 or parts[:, n].any()]
    return np.lexsort(keys[::-1])


def eights(ids: Array) -> Array:
    """uint64 (n, width / 8): `ids`, eight bytes a number, in their order."""
    found: Array = np.ascontiguousarray(ids).view(">u8").reshape(len(ids), ids.dtype.itemsize // 8).astype(np.uint64)
    return found
