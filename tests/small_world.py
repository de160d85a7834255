"""A corpus of nine messages and a store over it with the agreed interface, for tests of the evaluation layer."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import numpy as np

from memory.corpus import Link
from memory.errors import UnknownName
from memory.message import Message, Thread, order
from simulator.llm import Completion
from simulator.records import Remembered, Slot, Turn


def words_to_vectors(texts: list[str]) -> np.ndarray:
    rows = np.zeros((len(texts), 64), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for word in text.casefold().split():
            row[zlib.crc32(word.encode("utf-8", "replace")) % 64] += 1
    size = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, size, out=np.zeros_like(rows), where=size > 0)


@dataclass(frozen=True)
class SmallHistory:
    user: str
    before: int
    messages: tuple[Message, ...]

    def __len__(self) -> int:
        return len(self.messages)

    @property
    def vectors(self) -> np.ndarray:
        return words_to_vectors([m.words for m in self.messages])

    async def embed(self, texts: list[str]) -> np.ndarray:
        return words_to_vectors(texts)


class SmallCorpus:
    manifest: dict[str, Any]
    data_hash = "small"

    def __init__(self, *threads: Thread) -> None:
        self.threads = {t.id: t for t in threads}
        self.manifest = {}

    def messages(self, before: int) -> list[Message]:
        return sorted((m for t in self.threads.values() for m in t.messages if m.time < before), key=order)

    def message(self, id: str) -> Message:
        found = {m.id: m for t in self.threads.values() for m in t.messages}
        if id not in found:
            raise UnknownName("message", id, ())
        return found[id]

    def thread(self, id: str) -> Thread:
        if id not in self.threads:
            raise UnknownName("thread", id, self.threads)
        return self.threads[id]

    def scores(self, *, before: int, place=None, author=None, outside=None, comments=False) -> np.ndarray:
        found = [
            m.score
            for m in self.messages(before)
            if m.score is not None
            and (place is None or m.place == place)
            and (author is None or m.author == author)
            and m.thread != outside
            and not (comments and m.parent is None)
        ]
        return np.array(found, np.int64)

    def links(self, *, before: int, place: str | None = None, k: int) -> list[Link]:
        found = [m for m in self.messages(before) if place is None or m.place == place]
        return [Link(m.id, m.thread, m.parent, m.author, m.time) for m in found[-k:]]

    def others(self, *, before: int, place: str, author: str, outside: str, k: int, seed: int) -> list[Message]:
        found = [
            m
            for m in self.messages(before)
            if m.place == place and m.author not in (author, None) and m.thread != outside and m.words.strip()
        ]
        return Random(seed).sample(found, min(k, len(found)))


class SmallStore:
    embedder = "words:64"

    def __init__(self, corpus: SmallCorpus) -> None:
        self.corpus = corpus

    def history(self, user: str, *, before: int) -> SmallHistory:
        found = tuple(m for m in self.corpus.messages(before) if m.author == user and m.words.strip())
        return SmallHistory(user, before, found)

    async def embed(self, texts: list[str]) -> np.ndarray:
        return words_to_vectors(texts)


def said(  # noqa: PLR0913
    id: str, thread: str, parent: str | None, author: str, time: int, text: str | None, score: int | None
) -> Message:
    kind, title = ("post", "Question") if parent is None else ("comment", "")
    return Message(id, thread, parent, author, time, text, score, "place", kind, title)


OLD = Thread.of(
    "t3_old",
    [
        said("t3_old", "t3_old", None, "bob", 10, "which tea is best", 4),
        said("t1_a", "t3_old", "t3_old", "ann", 20, "green tea is best for me", 3),
        said("t1_b", "t3_old", "t1_a", "cat", 30, "no, black tea", 0),
        said("t1_c", "t3_old", "t1_b", "ann", 40, "never black", 2),
    ],
)
NEW = Thread.of(
    "t3_new",
    [
        said("t3_new", "t3_new", None, "cat", 100, "is green tea healthy", 7),
        said("t1_x", "t3_new", "t3_new", "ann", 110, "green tea is healthy enough", -1),
        said("t1_y", "t3_new", "t1_x", "bob", 120, "says who", 5),
        said("t1_z", "t3_new", "t1_y", "ann", 130, "says my doctor", 6),
        said("t1_late", "t3_new", "t1_z", "bob", 140, "later than all", 50),
    ],
)


def small_store(*more: Thread) -> SmallStore:
    return SmallStore(SmallCorpus(OLD, NEW, *more))


def slot(id: str, thread: Thread = NEW) -> Slot:
    m = thread[id]
    return Slot(m.thread, m.id, m.author or "", m.parent or "", m.time)


def turn(ask: str, text: str | None, id: str = "t1_z", thread: Thread = NEW, **other: Any) -> Turn:
    """A turn on a true slot; text None: it failed in transport."""
    done = None if text is None else Completion(text, "stop", 100, 5, 60, 0.5)
    made = Turn(
        run="run1",
        mode="replay",
        slot=slot(id, thread),
        ask=ask,
        repeat=0,
        model="fake:scripted",
        retriever="recency:k=1",
        seed=7,
        prompt_hash="abcd",
        recalled=(Remembered("t1_c", "t3_old", 40, 0.5, {"age": -1.0}),),
        history=2,
        distance=1,
        judged=None if ask == "reply" else "real",
        completion=done,
        failure=None if done else "transport",
        reason="" if done else "no connection",
    )
    return replace(made, **other)
