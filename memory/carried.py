"""Vectors carried along with a dump, in a vectors.npz beside it, so that whoever imports it need not encode again.

They are used where the embedder's stamp and a text's hash are the same; everything else is encoded as ever.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from memory.corpus import Corpus
from memory.errors import BadInput
from memory.known import Known

FILE = "vectors.npz"


def save(corpus: Corpus, file: Path) -> int:
    """Writes the vectors of all texts of `corpus` to `file`, float16; how many there are."""
    hashes = np.concatenate([s.known.hashes for s in corpus.segments])
    vectors = np.concatenate([s.vectors[s.known.rows] for s in corpus.segments])
    known, first = np.unique(hashes, return_index=True)
    np.savez(file, stamp=np.str_(corpus.manifest["embedder"]["stamp"]), hashes=known, vectors=vectors[first])
    return len(known)


def load(folders: Iterable[Path], stamp: str) -> list[Known]:
    """The vectors of each folder that has such a file of this stamp.

    Raises:
        BadInput: a file of that name is something else.
    """
    found = []
    for file in sorted({folder / FILE for folder in folders}):
        if not file.is_file():
            continue
        try:
            with np.load(file, allow_pickle=False) as held:
                if str(held["stamp"]) == stamp:
                    found.append(Known.of(held["hashes"], held["vectors"]))
        except (ValueError, KeyError, zipfile.BadZipFile):
            raise BadInput(f"{file} does not hold vectors carried along with a dump; move it away") from None
    return found
