"""Whose is it? Simulated replies are given to the likeliest author among people of the same community; the real replies
first, because what they reach is the ceiling.

Source: character n-grams for authorship (Stamatatos 2009); TF-IDF of characters 2 to 4 within words, case kept.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluation.analysis.lines import latest, replies, said, silent, true, where
from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Sheet, Value
from evaluation.stats import Interval, interval, share
from evaluation.stats.intervals import Floats

if TYPE_CHECKING:
    from memory.store import MemoryStore

DECOYS = 9  # drawn by seed from the people of the run who wrote in the community
FEWEST = 3  # candidates below which there is nothing to choose from
TEXTS = 3  # earlier texts below which nobody has a profile
LONGEST = 10_000  # characters read of a profile
NAME, TITLE = "attribution", "Authorship: is the person the likeliest author of what they are made to say?"
ABOUT = (
    f"Among the person and up to {DECOYS} others of the run who wrote in the same community, by cosine of TF-IDF "
    "vectors (characters 2-4 within words, case kept) to what each wrote before the run, in other threads. Web "
    "addresses, user names and quotes are taken out, both texts of a slot are cut to the shorter. The real replies "
    "are the ceiling: nobody can be told better than they can."
)
COLUMNS = (
    Column("texts", "Whose words"),
    Column("unit", "Judged by"),
    Column("judged", "Judged", "texts with a profile of their author", 0),
    Column("people", "People", "", 0),
    Column("candidates", "Candidates", "mean, the person among them", 1),
    Column("top1", "Right", "share at rank 1, ties shared", higher=True),
    Column("chance", "by chance", "1 / candidates"),
    Column("mrr", "MRR", "mean of 1 / rank", higher=True),
)
_STRIPPED = re.compile(r"https?://\S+|/?\bu/[\w-]+|@[\w-]+")


class Query(NamedTuple):
    user: str
    place: str
    text: str


class Found(NamedTuple):
    """`hit`: 1 / how many share rank 1 with the author, 0 where another one is nearer; `rank`: the mean among ties."""

    user: str
    hit: float
    rank: float
    candidates: int


def attribution(rows: Sequence[Scored], store: MemoryStore, seed: int = 0) -> Sheet:
    """Of one run, for one reply and for all of a person's together; failed replies have no words to judge."""
    lines = [row for row in replies(rows) if said(row)]
    profiles = _profiles(lines, store)
    places: dict[str, list[str]] = {}
    for place, user in sorted({(r.place, r.user) for r in lines if r.user in profiles}):
        places.setdefault(place, []).append(user)
    lines = [r for r in lines if r.user in profiles and len(places[r.place]) >= FEWEST]
    if not lines:
        why = f"{FEWEST} people of one community with {TEXTS} earlier texts each are needed."
        return silent(NAME, TITLE, f"{ABOUT} Not here: {why}")
    rank = ranking(profiles, places, seed)
    table: list[tuple[Value, ...]] = []
    for whose, of in (("real", true), ("simulated", said)):
        for unit, queries in (("one reply", _single(lines, of)), ("all of a person's", _pooled(lines, of))):
            if queries:
                table.append((whose, unit, *_line(rank(queries))))
    found = tuple(where(lines, task=lines[0].task, system=MODEL) for _ in table)
    return Sheet(NAME, TITLE, ABOUT, COLUMNS, tuple(table), found)


def ranking(
    profiles: dict[str, str], places: dict[str, list[str]], seed: int
) -> Callable[[Sequence[Query]], list[Found]]:
    """What ranks queries against `profiles`: person -> text; `places`: community -> its people. The vocabulary and its
    weights are of the profiles alone."""
    from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

    names = sorted(profiles)
    words = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), lowercase=False, sublinear_tf=True)
    known = words.fit_transform([profiles[name] for name in names])
    spot = {name: n for n, name in enumerate(names)}
    chosen: dict[tuple[str, str], list[int]] = {}
    for place, people in places.items():
        for user in people:
            others = [name for name in people if name != user]
            drawn = np.random.default_rng([seed, spot[user]]).permutation(len(others))[:DECOYS]
            chosen[user, place] = [spot[user], *(spot[others[n]] for n in drawn)]

    def rank(queries: Sequence[Query]) -> list[Found]:
        near: Floats = (words.transform([q.text for q in queries]) @ known.T).toarray()
        found = []
        for row, query in zip(near, queries, strict=True):
            own, *others = row[chosen[query.user, query.place]].round(12)
            nearer, tied = sum(o > own for o in others), sum(o == own for o in others)
            hit = 0.0 if nearer else 1 / (1 + tied)
            found.append(Found(query.user, hit, 1 + nearer + tied / 2, 1 + len(others)))
        return found

    return rank


def _line(found: Sequence[Found]) -> tuple[int, int, float, Interval, float, Interval]:
    people = [f.user for f in found]
    return (
        len(found),
        len({*people}),
        float(np.mean([f.candidates for f in found])),
        share([f.hit for f in found], people),
        float(np.mean([1 / f.candidates for f in found])),
        interval([1 / f.rank for f in found], people),
    )


def _profiles(lines: Sequence[Scored], store: MemoryStore) -> dict[str, str]:
    """What everybody wrote before their first turn of the run, outside the threads they take part in there."""
    first: dict[str, int] = {}
    threads: dict[str, set[str]] = {}
    for row in lines:
        first[row.user] = min(row.time, first.get(row.user, row.time))
        threads.setdefault(row.user, set()).add(row.thread)
    found = {}
    for user, moment in sorted(first.items()):
        texts = [bare(m.words) for m in latest(store, user, moment) if m.thread not in threads[user]]
        if len(texts) >= TEXTS:
            found[user] = "\n".join(reversed(texts))[:LONGEST]
    return found


def bare(text: str) -> str:
    """Without what gives a person away and is no style: web addresses and names of users."""
    return _STRIPPED.sub(" ", text)


def cut(row: Scored, of: Callable[[Scored], str]) -> str:
    """One text of a reply, cut to the length of the shorter of both where there are both."""
    both = [text for text in (said(row), true(row)) if text]
    return bare(of(row))[: min(map(len, both))]


def _single(lines: Sequence[Scored], of: Callable[[Scored], str]) -> list[Query]:
    return [Query(r.user, r.place, cut(r, of)) for r in lines if of(r)]


def _pooled(lines: Sequence[Scored], of: Callable[[Scored], str]) -> list[Query]:
    held: dict[tuple[str, str], list[str]] = {}
    for row in lines:
        if of(row):
            held.setdefault((row.user, row.place), []).append(cut(row, of))
    return [Query(user, place, "\n".join(texts)) for (user, place), texts in sorted(held.items())]
