"""Two controls without a model: with moments or people permuted, a memory that reads nothing else loses what it had.

Each asks the compared memories themselves, where a past and a query is all they need, beside the packaged controls.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from statistics import median
from typing import Any

import memory.retrievers
from evaluation.contrast import difference
from evaluation.gain import LOT, RECENCY, Arms, metrics_of
from evaluation.rows import Scored
from evaluation.stats import Interval, interval
from evaluation.stats.intervals import reach
from memory import policy
from memory.doors import CorpusDoors, needs
from memory.errors import Leak, clip
from memory.gathered import Gathered
from memory.message import order
from memory.recall import History, Recalled, Retriever
from memory.scoring import overlap
from memory.store import MemoryStore

SURE = 0.999  # level of the intervals: a control that fails by chance is no control
FEWEST = 4  # earlier messages of a person whose order can be shuffled
ENOUGH = 8  # people below whom nothing is told: two of them can be far off alike by chance
EACH = 60  # calls at which each compared memory is asked


async def time_shuffle(
    found: Sequence[Arms], calls: Sequence[Scored], store: MemoryStore, seed: int = 0, latest: Retriever | None = None
) -> str:
    """With the moments of a past permuted: every memory chooses the same when messages also get other ids, by which
    their true moments could be looked up; and the latest (`latest`: by what, if not by recency) stand anywhere in the
    true past: 0 first, 1 last, 0.5 by chance. What was found. Raises Leak."""
    asked = 0
    for name, made in alone(found):
        for row in calls[:EACH]:
            past = store.history(row.user, before=row.time, strangers=True)
            if len(past) < FEWEST:
                continue
            asked += 1
            one, other = [
                await CorpusDoors(store).recall(made, moved, _query(row, store), row.thread)
                for moved in (shuffled(past, f"{seed} {row.slot}"), shuffled(past, f"{seed} {row.slot}", masked=True))
            ]
            if _said(one) != _said(other):
                raise Leak(
                    f"time-shuffle: {clip(name)} chooses otherwise for {row.slot} when permuted messages get new ids; "
                    "it looks moments up elsewhere than in the past it was given, so its results do not count"
                )
    newest = latest or policy.load(memory.retrievers, f"{RECENCY}:k=1")
    places: list[tuple[float, str]] = []
    for row in calls:
        past = store.history(row.user, before=row.time, strangers=True)
        if len(past) >= FEWEST:
            [last] = await CorpusDoors(store).recall(newest, shuffled(past, f"{seed} {row.slot}"), "", row.thread)
            at = [m.id for m in past.messages].index(last.message.id)
            places.append((at / (len(past) - 1) - 0.5, row.user))
    known = _interval(places)
    if known is not None and not known.low <= 0 <= known.high:
        raise Leak(
            f"time-shuffle: with moments permuted, {RECENCY} still brings messages from {known.mean + 0.5:.2f} of a "
            "past (0.50 by chance); it reads more than the moments, so its results do not count"
        )
    return _told(known, f"off the middle of the true past; other ids changed no choice, {asked} recalls")


async def user_shuffle(
    found: Sequence[Arms], calls: Sequence[Scored], store: MemoryStore, seed: int = 0, lot: Retriever | None = None
) -> str:
    """With people permuted: every memory brings messages of the past it was given alone, none of the person meant; a
    message by lot (`lot`: by what else) of a permuted person is as like the true answer as one of another; and where a
    model was asked with a matched other's memory and with anybody's, the one is not ahead. What was found. Raises Leak.
    """
    people = sorted({row.user for row in calls})
    chance = Random(f"{seed} people")
    drawn = {row.slot: chance.sample([n for n in people if n != row.user], 2) for row in calls if len(people) > 2}
    asked = 0
    for name, made in alone(found, "others"):
        for row in calls[:EACH]:
            for other in drawn.get(row.slot, [])[:1]:
                asked += 1
                past = store.history(other, before=row.time, strangers=True)
                ids = {m.id for m in past.messages}
                brought = await CorpusDoors(store).recall(made, past, _query(row, store), row.thread)
                if any(r.role != "note" and r.message.id not in ids for r in brought):
                    raise Leak(
                        f"user-shuffle: given somebody else's past, {clip(name)} brings messages from elsewhere for "
                        f"{row.slot}; what is called personal is not, so no gain counts"
                    )
    plain: Retriever = policy.load(memory.retrievers, f"{LOT}:k=1")
    gaps = []
    for row in calls:
        likes = []
        for other, made in zip(drawn.get(row.slot, []), (lot or plain, plain), strict=False):
            past = store.history(other, before=row.time, strangers=True)
            words = [r.message.words for r in await CorpusDoors(store).recall(made, past, "", row.thread)]
            likes += [overlap(store.corpus.message(row.slot).words, words[0])] if words else []
        if len(likes) == 2:
            gaps.append((likes[0] - likes[1], row.user))
    known = _interval(gaps)
    if known is not None and not known.low <= 0 <= known.high:
        raise Leak(
            f"user-shuffle: with ids of people permuted, a gain of {known.mean:.3f} in likeness remains; what is "
            "called personal is not, so no gain counts"
        )
    models = "".join(_permuted(found))
    return _told(known, f"likeness left of being oneself; own words came back alone, {asked} recalls{models}")


def _permuted(found: Sequence[Arms]) -> Iterator[str]:
    """A permuted person's words beside anybody's, where the model was asked with both. Raises Leak."""
    for group in found:
        if group.permuted is None:
            continue
        matched, anybody = group.permuted
        for task, metric, items in metrics_of(group):
            kept = [item for item in items if item in matched.rows and item in anybody.rows]
            gap = difference(metric, *([side.rows[item] for item in kept] for side in (anybody, matched)))
            wide = reach(gap.groups, SURE) * gap.se
            better = gap.mean if metric.higher is not False else -gap.mean
            if gap.groups >= ENOUGH and better > wide:
                raise Leak(
                    f"user-shuffle: a matched other's words gain {better:.3f} {metric.title} of {task} over anybody's "
                    f"({clip(group.name)}); what is called personal is not, so no gain counts"
                )
            yield f"; {task} {metric.title} {gap} of a matched other's words over anybody's"


async def reads(found: Sequence[Arms], calls: Sequence[Scored], store: MemoryStore) -> dict[str, float]:
    """ms that a recall takes each compared memory, the median of calls read again one after the other."""
    took: dict[str, float] = {}
    for name, made in alone(found):
        each = []
        for row in calls[:EACH]:
            past, query = store.history(row.user, before=row.time, strangers=True), _query(row, store)
            began = time.perf_counter()
            await CorpusDoors(store).recall(made, past, query, row.thread)
            each.append(1000 * (time.perf_counter() - began))
        took |= {name: median(each)} if each else {}
    return took


def alone(found: Sequence[Arms], *without: str) -> Iterator[tuple[str, Any]]:
    """(name, policy) of each compared memory that needs no model and no truth, nor what is in `without`, once."""
    names = {row.retriever for group in found for side in group.sides.values() for row in side.rows.values()}
    for name in sorted(names - {"", "none"}):
        made = policy.load(memory.retrievers, name)
        native = getattr(made, "native", False)  # asks an index, in which no permuted past is
        if not native and not {"truth", "ask", *without} & {*needs(made)}:
            yield name, made


def shuffled(past: History, seed: str, masked: bool = False) -> History:
    """`past` with its moments permuted; `masked`: with ids of its own too, in the order of the true ones."""
    true = list(past.messages)
    at = list(range(len(true)))
    Random(seed).shuffle(at)
    ids = {id: f"t1_masked{n:09d}" if masked else id for n, id in enumerate(sorted(m.id for m in true))}
    moved = [(replace(true[n], time=m.time, id=ids[true[n].id]), n) for n, m in zip(at, true, strict=True)]
    moved.sort(key=lambda pair: order(pair[0]))
    rows = [n for _, n in moved]
    return Gathered(past.user, past.before, tuple(m for m, _ in moved), past.vectors[rows], past.embed)


def _said(found: Sequence[Recalled]) -> list[tuple[str, int, str]]:
    return [(r.role, r.message.time, r.message.words) for r in found]


def _query(row: Scored, store: MemoryStore) -> str:
    parent = store.corpus.message(row.slot).parent
    return store.corpus.message(parent).words if parent else ""


def _interval(found: list[tuple[float, str]]) -> Interval | None:
    users = [user for _, user in found]
    return interval([v for v, _ in found], users, SURE) if len(set(users)) >= ENOUGH else None


def _told(known: Interval | None, what: str) -> str:
    return f"too few people with a past to tell by; {what}" if known is None else f"{known} {what}, {known.n} calls"
