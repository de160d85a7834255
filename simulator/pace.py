"""Pace: how fast, how often and by whom a community answers, counted in its messages before a moment.

A message gets a geometric number of replies (its mean told for posts and for comments apart), each after a log-normal
delay: a branching process whose hazard fades with a message's age. A reply's author is first looked for where replies
mostly come from: the one who was answered, who opened the thread, who is in it already; else by activity. Community
figures are drawn towards those of the whole corpus, as if it had told STRENGTH of the cases.

Source: self-exciting (Hawkes) cascades with log-normal kernels, as in Zhao et al. 2015 (SEISMIC) and Medvedev et al.
2018 (discussion trees on Reddit); the geometric counts and the shrinkage are ours.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memory.corpus import Link

Ints = NDArray[np.int64]
LATEST = 2000  # messages that are counted, of the community and of the corpus: 30 ms a thread
STRENGTH = 20.0  # cases that the whole corpus counts for beside a community's own
UNKNOWN_DELAY = (math.log(3600), 1.5)  # where nobody has ever answered anybody: an hour, most within half a day


class Links(Protocol):
    """What is asked of a corpus: memory.corpus.Corpus."""

    def links(self, *, before: int, place: str | None = None, k: int) -> list[Link]: ...
    def scores(self, *, before: int, place: str | None = None, outside: str | None = None) -> Sequence[int] | Ints: ...


@dataclass(frozen=True)
class Pace:
    """`delay`: mean and standard deviation of the natural log of seconds. `replies`: mean number to a post and to a
    comment. `back`, `opener`, `present`: shares of replies by the author who was answered by the parent, else by who
    opened the thread, else by somebody in it, each of the replies where there was such a person. `activity`: messages
    of each person among the latest of the community, `beyond` of the whole corpus. `cases`: replies of the community
    that all this rests on."""

    delay: tuple[float, float] = UNKNOWN_DELAY
    replies: tuple[float, float] = (1.0, 0.5)
    back: float = 0.3
    opener: float = 0.3
    present: float = 0.3
    activity: Mapping[str, int] = field(default_factory=dict)
    beyond: Mapping[str, int] = field(default_factory=dict)
    cases: int = 0

    def after(self, chance: random.Random) -> int:
        """A reply's delay in seconds, 1 or more."""
        return max(1, round(math.exp(min(chance.gauss(*self.delay), 20.0))))

    def children(self, post: bool, chance: random.Random) -> int:
        """How many replies a post (else a comment) gets."""
        mean = self.replies[0 if post else 1]
        if mean <= 0:
            return 0
        return int(math.log(1.0 - chance.random()) / math.log(mean / (1.0 + mean)))

    def chance_of(self, person: str) -> float:
        """Weight of somebody by activity; half a message for who has none."""
        return self.activity.get(person, 0) + 0.5


def pace(corpus: Links, place: str, before: int) -> Pace:
    """Fitted on what is strictly earlier than `before` (UTC seconds)."""
    wide = _fit(corpus.links(before=before, k=LATEST), Pace(), 1.0)
    return _fit(corpus.links(before=before, place=place, k=LATEST), wide, STRENGTH)


def _fit(links: Sequence[Link], prior: Pace, strength: float) -> Pace:
    by_id = {link.id: link for link in links}
    replies = [(link, by_id[link.parent]) for link in links if link.parent is not None and link.parent in by_id]
    logs = [math.log(max(1, reply.time - parent.time)) for reply, parent in replies]
    mean = _drawn(math.fsum(logs), len(logs), prior.delay[0], strength)
    spread = _drawn(math.fsum((x - mean) ** 2 for x in logs), len(logs), prior.delay[1] ** 2, strength)
    return Pace(
        (mean, math.sqrt(spread)),
        _replies(links, replies, mean, prior, strength),
        *_authors(by_id, replies, prior, strength),
        activity=Counter(link.author for link in links if link.author is not None),
        beyond=prior.activity,
        cases=len(replies),
    )


def _replies(
    links: Sequence[Link], replies: Sequence[tuple[Link, Link]], delay: float, prior: Pace, strength: float
) -> tuple[float, float]:
    """Mean replies to a post and to a comment, among messages older than a usual delay: younger ones still wait."""
    due = links[-1].time - math.exp(delay) if links else 0.0
    got = Counter(parent.id for _, parent in replies)
    found = []
    for post, before in zip((True, False), prior.replies, strict=True):
        counts = [got[link.id] for link in links if (link.parent is None) == post and link.time <= due]
        found.append(_drawn(sum(counts), len(counts), before, strength))
    return found[0], found[1]


def _authors(
    by_id: Mapping[str, Link], replies: Sequence[tuple[Link, Link]], prior: Pace, strength: float
) -> tuple[float, float, float]:
    hits, cases = [0, 0, 0], [0, 0, 0]
    present: dict[str, set[str]] = {}
    for link in by_id.values():
        if link.parent is None and link.author is not None:
            present.setdefault(link.thread, set()).add(link.author)
    for reply, parent in replies:  # in order of time, so that `present` holds who wrote before
        here = present.setdefault(reply.thread, set())
        if reply.author is None or reply.author == parent.author:
            continue
        answered = by_id.get(parent.parent or "")
        opener = by_id.get(reply.thread)
        places: list[set[str | None]] = [
            {answered.author} if answered else set(),
            {opener.author} if opener else set(),
            {*here},
        ]
        for n, possible in enumerate(places):
            others = possible - {None, parent.author}
            cases[n] += bool(others)
            hits[n] += reply.author in others
            if reply.author in others:
                break
        here.add(reply.author)
    before = (prior.back, prior.opener, prior.present)
    back, opening, inside = (_drawn(h, c, b, strength) for h, c, b in zip(hits, cases, before, strict=True))
    return back, opening, inside


def _drawn(total: float, n: int, prior: float, strength: float) -> float:
    """The mean of `n` cases that sum to `total`, drawn towards `prior`."""
    return (total + strength * prior) / (n + strength)


def company(
    pace: Pace, known: Container[str], present: Iterable[str], n: int, chance: random.Random
) -> tuple[str, ...]:
    """`n` people who are `known`: those present, then active ones of the community, then of the whole corpus, drawn
    without replacement by activity. Fewer where there are no more."""
    found = [person for person in dict.fromkeys(present) if person in known]
    for activity in (pace.activity, pace.beyond):
        rest = sorted(person for person in activity if person in known and person not in found)
        found += sorted(rest, key=lambda person: -(chance.random() ** (1.0 / activity[person])))
    return tuple(found[:n])
