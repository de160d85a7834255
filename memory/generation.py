"""A generation: one finished, never changed state of a corpus, as sorted arrays beside its messages.sqlite.

spoken_*.npy, vectors.npy   messages with words by (author, time, id): a person's past is one slice; nobody's last
all_*.npy                   every message by (time, id): what anybody could have known by a moment
known_*.npy                 hashes of texts, sorted, and the row of each in vectors.npy
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memory.errors import BadInput, Missing
from memory.recall import Vectors
from memory.record import FIELDS, WORDS, Record

MANIFEST = "manifest.json"
FORMAT = 1
UNKNOWN = -(2**31)  # in all_score
CHUNK = 4096

Array = NDArray[Any]


class Index(Protocol):
    """Where vectors come from: rows aligned with `ids`."""

    def vectors(self, ids: list[str]) -> Vectors: ...


class Known:
    """The vectors of a finished generation by the hash of their text, read where they lie."""

    ARRAYS = ("known_hash", "known_row", "vectors")

    def __init__(self, hashes: Array, rows: Array, vectors: Array) -> None:
        self._hashes, self._rows, self._vectors = hashes, rows, vectors

    @staticmethod
    def open(folder: Path) -> Known:
        return Known(*(np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in Known.ARRAYS))

    def get(self, key: bytes) -> Vectors | None:
        """float32 (d,), or None for a text that is not here."""
        [at] = self.places(np.array([key], "S16"))
        return None if at < 0 else np.asarray(self._vectors[at], np.float32)

    def places(self, keys: Array) -> Array:
        """For each of `keys` its row in the vectors, -1 where there is none."""
        if not len(self._hashes):
            return np.full(len(keys), -1)
        at = np.minimum(np.searchsorted(self._hashes, keys), len(self._hashes) - 1)
        return np.where(self._hashes[at] == keys, self._rows[at], -1)

    def fill(self, keys: Array, into: Array) -> Array:
        """Copies the vectors of `keys` that are here `into` their rows; the positions of the others."""
        places = self.places(keys)
        here = np.flatnonzero(places >= 0)
        into[here] = self._vectors[places[here]]
        return np.flatnonzero(places < 0)


def text_hash(text: str) -> bytes:
    """16 bytes: the name of a text in every cache of vectors."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:16]


def words(title: str, text: str | None) -> str:
    """As Message.words, for rows that never become a Message."""
    return "\n\n".join(part for part in (title, text or "") if part)


def read_manifest(corpus: Path) -> dict[str, Any]:
    """
    Raises:
        Missing: no corpus there. BadInput: one of another format, or a broken one.
    """
    file = corpus / MANIFEST
    if not file.is_file():
        what = "an import that was not finished" if corpus.is_dir() and any(corpus.iterdir()) else "no imported corpus"
        raise Missing(f"{corpus} holds {what}; make one with: personaconv import SOURCE... -o {corpus}")
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        version = manifest["format"]
    except (ValueError, TypeError, KeyError):
        raise BadInput(f"{file} cannot be read; import the corpus again into a new folder") from None
    if version != FORMAT:
        raise BadInput(f"{corpus} has format {version}, this version reads {FORMAT}; import it again into a new folder")
    return dict(manifest)


def publish(corpus: Path, folder: Path, manifest: dict[str, Any]) -> None:
    """Makes `folder` the corpus' state, in one step; older ones are removed, but stay readable to who has them open."""
    for file in folder.iterdir():
        with file.open("rb") as written:
            os.fsync(written.fileno())
    new = corpus / f"{MANIFEST}.new"
    with new.open("w", encoding="utf-8") as file_:
        json.dump({"format": FORMAT, "generation": folder.name, **manifest}, file_, indent=1)
        file_.flush()
        os.fsync(file_.fileno())
    new.replace(corpus / MANIFEST)
    sweep(corpus, folder.name)


def sweep(corpus: Path, keep: str | None) -> None:
    """Removes all generations but `keep`: older ones, and those of imports that were killed."""
    for folder in corpus.glob("generation-*"):
        if folder.name != keep:
            shutil.rmtree(folder)


