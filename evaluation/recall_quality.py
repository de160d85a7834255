"""Retrieval quality without a model: does a policy bring back what belongs to the words that a person answered?

An item is one comment of a person's; the query is the words it answered, the moment its own time. Three measures:

thread, place   the policy chooses from history(person, before=moment), as in a run; relevant is what the person had
                written in that thread, or in that community
held-out reply  the policy ranks the comment itself among up to 99 earlier comments of the same person. These candidates
                are handed over openly and carry words alone: one time, no thread, quotes taken out, shuffled names

Source: LongMemEval, which also skips items that nothing answers; PGraphRAG's ranking among a person's own texts.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import numpy as np

import memory.retrievers
from evaluation.console import Live, show
from evaluation.ranking import ndcg, recalled_all, recalled_any, reciprocal_rank
from evaluation.stats import Interval, interval
from memory import policy
from memory.doors import CorpusDoors, needs
from memory.errors import BadInput, PersonaconvError, clip
from memory.gathered import Gathered
from memory.message import Message
from memory.recall import History, Retriever
from memory.store import MemoryStore

T = TypeVar("T")
Measure = Literal["thread", "place", "held-out reply"]
MEASURES: tuple[Measure, ...] = ("thread", "place", "held-out reply")
CONTROLS = ("none", "random_own", "recency")
DISTRACTORS, FEWEST = 99, 9
ALWAYS = 2**62  # later than every message
COLUMNS = ("policy", "k", "any@k", "all@k", "nDCG@k", "MRR@k", "nDCG - random_own", "nDCG - recency")

Relevant = Callable[[Message], bool]
Progress = Callable[[str, int, int | None], None]
Hits = dict[tuple[str, str], list[tuple[str, list[bool], int]]]  # (measure, policy) -> person, hit by rank, relevant


@dataclass(frozen=True, slots=True)
class Item:
    """A comment and the words it answered."""

    reply: Message
    query: str


@dataclass(frozen=True, slots=True)
class Row:
    """One policy on one measure at one k. `over_random`, `over_recency`: paired differences of nDCG."""

    measure: Measure
    policy: str
    k: int
    any: Interval
    all: Interval
    ndcg: Interval
    mrr: Interval
    over_random: Interval
    over_recency: Interval


@dataclass(frozen=True)
class Quality:
    """`rows` by measure, policy and k; `skipped`: (measure, reason) -> items; `left_out`: (measure, policy) -> why."""

    rows: list[Row]
    items: int
    people: int
    skipped: dict[tuple[str, str], int]
    left_out: dict[tuple[str, str], str]


def without_model() -> list[str]:
    """The policies of the folder that need neither a model nor the truth."""
    names = policy.names(memory.retrievers)
    return [name for name in names if not {"ask", "truth"} & set(needs(policy.load(memory.retrievers, name)))]


async def measure(  # noqa: PLR0913 - what is drawn is said in four words
    store: MemoryStore,
    specs: Sequence[str],
    *,
    ks: Sequence[int] = (1, 3, 5, 10),
    each: int = 20,
    people: int = 1000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Quality:
    """Every policy of `specs` and the controls on the same items: at most `each` comments of `people`, drawn by `seed`.

    Each policy is asked once an item and measure, for max(ks) messages. One that refuses is left out of that measure,
    with its reason.

    Raises:
        UnknownName: a policy. BadInput: no k, one below 1, or not one item that can be judged.
    """
    if not ks or min(ks) < 1:
        raise BadInput(f"k={min(ks, default='')} messages cannot be judged; give numbers from 1 on")
    doors = CorpusDoors(store)
    policies: dict[str, Retriever] = {
        spec: policy.sized(policy.load(memory.retrievers, spec), max(ks)) for spec in dict.fromkeys([*CONTROLS, *specs])
    }
    found = list(items(store, each, people, seed))
    skipped: Counter[tuple[str, str]] = Counter()
    left_out: dict[tuple[str, str], str] = {}
    hits: Hits = {}
    for done, item in enumerate(found):
        for name, history, relevant in await _asked(store, item, seed, skipped):
            wanted = {m.id for m in history.messages if relevant(m)}  # the person's own: others' words are never a hit
            for spec, made in policies.items():
                try:
                    asked = (name, spec) not in left_out
                    answer = await doors.recall(made, history, item.query, item.reply.thread) if asked else []
                except PersonaconvError as error:
                    left_out[name, spec] = str(error)
                    answer = []
                flags = [r.message.id in wanted for r in answer]
                hits.setdefault((name, spec), []).append((item.reply.author or "", flags, len(wanted)))
        if progress is not None:
            progress("recall", done + 1, len(found))
    if not hits:
        raise BadInput(
            f"{store.corpus.path} has no reply that can be judged ({len(found)} looked at); import more of it"
        )
    judged = {key: rows for key, rows in hits.items() if key not in left_out}
    rows = [row for name in MEASURES for row in _rows(name, judged, sorted(set(ks)))]
    return Quality(rows, len(found), len({i.reply.author for i in found}), dict(skipped), left_out)


def items(store: MemoryStore, each: int, people: int, seed: int) -> Iterator[Item]:
    """Comments that answer somebody else's words, drawn by seed: at most `each` of at most `people` people."""
    for person in sorted(_drawn(list(store.corpus.people()), people, seed, "people")):
        said = [m for m in store.history(person, before=ALWAYS).messages if m.parent is not None]
        answers = []
        for reply in _drawn(said, len(said), seed, person):
            asked = store.corpus.message(reply.parent or "")
            if asked.words.strip() and asked.author != person and own(reply):
                answers.append(Item(reply, asked.words))
            if len(answers) == each:
                break
        yield from sorted(answers, key=lambda a: (a.reply.time, a.reply.id))


