"""Baselines: guesses without a model, from earlier data only, printed in the same table as the model.

Everything a baseline may look at is in Known: the thread as it could be read at the target's time, the person's history
before it, and scores of strictly earlier messages outside the target's thread (scores were counted after the fact, so
those of its own thread tell about its future). The few that read a score of the target's own thread are marked
`hindsight` and never count as the best baseline.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from evaluation.positive import Cut, Positive
from evaluation.tasks import Kind, Value
from evaluation.tasks.sentiment import NEGATIVE, POSITIVE, label
from memory.message import Message, Thread
from memory.recall import History
from simulator.records import Slot

PHRASE = "I agree with you."
ONE = 1.0  # what a message starts with on Reddit: the last resort where nothing earlier has a score

USUAL = Positive()
Scores = NDArray[Any]  # (n,), whole numbers as a rule, by time
Guess = tuple[Value, bool]  # the guess, and whether it had to fall back


class Earlier(Protocol):
    """Everybody's past: memory.corpus.Corpus, or the benchmark's own file."""

    def scores(
        self,
        *,
        before: int,
        place: str | None = None,
        author: str | None = None,
        outside: str | None = None,
        comments: bool = False,
    ) -> Scores: ...
    def others(self, *, before: int, place: str, author: str, outside: str, k: int, seed: int) -> list[Message]: ...


@dataclass(frozen=True)
class Known:
    """What could be known at `slot.time`. `thread` is cut there; its scores are hidden unless for hindsight."""

    slot: Slot
    place: str
    thread: Thread
    history: History
    corpus: Earlier
    seed: int
    positive: Positive = USUAL  # which scores count as well received

    @cached_property
    def cut(self) -> Cut:
        """Of the moment: from the community's scores so far."""
        return self.positive.cut(self.scores("community")[0])

    def _scores(self, place: str | None = None, author: str | None = None) -> Scores:
        """Of comments, as the target is one: posts get others (own median: MAE 5.8 with them, 4.4 without)."""
        slot = self.slot
        return self.corpus.scores(before=slot.time, place=place, author=author, outside=slot.thread, comments=True)

    @cached_property
    def everybody(self) -> Scores:
        return self._scores()

    @cached_property
    def community(self) -> Scores:
        return self._scores(place=self.place)

    @cached_property
    def own(self) -> Scores:
        return self._scores(author=self.slot.author)

    @cached_property
    def replies(self) -> list[Message]:
        """The person's own earlier comments, oldest first; in the target's thread too: words are public at once."""
        return [m for m in self.history.messages if m.kind == "comment" and m.words.strip()]

    @property
    def parent(self) -> Message | None:
        return self.thread.by_id.get(self.slot.parent)

    def scores(self, narrowest: str) -> tuple[Scores, bool]:
        """Scores at a level ("own", "community", "everybody"), else at the next wider one, else [1]; True if wider."""
        levels = ("own", "community", "everybody")
        for level in levels[levels.index(narrowest) :]:
            found: Scores = getattr(self, level)
            if len(found):
                return found, level != narrowest
        return np.array([ONE], np.int64), True


@dataclass(frozen=True, slots=True)
class Baseline:
    """One row of the table. Where nothing earlier is there it falls back (and says so): scores to the next wider level
    and at last to 1, texts to PHRASE."""

    name: str
    kind: Kind
    about: str
    guess: Callable[[Known], Awaitable[Guess]]
    hindsight: bool = False
    p: Callable[[Known], float] | None = None  # P(positive), where it says more than the guess


def fill(known: Known) -> float:
    """What stands in for a number that could not be read: the community's median so far."""
    return float(np.median(known.scores("community")[0]))


def central(known: Known, percent: int) -> dict[str, float | str]:
    """The interval in which so many percent of the community's scores so far lie, as many below as above."""
    low, high = np.quantile(known.scores("community")[0], [(1 - percent / 100) / 2, (1 + percent / 100) / 2])
    return {"low": float(low), "high": float(high)}