def write(
    folder: Path,
    record: Record,
    index: Index,
    dim: int,
    progress: Callable[[int, int], None],
    old: Known | None = None,
) -> dict[str, Any]:
    """Writes the arrays of `folder` from its record and its vectors; what the manifest says of the contents.

    Vectors that an `old` generation has are copied from there, 100 times faster than the index gives them."""
    spoken = _spoken(folder, record, index, dim, progress, old)
    data_hash, total = _all(folder, record)
    one = record.sql.execute
    people = one(
        "select count(*) from authors where stop > start and not bot",
    ).fetchone()[0]
    return {
        "data_hash": data_hash,
        "counts": {
            "messages": total,
            "with words": spoken,
            "people": people,
            "authors": one("select count(*) from authors").fetchone()[0],
            "bots": one("select count(*) from authors where bot").fetchone()[0],
            "threads": one("select count(*) from threads").fetchone()[0],
            "places": one("select count(*) from places").fetchone()[0],
        },
    }


def _spoken(
    folder: Path,
    record: Record,
    index: Index,
    dim: int,
    progress: Callable[[int, int], None],
    old: Known | None,
) -> int:
    total: int = record.sql.execute(f"select count(*) from messages where {WORDS}").fetchone()[0]
    query = f"""select row, time, id, title, text, coalesce(authors.author, 0)
        from messages left join authors on authors.name = messages.author and not bot where {WORDS}
        order by authors.author is null, messages.author, time, id"""
    rows, times = np.empty(total, np.int64), np.empty(total, np.int64)
    owners, hashes = np.empty(total, np.int64), np.empty(total, "S16")
    vectors = np.lib.format.open_memmap(folder / "vectors.npy", "w+", np.float16, (total, dim))
    cursor, at = record.sql.execute(query), 0
    while found := cursor.fetchmany(CHUNK):
        part = slice(at, at + len(found))
        rows[part] = [f[0] for f in found]
        times[part] = [f[1] for f in found]
        owners[part] = [f[5] for f in found]
        hashes[part] = [text_hash(words(f[3], f[4])) for f in found]
        lacking = range(len(found)) if old is None else old.fill(hashes[part], vectors[part]).tolist()
        if lacking:
            vectors[at + np.array(lacking)] = index.vectors([found[i][2] for i in lacking])
        at += len(found)
        progress(at, total)
    vectors.flush()
    np.save(folder / "spoken_row.npy", rows)
    np.save(folder / "spoken_time.npy", times)
    known, first = np.unique(hashes, return_index=True)
    np.save(folder / "known_hash.npy", known)
    np.save(folder / "known_row.npy", first.astype(np.int64))
    edges = np.flatnonzero(np.diff(owners, prepend=-1, append=-1))
    spans = [(int(a), int(b), int(owners[a])) for a, b in pairwise(edges)]
    record.sql.execute("begin")
    record.sql.execute("update authors set start = 0, stop = 0")
    record.sql.executemany("update authors set start = ?, stop = ? where author = ?", spans)
    record.sql.execute("commit")
    return total


def _all(folder: Path, record: Record) -> tuple[str, int]:
    """Writes all_*.npy; the hash of every field of every message in (time, id) order, and their number."""
    total: int = record.sql.execute("select count(*) from messages").fetchone()[0]
    query = f"""select row, coalesce(authors.author, 0), coalesce(bot, 1), places.place, threads.thread,
        {", ".join("m." + f for f in FIELDS.split(", "))}
        from messages m left join authors on authors.name = m.author
        join places on places.name = m.place join threads on threads.id = m.thread order by time, m.id"""
    kinds: dict[str, type] = {"row": np.int64, "time": np.int64, "score": np.int32, "author": np.int32}
    kinds |= {"place": np.int32, "thread": np.int32, "speaks": np.bool_}
    arrays: dict[str, Array] = {name: np.empty(total, kind) for name, kind in kinds.items()}
    digest, at = hashlib.sha256(), 0
    cursor = record.sql.execute(query)
    while found := cursor.fetchmany(CHUNK):
        part = slice(at, at + len(found))
        arrays["row"][part] = [f[0] for f in found]
        arrays["author"][part] = [f[1] for f in found]
        arrays["place"][part] = [f[3] for f in found]
        arrays["thread"][part] = [f[4] for f in found]
        arrays["time"][part] = [f[9] for f in found]
        arrays["score"][part] = [UNKNOWN if f[11] is None else f[11] for f in found]
        arrays["speaks"][part] = [not f[2] and bool(f[10] or f[14]) for f in found]
        for row in found:
            digest.update(repr(row[5:]).encode(errors="surrogatepass"))
        at += len(found)
    for name, array in arrays.items():
        np.save(folder / f"all_{name}.npy", array)
    return digest.hexdigest(), total
