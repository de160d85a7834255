"""Brings a vector index to what a record says: only what is new or edited is encoded, equal texts once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np

from memory.generation import text_hash, words
from memory.recall import Vectors
from memory.record import WORDS, Record
from memory.store import Index

WINDOW = 2048  # messages looked up in the cache at a time
COMMIT = 256  # texts encoded between two commits to the cache: 4-6 s of work that a kill can cost


class Given(Protocol):
    """Vectors that are known already, by the hash of their text."""

    def get(self, key: bytes, /) -> Vectors | None: ...


def encode(
    record: Record,
    index: Index,
    model: Callable[[list[str]], Vectors],
    given: Given,
    progress: Callable[[int, int], None],
) -> int:
    """How many texts were encoded; `given` vectors are taken instead where there are any."""
    total = record.sql.execute(f"select count(*) from messages where {WORDS}").fetchone()[0]
    query = "select id, coalesce(author, ''), time, title, text from messages order by row"
    cursor, done, encoded = record.sql.execute(query), 0, 0
    while found := cursor.fetchmany(WINDOW):
        known = index.facts([f[0] for f in found])
        spoken = [(id, author, at, said) for id, author, at, title, text in found if (said := words(title, text))]
        index.remove([id for id in known if id not in {s[0] for s in spoken}])
        facts = {id: {"hash": text_hash(said).hex(), "author": author, "time": at} for id, author, at, said in spoken}
        moved = [i for i, f in facts.items() if i in known and known[i] != f and known[i]["hash"] == f["hash"]]
        if moved:
            index.upsert(moved, index.vectors(moved), [facts[id] for id in moved])
        new = {id: said for id, _, _, said in spoken if known.get(id, {}).get("hash") != facts[id]["hash"]}
        done += len(spoken) - len(new)
        progress(done, total)
        for ids, texts in _portions(new):
            vectors = {text: vector for text in texts if (vector := given.get(text_hash(text))) is not None}
            lacking = [text for text in texts if text not in vectors]
            vectors.update(zip(lacking, model(lacking) if lacking else (), strict=True))
            index.upsert(ids, np.array([vectors[new[id]] for id in ids]), [facts[id] for id in ids])
            encoded += len(lacking)
            done += len(ids)
            progress(done, total)
    return encoded


def _portions(new: dict[str, str]) -> Iterator[tuple[list[str], list[str]]]:
    """(ids, their different texts), at most COMMIT texts each; equal texts stand together and are encoded once."""
    sharing: dict[str, list[str]] = {}
    for id, text in new.items():
        sharing.setdefault(text, []).append(id)
    texts = list(sharing)
    for at in range(0, len(texts), COMMIT):
        part = texts[at : at + COMMIT]
        yield [id for text in part for id in sharing[text]], part
