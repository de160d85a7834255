"""MemoryStore: a person's past before a moment, and vectors of texts. The only file that knows Chroma.

Chroma keeps the vectors (and with them the cache of what was encoded). A past is not asked of it but read exactly from
the person's own slice, 0.03-0.2 ms against 26-350 ms for its filtered query; `History.native` asks Chroma all the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from memory.corpus import Corpus
from memory.embed import NAMES, Embedder, open_embedder
from memory.errors import Missing, UnknownName
from memory.message import Message
from memory.messages import Messages
from memory.recall import Vectors
from memory.stored import Array, text_hash

FOLDER = "chroma"
_REMEMBERED = 4096  # newly encoded texts whose vectors are kept (6 MB)


@dataclass(frozen=True)
class Past:
    """A History read from a corpus: one slice, decoded and widened only as far as it is looked at."""

    user: str
    before: int
    messages: Sequence[Message]
    times: Array  # int64 (n,), ascending: UTC seconds of each message, without decoding it
    _narrow: Callable[[], Array]  # float16 (n, d), read from disk
    _embed: Callable[[list[str]], Awaitable[Vectors]]
    _native: Callable[[Vectors, str, int, int], list[tuple[str, float]]]

    def __len__(self) -> int:
        return len(self.messages)

    @cached_property
    def vectors(self) -> Vectors:
        return widened(self._narrow())

    async def embed(self, texts: list[str]) -> Vectors:
        return await self._embed(texts)

    def part(self, messages: Sequence[Message], at: list[int]) -> Past:
        """Only these `messages`, which stand at the ascending positions `at`."""
        return replace(self, messages=messages, times=self.times[at], _narrow=lambda: self._narrow()[at])

    def native(self, query: Vectors, k: int) -> list[tuple[str, float]]:
        """The k nearest by Chroma's own filtered query: (id, cosine), nearest first."""
        return self._native(query, self.user, self.before, min(k, len(self)))


def widened(narrow: Array) -> Vectors:
    """float16 as float32, exactly, where all are finite: bits shifted into place, then the exponent set right.

    numpy's own conversion is 5 times slower and was half of a recall (measured: 0.8 ms for 1,000 rows, this 0.16).
    """
    bits = np.ascontiguousarray(narrow).view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= ~0x70000000  # the sign came along, into the upper bits of the exponent too
    found: Vectors = bits.view(np.float32)
    found *= np.float32(2.0**112)  # 127 - 15, between the biases of the two exponents
    return found


