"""Gives the rows of a new segment their vectors: only what is new or edited is encoded, equal texts once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from memory.known import Known
from memory.recall import Vectors
from memory.store import Index
from memory.stored import Array, words
from memory.writing import Written

WINDOW = 256  # rows between two commits to the index: 4-6 s of work that a kill can cost


class Model(Protocol):
    @property
    def dim(self) -> int: ...
    def __call__(self, texts: list[str], /) -> Vectors: ...


def encode(
    written: Written,
    model: Model,
    given: Sequence[Known],
    index: Index | None,
    progress: Callable[[int, int], None],
    *,
    resumed: bool = False,
) -> int:
    """Writes the vectors, and those of fresh rows into the `index`; how many texts were encoded: those that none of
    `given` has, nor an earlier row. `resumed`: the index may have some of an import that was killed."""
    hashes, total, encoded = written.hashes, written.spoken, 0
    vectors = np.lib.format.open_memmap(written.folder / "vectors.npy", "w+", np.float16, (total, model.dim))
    own = Known.of(hashes, vectors)
    np.save(written.folder / "known_hash.npy", own.hashes)
    np.save(written.folder / "known_row.npy", own.rows)
    if not model.dim:
        return 0
    for start in range(0, total, WINDOW):
        lacking = part = np.arange(start, min(start + WINDOW, total))
        for known in given:
            lacking = known.fill(hashes, vectors, lacking)
        first = own.places(hashes[lacking])
        new, again = lacking[first == lacking], lacking[first != lacking]
        fresh = part[written.fresh[part]]
        wanted = np.union1d(new, fresh)
        said = dict(zip(wanted.tolist(), written.read(wanted), strict=True))
        if resumed and index is not None and len(new):
            new = _remembered(index, {at: said[at].id for at in new.tolist()}, hashes, vectors)
        if len(new):
            vectors[new] = model([words(said[at].title, said[at].text) for at in new.tolist()])
            encoded += len(new)
        vectors[again] = vectors[first[first != lacking]]
        if index is not None and len(fresh):
            facts = [
                {"hash": _hex(hashes[at]), "author": said[at].author or "", "time": said[at].time}
                for at in fresh.tolist()
            ]
            index.upsert([said[at].id for at in fresh.tolist()], np.asarray(vectors[fresh], np.float32), facts)
        progress(start + len(part), total)
    vectors.flush()
    return encoded


def _hex(key: bytes) -> str:
    return key.ljust(16, b"\0").hex()  # numpy leaves out zero bytes at the end


def _remembered(index: Index, ids: dict[int, str], hashes: Array, into: Array) -> Array:
    """Copies the vectors that the index has of these texts `into` their rows; the rows of the others."""
    facts = index.facts(list(ids.values()))
    found = {at: id for at, id in ids.items() if id in facts and facts[id]["hash"] == _hex(hashes[at])}
    if found:
        into[list(found)] = index.vectors(list(found.values()))
    return np.array([at for at in ids if at not in found], np.int64)
