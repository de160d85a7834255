"""The benchmark's file as an earlier past, for baselines of the reference protocol: what was there before a moment.

Messages whose time cannot be read are in nobody's past. Texts stay packed in their posts until somebody looks at them.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.benchmark.posts import Comment, Posts, Tree, instant
from evaluation.benchmark.scored import alive
from memory.embed import Embedder, open_embedder
from memory.message import Message, Thread
from memory.recall import Vectors

TREES = 256  # posts kept decoded
Places = NDArray[np.int64]


@dataclass(frozen=True)
class Own:
    """What one person had written before a moment, as a History."""

    user: str
    before: int
    messages: Sequence[Message]
    model: Embedder

    @cached_property
    def vectors(self) -> Vectors:
        return self.model([m.words for m in self.messages])

    def __len__(self) -> int:
        return len(self.messages)

    async def embed(self, texts: list[str]) -> Vectors:
        return await asyncio.to_thread(self.model, texts)


class FilePast:
    """All posts and comments of a file by time. `embedder`: whose vectors tell which reply is nearest."""

    def __init__(self, posts: Posts, embedder: str) -> None:
        self._posts, self._embedder = posts, embedder
        self._tree = lru_cache(maxsize=TREES)(lambda ref: posts.by_ref[ref].tree())
        found = sorted(self._read(), key=lambda row: row[0])
        self._names: dict[str, int] = {}
        self._time = np.array([row[0] for row in found], np.int64)
        self._score = np.array([row[1] for row in found], np.float64)
        self._author = self._coded([row[2] for row in found])
        self._place = self._coded([row[3] for row in found])
        self._thread = self._coded([row[4] for row in found])
        self._speaks = np.array([row[5] for row in found], bool)
        self._ids = [row[6] for row in found]
        self._comment = np.array([id != post for *_, post, _, id in found], bool)

    def _read(self) -> Iterator[tuple[int, float, str, str, str, bool, str]]:
        for post in self._posts:
            tree = post.tree()
            place = domain(tree)
            if (when := instant(tree.fields.get("timestamp"))) is not None:
                words = alive(tree.fields.get("content")) or alive(tree.fields.get("title"))
                told = number(tree.fields.get("score")), name(tree.fields.get("author"))
                yield int(when.timestamp()), *told, place, post.ref, words, post.ref
            for comment in tree.comments:
                if (when := comment.time) is not None:
                    told = number(comment.score), name(comment.author)
                    yield int(when.timestamp()), *told, place, post.ref, alive(comment.body), comment.ref

    def _coded(self, names: list[str]) -> Places:
        codes = self._names
        return np.array([codes.setdefault(n, len(codes)) for n in names], np.int64)

    def scores(
        self,
        *,
        before: int,
        place: str | None = None,
        author: str | None = None,
        outside: str | None = None,
        comments: bool = False,
    ) -> NDArray[np.float64]:
        """Known scores of messages earlier than `before`, by time; `outside`: a post left out with all below it."""
        at = self._at(before, place, author)
        found: NDArray[np.float64] = self._score[at]
        keep = ~np.isnan(found)
        if comments:
            keep &= self._comment[at]
        if outside is not None:
            keep &= self._thread[at] != self._names.get(outside, -1)
        return found[keep]

    def others(self, *, before: int, place: str, author: str, outside: str, k: int, seed: int) -> list[Message]:
        """At most `k` messages with words by others in `place` before `before`, outside a post, drawn by `seed`."""
        at = self._at(before, place, None)
        keep = self._speaks[at] & (self._author[at] != self._names.get(author, -1))
        at = at[keep & (self._thread[at] != self._names.get(outside, -1))]
        drawn = np.random.default_rng(seed).permutation(len(at))[:k]
        return [self._message(self._ids[n]) for n in at[drawn].tolist()]

    def history(self, user: str, before: int) -> Own:
        """What `user` had written with words, oldest first."""
        at = self._at(before, None, user)
        messages = [self._message(self._ids[n]) for n in at[self._speaks[at]].tolist()]
        return Own(user, before, messages, self._model)

    def thread(self, ref: str) -> Thread:
        """A post and all its comments that have a time."""
        tree = self._tree(ref)
        found = [self._message(id) for id in (ref, *tree.by_ref)]
        return Thread.of(ref, (m for m in found if m.time >= 0))

    def place(self, ref: str) -> str:
        """The community of a post, "" where it does not say."""
        return domain(self._tree(ref))

    @cached_property
    def _model(self) -> Embedder:
        return open_embedder(self._embedder)

    def _at(self, before: int, place: str | None, author: str | None) -> Places:
        stop = int(np.searchsorted(self._time, before))
        keep = np.ones(stop, bool)
        if place is not None:
            keep &= self._place[:stop] == self._names.get(place, -1)
        if author is not None:
            keep &= self._author[:stop] == self._names.get(author, -1)
        return np.flatnonzero(keep)

    def _message(self, ref: str) -> Message:
        post = ref.partition("-")[0]
        tree = self._tree(post)
        return _post(tree) if ref == post else _comment(tree, tree.by_ref[ref])


def domain(tree: Tree) -> str:
    found = tree.fields.get("__sub__")
    return "" if found is None else str(found)


def name(stated: Any) -> str:
    return stated if isinstance(stated, str) else ""


def number(stated: Any) -> float:
    """A score as a number; nan for what is none."""
    known = isinstance(stated, int | float) and not isinstance(stated, bool)
    return float(stated) if known and math.isfinite(stated) else math.nan


def _seconds(stated: Any) -> int:
    """-1 where no time can be read."""
    when = instant(stated)
    return -1 if when is None else int(when.timestamp())


def _post(tree: Tree) -> Message:
    said, title = tree.fields.get("content"), tree.fields.get("title")
    text = str(said) if alive(said) else None
    score, when = number(tree.fields.get("score")), _seconds(tree.fields.get("timestamp"))
    known = None if math.isnan(score) else int(score)
    title = str(title) if alive(title) else ""
    return Message(
        tree.ref, tree.ref, None, name(tree.fields.get("author")), when, text, known, domain(tree), "post", title
    )


def _comment(tree: Tree, comment: Comment) -> Message:
    text = str(comment.body) if alive(comment.body) else None
    score = number(comment.score)
    known = None if math.isnan(score) else int(score)
    when = _seconds(comment.stated)
    return Message(comment.ref, tree.ref, comment.parent, name(comment.author), when, text, known, domain(tree))