class MemoryStore:
    """The memory of everybody in a corpus. `embedder` is the stamp its vectors carry."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.embedder: str = corpus.manifest["embedder"]["stamp"]
        self.dim: int = corpus.manifest["embedder"]["dim"]
        self._model: Embedder | None = None
        self._opening = threading.Lock()  # protects _model and _index: each is opened once
        self._index: Index | None = None
        self._remembered: dict[bytes, Vectors] = {}

    @staticmethod
    def open(path: Path, embedder: str | None = None) -> MemoryStore:
        """`embedder`: the one it was imported with, by default.

        Raises:
            Missing: no corpus there, or none with this embedder's vectors; says how to make it.
        """
        corpus = Corpus.open(path)
        has = corpus.manifest["embedder"]["name"]
        if embedder not in (None, has):
            corpus.close()
            if embedder.partition(":")[0] not in {name.partition(":")[0] for name in NAMES}:
                raise UnknownName("embedder", embedder, NAMES)
            raise Missing(
                f"{path} has vectors of {has!r}, not {embedder!r}; import it again with --embedder {embedder}"
            )
        return MemoryStore(corpus)

    def close(self) -> None:
        if self._index is not None:
            self._index.close()
            self._index = None
        self.corpus.close()

    def history(self, user: str, *, before: int, strangers: bool = False) -> Past:
        """What `user` wrote strictly before `before` (UTC seconds). `strangers`: nothing, for a name not in the corpus.

        Raises:
            UnknownName: nobody of that name, or a bot.
        """
        try:
            times, rows, narrow = self.corpus.past(user, before)
        except UnknownName:
            if not strangers:
                raise
            none = np.empty(0, np.int64)
            times, rows, narrow = none, none, lambda: np.empty((0, self.dim), np.float16)
        messages = Messages(self.corpus, rows)
        return Past(user, before, messages, times, narrow, self.embed, self._nearest)

    async def embed(self, texts: list[str]) -> Vectors:
        """float32 (len(texts), d), unit rows: looked up where the text is in the corpus, else encoded in a thread.

        Raises:
            Missing: the corpus has no vectors, or its model is not here.
        """
        if not self.dim:
            raise Missing(
                f"{self.corpus.path} was imported without vectors (--embedder none); import the same sources into it "
                "again with --embedder minilm, or take a policy that needs none, such as bm25"
            )
        hashes = [text_hash(text) for text in texts]
        found = {h: self._look_up(h) for h in hashes}
        new = {h: text for h, text in zip(hashes, texts, strict=True) if found[h] is None}
        if new:
            vectors = await asyncio.to_thread(self._encode, list(new.values()))
            found.update(zip(new, vectors, strict=True))
            if len(self._remembered) + len(new) > _REMEMBERED:
                self._remembered.clear()
            self._remembered.update(zip(new, vectors, strict=True))
        return np.array([found[h] for h in hashes], np.float32).reshape(-1, self.dim)

    def _look_up(self, key: bytes) -> Vectors | None:
        found = (vector for s in self.corpus.segments if (vector := s.known.get(key)) is not None)
        return next(found, self._remembered.get(key))

    def _encode(self, texts: list[str]) -> Vectors:
        with self._opening:
            if self._model is None:
                self._model = open_embedder(self.corpus.manifest["embedder"]["name"], threads=1)
                if self._model.name != self.embedder:
                    raise Missing(
                        f"{self.corpus.path} has vectors of {self.embedder}, but the model here is {self._model.name}; "
                        "install that one, or import the corpus again"
                    )
        return self._model(texts)

    def _nearest(self, query: Vectors, user: str, before: int, k: int) -> list[tuple[str, float]]:
        with self._opening:
            if self._index is None:
                self._index = Index(self.corpus.path, self.embedder)
        return self._index.nearest(query, user, before, k)


class Index:
    """The Chroma collection of one embedder: cosine, our own vectors, keyed by message id, no texts."""

    def __init__(self, corpus: Path, stamp: str, *, new: bool = False) -> None:
        """`new`: what another import has left under this stamp is thrown away."""
        import chromadb
        from chromadb.config import Settings

        self._client = chromadb.PersistentClient(
            path=str(corpus / FOLDER), settings=Settings(anonymized_telemetry=False)
        )
        name = f"vectors-{hashlib.sha256(stamp.encode()).hexdigest()[:16]}"
        if new and name in {held.name for held in self._client.list_collections()}:
            self._client.delete_collection(name)
        self._vectors = self._client.get_or_create_collection(
            name,
            configuration={"hnsw": {"space": "cosine"}},
            metadata={"embedder": stamp},
            embedding_function=None,  # the default one downloads a model at the first call
        )
        self.batch: int = self._client.get_max_batch_size()

    def close(self) -> None:
        self._client.close()  # type: ignore[attr-defined]

    def facts(self, ids: list[str]) -> dict[str, dict[str, Any]]:
        """The metadata (hash, author, time) of those ids that are here."""
        found = self._vectors.get(ids=ids, include=["metadatas"])
        return {id: dict(facts) for id, facts in zip(found["ids"], found["metadatas"] or [], strict=True)}

    def vectors(self, ids: list[str]) -> Vectors:
        """float32 (len(ids), d), aligned with `ids`, which must all be here."""
        found = self._vectors.get(ids=ids, include=["embeddings"])
        place = {id: at for at, id in enumerate(found["ids"])}
        return np.asarray(found["embeddings"], np.float32)[[place[id] for id in ids]]

    def upsert(self, ids: list[str], vectors: Vectors, facts: list[dict[str, Any]]) -> None:
        for at in range(0, len(ids), self.batch):
            part = slice(at, at + self.batch)
            self._vectors.upsert(ids=ids[part], embeddings=vectors[part], metadatas=list(facts[part]))

    def remove(self, ids: list[str]) -> None:
        for at in range(0, len(ids), self.batch):
            self._vectors.delete(ids=ids[at : at + self.batch])

    def nearest(self, query: Vectors, author: str, before: int, k: int) -> list[tuple[str, float]]:
        """Chroma's filtered query: at most k of (id, cosine), nearest first."""
        if k < 1:
            return []
        where: Any = {"$and": [{"author": author}, {"time": {"$lt": before}}]}
        found = self._vectors.query(
            query_embeddings=np.asarray([query]), n_results=k, where=where, include=["distances"]
        )
        return [(id, 1 - d) for id, d in zip(found["ids"][0], (found["distances"] or [[]])[0], strict=True)]
