"""Controls of a comparison of memories: each fails the whole of it with one sentence. No model is asked.

canary          the true answer and all that is later stand in the corpus at the moment of every call: none is recalled
time-shuffle    with the moments of a person's messages permuted, the latest are no later in truth than any
user-shuffle    with people's ids permuted, "own" messages by lot are as like the true answers as another person's
near-duplicate  what a memory gains does not rest on items whose answer it was shown nearly word for word
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

import memory.retrievers
from evaluation.gain import LOT, RECENCY, Arms, decomposition
from evaluation.rows import Scored
from evaluation.stats import Interval, interval
from memory import policy
from memory.doors import CorpusDoors
from memory.errors import Leak, UnknownName, clip
from memory.gathered import Gathered
from memory.message import Message
from memory.recall import History, Retriever
from memory.scoring import overlap
from memory.store import MemoryStore

SURE = 0.999  # level of the intervals of the two shuffles: a control that fails by chance is no control
GRAM, ALIKE = 5, 0.5  # words of a run, and the share of the answer's runs that makes a near-duplicate
FEWEST = 4  # earlier messages of a person whose order can be shuffled
ENOUGH = 8  # people below whom nothing is told: two of them can be far off alike by chance
MOST = 200  # calls that the shuffles look at


@dataclass(frozen=True, slots=True)
class Control:
    """`found`: what was seen, in words; a control that was not passed has no record: it raised Leak."""

    name: str
    found: str


async def controls(found: Sequence[Arms], store: MemoryStore, seed: int = 0) -> list[Control]:
    """All controls. Raises Leak, naming the memory, the call and what was found."""
    calls = {
        (row.thread, row.slot): row for group in found for side in group.sides.values() for row in side.rows.values()
    }
    drawn = [calls[key] for key in sorted(calls)]
    drawn = Random(f"{seed} controls").sample(drawn, min(MOST, len(drawn)))
    return [
        canary(found, store),
        await time_shuffle(drawn, store, seed),
        await user_shuffle(drawn, store, seed),
        near_duplicates(found, store),
    ]


def canary(found: Sequence[Arms], store: MemoryStore) -> Control:
    """Every recalled message was written before the call's moment, and is not what was to be said."""
    seen = 0
    for name, row, message in _recalled(found, store):
        seen += 1
        if message.time >= row.time or message.id == row.slot or message.parent == row.slot:
            raise Leak(
                f"canary: {clip(name)} recalled {message.id} of second {message.time} for the answer {row.slot} of "
                f"second {row.time}; the results of this memory do not count"
            )
    return Control("canary", f"{seen} recalled messages, all earlier than their call and none of them the answer")


async def time_shuffle(
    calls: Sequence[Scored], store: MemoryStore, seed: int = 0, latest: Retriever | None = None
) -> Control:
    """Where the latest of a shuffled past stood in the true one: 0 first, 1 last, 0.5 by chance. `latest`: by what, if
    not by recency."""
    asked = latest or policy.load(memory.retrievers, f"{RECENCY}:k=1")

    async def place(row: Scored, past: History) -> float | None:
        true = list(past.messages)
        if len(true) < FEWEST:
            return None
        order = list(range(len(true)))
        Random(f"{seed} {row.slot}").shuffle(order)
        moved = tuple(replace(true[at], time=m.time) for at, m in zip(order, true, strict=True))
        shuffled = Gathered(past.user, past.before, moved, np.empty((len(moved), 0), np.float32), past.embed)
        [newest] = await CorpusDoors(store).recall(asked, shuffled, "", row.thread)
        return [m.id for m in true].index(newest.message.id) / (len(true) - 1)

    rows = _once(calls)
    values = [await place(row, store.history(row.user, before=row.time, strangers=True)) for row in rows]
    known = _interval([(v - 0.5, row.user) for row, v in zip(rows, values, strict=True) if v is not None])
    if known is not None and not known.low <= 0 <= known.high:
        raise Leak(
            f"time-shuffle: with moments permuted, {RECENCY} still brings messages from {known.mean + 0.5:.2f} of a "
            "past (0.50 by chance); it reads more than the moments, so its results do not count"
        )
    return Control("time-shuffle", _told(known, "off the middle of the true past"))


