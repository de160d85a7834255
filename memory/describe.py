"""What a corpus holds, in numbers: messages, people, threads, communities, times, lengths of pasts, depths of trees."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from memory.corpus import Corpus
from memory.errors import BadInput

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
    one = corpus.sql.execute
    totals = one(
        """select count(*), sum(kind = 'post'), sum(kind != 'post'), sum(spoken), sum(author is null),
            sum(score is null), sum(placeholder), min(time), max(time) from messages"""
    ).fetchone()
    messages, posts, comments, spoken, unsigned, unscored, empty = (n or 0 for n in totals[:7])
    pasts = one(
        """select count(*), count(distinct thread) from messages join authors on authors.name = messages.author
            where not bot and spoken group by messages.author"""
    ).fetchall()
    places = one(
        """select place, count(*), count(distinct case when not bot and spoken then messages.author end),
            count(distinct thread) from messages left join authors on authors.name = messages.author
            group by place order by count(*) desc, place"""
    ).fetchall()
    return Description(
        messages=messages,
        posts=posts,
        comments=comments,
        with_words=spoken,
        without_author=unsigned,
        without_score=unscored,
        stand_ins=empty,
        people=len(pasts),
        bots=one("select count(*) from authors where bot").fetchone()[0],
        threads=one("select count(*) from messages where kind = 'post'").fetchone()[0],
        communities=len(places),
        first=totals[7],
        last=totals[8],
        largest=[Community(*place) for place in places[:top]],
        histories=grouped((said for said, _ in pasts), HISTORY),
        depths=grouped(_depths(corpus), DEPTH),
        sizes=grouped((size for (size,) in one("select count(*) from messages group by thread")), SIZE),
        enough=[(n, of, sum(said >= n and threads >= of for said, threads in pasts)) for n, of in enough],
    )


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
    rows: Iterable[tuple[str, str, str | None]] = corpus.sql.execute(
        "select thread, id, parent from messages order by thread, time, id"
    )
    for _, thread in groupby(rows, key=lambda row: row[0]):
        parents: dict[str, Any] = {id: parent for _, id, parent in thread}
        depth: dict[str | None, int] = {None: -1}
        for id in parents:
            walk = [id]
            while walk[-1] not in depth:
                walk.append(parents[walk[-1]])
            for below in reversed(walk[:-1]):
                depth[below] = depth[parents[below]] + 1
            yield depth[id]
