"""A corpus with messages planted in it for a control, read like any other: they lie in a segment of their own beside
it, in a folder that is gone afterwards, and the corpus itself is never written to."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from memory.corpus import Corpus
from memory.errors import Missing
from memory.known import Known
from memory.message import Message
from memory.recall import Vectors
from memory.segment import FILE, WORDS, create
from memory.sorting import arrange
from memory.staging import fill
from memory.store import MemoryStore
from memory.stored import POST, UNKNOWN, Array, row_type, text_hash
from memory.words import together

_FIELDS: dict[str, Callable[[Message], Any]] = {
    "id": lambda m: m.id.encode(),
    "parent": lambda m: (m.parent or "").encode(),
    "thread_id": lambda m: m.thread.encode(),
    "time": lambda m: m.time,
    "score": lambda m: UNKNOWN if m.score is None else m.score,
    "flags": lambda m: POST if m.kind == "post" else 0,
}


class _Planted(MemoryStore):
    """Encodes with the model that `inner` has open."""

    def __init__(self, corpus: Corpus, inner: MemoryStore) -> None:
        super().__init__(corpus)
        self._inner = inner

    def _encode(self, texts: list[str]) -> Vectors:
        return self._inner._encode(texts)


@contextmanager
def planted(store: MemoryStore, messages: Sequence[Message], vectors: Vectors) -> Iterator[MemoryStore]:
    """`store` with `messages` in it, which have words and new ids, of authors, communities and threads that it has.
    `vectors`: one for each, whatever its words are; of no columns for a corpus without.

    Raises: Missing where the corpus was changed while it was open.
    """
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), store, messages, vectors)
        names = [str(s.folder.resolve()) for s in store.corpus.segments]
        try:
            corpus = Corpus(store.corpus.path, store.corpus.manifest | {"segments": [*names, folder]})
        except (FileNotFoundError, sqlite3.OperationalError):
            raise Missing(f"{store.corpus.path} was changed while it was read; run the command again") from None
        with closing(_Planted(corpus, store)) as found:
            yield found


def _write(folder: Path, store: MemoryStore, messages: Sequence[Message], vectors: Vectors) -> None:
    """The files of a segment, see memory/segment.py: its rows by (author, time, id)."""
    code = store.corpus.code
    authors = [code("authors", m.author or "") for m in messages]
    order = sorted(range(len(messages)), key=lambda n: (authors[n], messages[n].time, messages[n].id))
    rows = [messages[n] for n in order]
    people = np.array([authors[n] for n in order], np.int32)
    made = np.zeros(len(rows), row_type(-(-max(len(f"{m.id} {m.thread} {m.parent}".encode()) for m in rows) // 8) * 8))
    for name, of in _FIELDS.items():
        made[name] = [of(m) for m in rows]
    words = fill(made, *together([m.title for m in rows], [m.text for m in rows]))
    made["author"] = people
    for name in ("place", "thread"):
        made[name] = [code(f"{name}s", getattr(m, name)) for m in rows]
    np.save(folder / "rows.npy", made)
    (folder / WORDS).write_bytes(words)
    arrange(folder, len(made))
    with closing(sqlite3.connect(folder / FILE)) as sql:
        create(sql, "main")
        for author in np.unique(people):
            span = np.flatnonzero(people == author)
            sql.execute("insert into spans values (?, ?, ?)", (int(author), int(span[0]), int(span[-1]) + 1))
        sql.commit()
    vectors = np.asarray(vectors)[order].astype(np.float16)
    known = Known.of(np.array([text_hash(m.bare.words) for m in rows], "S16"), vectors)
    columns: dict[str, Array] = {
        "time": made["time"],
        "vectors": vectors,
        "known_hash": known.hashes,
        "known_row": known.rows,
    }
    for name, column in columns.items():
        np.save(folder / f"{name}.npy", column)
