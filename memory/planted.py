"""A corpus with messages planted in it for a control, read like any other: they lie in a segment of their own beside
it, in a folder that is gone afterwards, and the corpus itself is never written to."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from memory.corpus import Corpus
from memory.errors import Missing
from memory.message import Message
from memory.recall import Vectors
from memory.segment import FILE, Array, Known, create, index, text_hash
from memory.store import MemoryStore


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
    with closing(sqlite3.connect(folder / FILE)) as sql:
        create(sql, "main")
        for n, m in enumerate(rows):
            said = (m.id, m.thread, m.parent, m.author, m.time, m.text, m.score, m.place, m.kind, m.title)
            values = (n, *said, m.thread, m.parent, m.time, None, 0, 1)
            sql.execute(f"insert into messages values ({', '.join('?' * len(values))})", values)
        for author in np.unique(people):
            span = np.flatnonzero(people == author)
            sql.execute("insert into spans values (?, ?, ?)", (int(author), int(span[0]), int(span[-1]) + 1))
        sql.commit()
        index(sql, "main")
    vectors = np.asarray(vectors)[order].astype(np.float16)
    known = Known.of(np.array([text_hash(m.bare.words) for m in rows], "S16"), vectors)
    by_time = sorted(range(len(rows)), key=lambda n: (rows[n].time, rows[n].id))
    columns: dict[str, Array] = {
        "time": np.array([m.time for m in rows], np.int64),
        "vectors": vectors,
        "known_hash": known.hashes,
        "known_row": known.rows,
        "all_row": np.array(by_time, np.int32),
        "all_time": np.array([rows[n].time for n in by_time], np.int64),
        "all_score": np.array([rows[n].score for n in by_time], np.int32),
        "all_author": people[by_time],
        "all_place": np.array([code("places", rows[n].place) for n in by_time], np.int32),
        "all_thread": np.array([code("threads", rows[n].thread) for n in by_time], np.int32),
        "all_speaks": np.ones(len(rows), np.bool_),
    }
    for name, column in columns.items():
        np.save(folder / f"{name}.npy", column)