def own(message: Message) -> str:
    """The words of `message` without quoted lines, which may be those of the query."""
    return message.bare.words.strip()


async def _asked(
    store: MemoryStore, item: Item, seed: int, skipped: Counter[tuple[str, str]]
) -> list[tuple[Measure, History, Relevant]]:
    """The measures that `item` can be judged by: what is chosen from, and what of it is relevant."""
    reply = item.reply
    past = store.history(reply.author or "", before=reply.time)
    asked: list[tuple[Measure, History, Relevant]] = []
    tests: list[tuple[Measure, Relevant]] = [
        ("thread", lambda m: m.thread == reply.thread),
        ("place", lambda m: m.place == reply.place),
    ]
    earlier = list(past.messages)
    for name, relevant in tests:
        total = sum(map(relevant, earlier))
        if not total:
            skipped[name, "nothing earlier is relevant"] += 1
        elif total == len(earlier):
            skipped[name, "everything earlier is relevant"] += 1
        else:
            asked.append((name, past, relevant))
    others = [m for m in earlier if m.parent is not None and own(m) and own(m) != own(reply)]
    if len(others) < FEWEST:
        skipped["held-out reply", f"fewer than {FEWEST} other comments"] += 1
        return asked
    shown = _drawn([reply, *_drawn(others, DISTRACTORS, seed, reply.id)], DISTRACTORS + 1, seed + 1, reply.id)
    bare = [Message(f"candidate-{n:03}", "", None, reply.author, reply.time - 1, own(m)) for n, m in enumerate(shown)]
    vectors = await store.embed([m.words for m in bare])
    [target] = [b.id for b, m in zip(bare, shown, strict=True) if m.id == reply.id]
    handed = Gathered(past.user, reply.time, bare, vectors, store.embed)
    return [*asked, ("held-out reply", handed, lambda m: m.id == target)]


def _drawn(given: Sequence[T], n: int, seed: int, key: str) -> list[T]:
    """n of `given` without replacement, in the order drawn, from (seed, key) alone."""
    digest = hashlib.sha256(f"{seed}:{key}".encode(errors="surrogatepass")).digest()
    order = np.random.default_rng(list(digest)).permutation(len(given))
    return [given[at] for at in order[:n]]


def _rows(name: Measure, hits: Hits, ks: list[int]) -> Iterator[Row]:
    for spec in [spec for measured, spec in hits if measured == name]:
        found = hits[name, spec]
        people = [person for person, _, _ in found]
        for k in ks:
            gain = _gains(found, k)
            lottery, newest = (
                interval([a - b for a, b in zip(gain, _gains(hits[name, control], k), strict=True)], people)
                for control in ("random_own", "recency")
            )
            yield Row(
                name,
                spec,
                k,
                any=interval([recalled_any(flags, k) for _, flags, _ in found], people),
                all=interval([recalled_all(flags, total, k) for _, flags, total in found], people),
                ndcg=interval(gain, people),
                mrr=interval([reciprocal_rank(flags, k) for _, flags, _ in found], people),
                over_random=lottery,
                over_recency=newest,
            )


def _gains(found: list[tuple[str, list[bool], int]], k: int) -> list[float]:
    return [ndcg(flags, total, k) for _, flags, total in found]


def tables(quality: Quality) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """For each measure its title and its rows of COLUMNS, as text; a policy left out has its reason instead.

    After ± stands half of a 95 % interval that counts people."""
    for name in MEASURES:
        rows = [row for row in quality.rows if row.measure == name]
        cells = [
            (r.policy, str(r.k), *map(_cell, (r.any, r.all, r.ndcg, r.mrr, r.over_random, r.over_recency)))
            for r in rows
        ]
        cells += [(spec, "", clip(why)) for (measured, spec), why in quality.left_out.items() if measured == name]
        judged = f"{rows[0].ndcg.n} items of {rows[0].ndcg.groups} people" if rows else "no item"
        skipped = [f"{n} skipped: {why}" for (measured, why), n in sorted(quality.skipped.items()) if measured == name]
        yield f"{name}: {'; '.join([judged, *skipped])}", cells


def _cell(found: Interval) -> str:
    return f"{found.mean:.3f}" if math.isnan(found.se) else f"{found.mean:.3f} ±{found.high - found.mean:.3f}"


def show_quality(corpus: Path, specs: Sequence[str] | None = None, ks: str = "1,3,5,10", **drawn: int) -> Quality:
    """Measures with progress shown and prints a table for each measure; `specs`: all that need no model, by default.

    Raises:
        BadInput: `ks` is not numbers with commas between. And what `measure` raises.
    """
    try:
        numbers = [int(part) for part in ks.split(",")]
    except ValueError:
        raise BadInput(f"k={ks!r} cannot be read; give numbers with commas between, like 1,3,5,10") from None
    store = MemoryStore.open(corpus)
    try:
        with Live() as live:
            found = asyncio.run(measure(store, specs or without_model(), ks=numbers, progress=live, **drawn))
    finally:
        store.close()
    for title, rows in tables(found):
        show(title, COLUMNS, rows, right=COLUMNS[1:])
    print("±: half of a 95 % interval that counts people, not items")
    return found