async def user_shuffle(
    calls: Sequence[Scored], store: MemoryStore, seed: int = 0, lot: Retriever | None = None
) -> Control:
    """Likeness to the true answer (unigram F1) of one message of a permuted person, by `lot` (default own by lot), and
    of one by lot of another person."""
    plain: Retriever = policy.load(memory.retrievers, f"{LOT}:k=1")
    gaps = []
    people = sorted({row.user for row in calls})
    chance = Random(f"{seed} people")
    for row in _once(calls):
        others = [name for name in people if name != row.user]
        if len(others) < 2:
            continue
        likes = []
        for name, asked in zip(chance.sample(others, 2), (lot or plain, plain), strict=True):
            past = store.history(name, before=row.time, strangers=True)
            words = [r.message.words for r in await CorpusDoors(store).recall(asked, past, "", row.thread)]
            likes.append(overlap(_answer(row, store), words[0]) if words else None)
        if None not in likes:
            gaps.append((float(likes[0] or 0) - float(likes[1] or 0), row.user))
    known = _interval(gaps)
    if known is not None and not known.low <= 0 <= known.high:
        raise Leak(
            f"user-shuffle: with ids of people permuted, a gain of {known.mean:.3f} in likeness remains; what is "
            "called personal is not, so no gain counts"
        )
    return Control("user-shuffle", _told(known, "likeness left of being oneself"))


def near_duplicates(found: Sequence[Arms], store: MemoryStore) -> Control:
    """The verdict of every memory that helps stands without the items whose answer was nearly in its prompt."""
    alike = {
        (row.thread, row.slot)
        for _, row, message in _recalled(found, store)
        if shared(message.words, _answer(row, store)) >= ALIKE
    }
    if not alike:
        return Control("near-duplicate", "no recalled message is nearly the answer")
    bare = [replace(g, items=tuple(i for i in g.items if (i[1], i[2]) not in alike)) for g in found]
    kept = [group for group in bare if group.items]
    helped, still = (_helping(groups) for groups in (found, kept))
    if lost := sorted(helped - still):
        raise Leak(
            f"near-duplicate: {' on '.join(map(clip, lost[0]))} gains only with the {len(alike)} items whose answer it "
            "was shown nearly word for word; drop copies from the corpus, or do not claim it"
        )
    return Control(
        "near-duplicate", f"{len(alike)} items whose answer was nearly recalled; every gain stands without them"
    )


def shared(text: str, answer: str) -> float:
    """The share of the answer's runs of GRAM words that `text` has; of a shorter answer, whether it has all of it."""
    given, wanted = text.casefold().split(), answer.casefold().split()
    size = min(GRAM, len(wanted))
    runs = [tuple(wanted[n : n + size]) for n in range(len(wanted) - size + 1)] if size else []
    if not runs:
        return 0.0
    there = {tuple(given[n : n + size]) for n in range(len(given) - size + 1)}
    return sum(run in there for run in runs) / len(runs)


def _helping(groups: Sequence[Arms]) -> set[tuple[str, str, str]]:
    """(policy, task, metric) of each that helps."""
    if not groups:
        return set()
    sheet = decomposition(groups)
    at = {column.name: n for n, column in enumerate(sheet.columns)}
    helping = [row for row in sheet.rows if row[at["helps"]] == "yes"]
    return {(str(row[at["policy"]]), str(row[at["task"]]), str(row[at["metric"]])) for row in helping}


def _recalled(found: Sequence[Arms], store: MemoryStore) -> Iterator[tuple[str, Scored, Message]]:
    """Each message that a memory brought, with its call, once; notes that a memory wrote are no messages."""
    done = set()
    for group in found:
        for name, side in group.sides.items():
            for row in side.rows.values():
                for id in row.recalled:
                    if (name, row.slot, id) in done or id.startswith("note_"):
                        continue
                    done.add((name, row.slot, id))
                    try:
                        message = store.corpus.message(id)
                    except UnknownName:  # forgotten since
                        continue
                    yield name, row, message


def _once(calls: Sequence[Scored]) -> list[Scored]:
    return list({(row.thread, row.slot): row for row in calls}.values())


def _answer(row: Scored, store: MemoryStore) -> str:
    return store.corpus.message(row.slot).words


def _interval(found: list[tuple[float, str]]) -> Interval | None:
    users = [user for _, user in found]
    return interval([v for v, _ in found], users, SURE) if len(set(users)) >= ENOUGH else None


def _told(known: Interval | None, what: str) -> str:
    return "too few people with a past to tell" if known is None else f"{known} {what}, {known.n} calls"