def _majority(level: str) -> Callable[[Known], Awaitable[Guess]]:
    async def guess(known: Known) -> Guess:
        found, wider = known.scores(level)
        return (POSITIVE if known.cut.share(found) >= 0.5 else NEGATIVE), wider  # a tie is positive

    return guess


def _middle(level: str, of: Callable[[Scores], np.floating]) -> Callable[[Known], Awaitable[Guess]]:
    async def guess(known: Known) -> Guess:
        found, wider = known.scores(level)
        return float(of(found)), wider

    return guess


def _share(level: str) -> Callable[[Known], float]:
    return lambda known: known.cut.share(known.scores(level)[0])


async def _one(known: Known) -> Guess:
    return ONE, False


async def _parent_score(known: Known) -> Guess:
    if known.parent is not None and known.parent.score is not None:
        return float(known.parent.score), False
    return fill(known), True


async def _parent_label(known: Known) -> Guess:
    score, fallback = await _parent_score(known)
    return label(float(score), known.cut), fallback


async def _parent_copy(known: Known) -> Guess:
    return _text(known.parent)


async def _last_copy(known: Known) -> Guess:
    return _text(next((m for m in reversed(known.thread.messages) if m.words.strip()), None))


async def _own_last(known: Known) -> Guess:
    return _text(known.replies[-1] if known.replies else None)


async def _own_nearest(known: Known) -> Guess:
    if not known.replies or known.parent is None or not known.parent.words.strip():
        return PHRASE, True
    kept = {m.id for m in known.replies}
    rows = [n for n, m in enumerate(known.history.messages) if m.id in kept]
    [parent] = await known.history.embed([known.parent.words])
    return _text(known.replies[int(np.argmax(known.history.vectors[rows] @ parent))])


async def _own_random(known: Known) -> Guess:
    return _text(Random(f"{known.seed}:own").choice(known.replies) if known.replies else None)


async def _other_random(known: Known) -> Guess:
    slot = known.slot
    found = known.corpus.others(
        before=slot.time, place=known.place, author=slot.author, outside=slot.thread, k=1, seed=known.seed
    )
    return _text(found[0] if found else None)


async def _phrase(known: Known) -> Guess:
    return PHRASE, False


def _text(message: Message | None) -> Guess:
    return (message.words, False) if message is not None and message.words.strip() else (PHRASE, True)


BASELINES = (
    *(
        Baseline(name, "label", about, _majority(level), p=_share(level))
        for name, level, about in (
            ("majority", "everybody", "the more frequent label of all earlier comments"),
            ("community_majority", "community", "the same within the community"),
            ("own_majority", "own", "the same within the person's own"),
        )
    ),
    Baseline("parent_label", "label", "the parent's label", _parent_label, hindsight=True),
    Baseline("one", "number", "always 1", _one),
    Baseline("median", "number", "median of all earlier scores", _middle("everybody", np.median)),
    Baseline("mean", "number", "mean of all earlier scores", _middle("everybody", np.mean)),
    Baseline("community_median", "number", "median within the community", _middle("community", np.median)),
    Baseline("community_mean", "number", "mean within the community", _middle("community", np.mean)),
    Baseline("own_median", "number", "median of the person's own", _middle("own", np.median)),
    Baseline("own_mean", "number", "mean of the person's own", _middle("own", np.mean)),
    Baseline("parent_score", "number", "the parent's score", _parent_score, hindsight=True),
    Baseline("parent_copy", "text", "the parent's words", _parent_copy),
    Baseline("last_copy", "text", "the thread's latest words", _last_copy),
    Baseline("own_last", "text", "the person's latest earlier reply", _own_last),
    Baseline("own_nearest", "text", "their earlier reply nearest to the parent (vector cosine)", _own_nearest),
    Baseline("own_random", "text", "a random earlier reply of theirs", _own_random),
    Baseline("other_random", "text", "a random earlier reply of somebody else in the community", _other_random),
    Baseline("phrase", "text", f"always {PHRASE!r}", _phrase),
)


def of_kind(kind: str) -> tuple[Baseline, ...]:
    """The baselines that a kind of task is compared with, in the order in which they are shown."""
    return tuple(b for b in BASELINES if b.kind == kind)
