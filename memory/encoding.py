"""Brings a vector index to what a record says: only what is new or edited is encoded, equal texts once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
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
    given: Sequence[Given],
    progress: Callable[[int, int], None],
    window: int = WINDOW,
) -> int:
    """How many texts were encoded: those that none of `given` has, and that no other message here says as well."""
    total = record.sql.execute(f"select count(*) from messages where {WORDS}").fetchone()[0]
    query = "select id, coalesce(author, ''), time, title, text from messages order by row"
    record.sql.execute("create temp table if not exists said(hash text primary key, id text) without rowid")
    cursor, done, encoded = record.sql.execute(query), 0, 0
    while found := cursor.fetchmany(window):
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
            vectors = _found(texts, given)
            vectors |= _said(record, index, [text for text in texts if text not in vectors])
            lacking = [text for text in texts if text not in vectors]
            vectors.update(zip(lacking, model(lacking) if lacking else (), strict=True))
            index.upsert(ids, np.array([vectors[new[id]] for id in ids]), [facts[id] for id in ids])
            encoded += len(lacking)
            done += len(ids)
            progress(done, total)
        in_index = [(f["hash"], id) for id, f in facts.items()]
        record.sql.executemany("insert or ignore into said values (?, ?)", in_index)
    return encoded


def _found(texts: list[str], given: Sequence[Given]) -> dict[str, Vectors]:
    found: dict[str, Vectors] = {}
    for text in texts:
        key = text_hash(text)
        vector = next((v for held in given if (v := held.get(key)) is not None), None)
        if vector is not None:
            found[text] = vector
    return found


def _said(record: Record, index: Index, texts: list[str]) -> dict[str, Vectors]:
    """The vectors of those `texts` that an earlier message has: it is in the index already."""
    text_of = {text_hash(text).hex(): text for text in texts}
    query = "select hash, id from said where hash in (select value from json_each(?))"
    rows = record.sql.execute(query, (json.dumps(list(text_of)),)).fetchall()
    vectors = index.vectors([id for _, id in rows]) if rows else ()
    return {text_of[key]: vector for (key, _), vector in zip(rows, vectors, strict=True)}


def _portions(new: dict[str, str]) -> Iterator[tuple[list[str], list[str]]]:
    """(ids, their different texts), at most COMMIT texts each; equal texts stand together and are encoded once."""
    sharing: dict[str, list[str]] = {}
    for id, text in new.items():
        sharing.setdefault(text, []).append(id)
    texts = list(sharing)
    for at in range(0, len(texts), COMMIT):
        part = texts[at : at + COMMIT]
        yield [id for text in part for id in sharing[text]], part
