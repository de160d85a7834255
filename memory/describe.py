"""What a corpus holds, in numbers: messages, people, threads, communities, times, lengths of pasts, depths of trees."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from memory.corpus import Corpus
from memory.errors import BadInput
from memory.stored import POST, SPOKEN, STAND_IN, UNKNOWN, Array

HISTORY = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)  # where a group of people by messages begins
DEPTH = (0, 1, 2, 3, 4, 5, 7, 10, 20, 50)
SIZE = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)
ENOUGH = ((5, 1), (10, 3))  # (messages, threads) from which on a persona can be made of a person

Distribution = list[tuple[str, int]]  # (label of a group, how many are in it); groups at both ends are not empty


@dataclass(frozen=True)
class Community:
    place: str
    messages: int
    people: int
    threads: int


@dataclass(frozen=True)
class Description:
    """`first` and `last` are UTC seconds, None for an empty corpus. `enough`: (messages, threads, people who have so
    many messages with words in so many threads). `people`: neither bots nor deleted accounts."""

    messages: int
    posts: int
    comments: int
    with_words: int
    without_author: int
    without_score: int
    stand_ins: int
    people: int
    bots: int
    threads: int
    communities: int
    first: int | None
    last: int | None
    largest: list[Community]
    histories: Distribution
    depths: Distribution
    sizes: Distribution
    enough: list[tuple[int, int, int]]


def describe(corpus: Corpus, enough: Sequence[tuple[int, int]] = ENOUGH, top: int = 10) -> Description:
    """`enough`: (at least so many messages, in at least so many threads). `top`: communities listed, largest first."""
    all_, bots = corpus.all, [code for (code,) in corpus.sql.execute("select code from authors where bot")]
    flags, speaks = corpus.column("flags"), all_["speaks"]
    posts, spoken = flags & POST != 0, flags & SPOKEN != 0
    pasts = _pairs(all_["author"][speaks], all_["thread"][speaks])
    places, at, sizes = np.unique(all_["place"], return_inverse=True, return_counts=True)
    people, threads = (_different(at, column) for column in (np.where(speaks, all_["author"], -1), all_["thread"]))
    names = corpus.called("places", places.tolist())
    largest = sorted(range(len(places)), key=lambda n: (-sizes[n], names[int(places[n])]))[:top]
    return Description(
        messages=len(flags),
        posts=int(posts.sum()),
        comments=int((~posts).sum()),
        with_words=int(spoken.sum()),
        without_author=int((all_["author"] < 0).sum()),
        without_score=int((corpus.column("score") == UNKNOWN).sum()),
        stand_ins=int((flags & STAND_IN != 0).sum()),
        people=len(pasts),
        bots=len(bots),
        threads=int(posts.sum()),
        communities=len(places),
        first=int(all_["time"][0]) if len(flags) else None,
        last=int(all_["time"][-1]) if len(flags) else None,
        largest=[Community(names[int(places[n])], int(sizes[n]), people[n], threads[n]) for n in largest],
        histories=grouped((said for said, _ in pasts), HISTORY),
        depths=grouped(_depths(corpus), DEPTH),
        sizes=grouped(np.unique(all_["thread"], return_counts=True)[1].tolist(), SIZE),
        enough=[(n, of, sum(said >= n and threads >= of for said, threads in pasts)) for n, of in enough],
    )


def _pairs(authors: Array, threads: Array) -> list[tuple[int, int]]:
    """(messages, threads) of each author."""
    _, at, messages = np.unique(authors, return_inverse=True, return_counts=True)
    return list(zip(messages.tolist(), _different(at, threads), strict=True))


def _different(groups: Array, values: Array) -> list[int]:
    """How many different values from 0 on each group has; groups are numbered from 0."""
    pairs = np.unique(np.stack([groups, values])[:, values >= 0], axis=1)
    return np.bincount(pairs[0], minlength=int(groups.max(initial=-1)) + 1).tolist()  # type: ignore[no-any-return]


def limits(texts: Iterable[str]) -> list[tuple[int, int]]:
    """ "10:3" -> (10, 3): at least 10 messages in at least 3 threads; "10" -> (10, 1).

    Raises:
        BadInput: anything else.
    """
    found = []
    for text in texts:
        messages, _, threads = text.partition(":")
        if not (messages.isdecimal() and (threads or "1").isdecimal()):
            raise BadInput(f"{text!r} is no amount of history; give messages, or messages:threads, such as 10:3")
        found.append((int(messages), int(threads or 1)))
    return found


def grouped(values: Iterable[int], starts: Sequence[int]) -> Distribution:
    """How many values lie in each group; a group goes from its start to before the next."""
    counts = Counter(bisect_right(starts, value) - 1 for value in values)
    if not counts:
        return []
    return [(_label(starts, at), counts[at]) for at in range(min(counts), max(counts) + 1)]


def _label(starts: Sequence[int], at: int) -> str:
    if at == len(starts) - 1:
        return f"{starts[at]}+"
    last = starts[at + 1] - 1
    return str(last) if last == starts[at] else f"{starts[at]}-{last}"


def _depths(corpus: Corpus) -> Iterator[int]:
    """Of every message: 0 for a post, 1 for a reply to it."""
    for thread in corpus.thread_ids():
        parents: dict[str, Any] = {m.id: m.parent for m in corpus.thread(thread).messages}
        depth: dict[str | None, int] = {None: -1}
        for id in parents:
            walk = [id]
            while walk[-1] not in depth:
                walk.append(parents[walk[-1]])
            for below in reversed(walk[:-1]):
                depth[below] = depth[parents[below]] + 1
            yield depth[id]
