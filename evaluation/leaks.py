"""Controls of a comparison of memories: each fails the whole of it with one sentence. No model is asked.

canary          all that is later, the answer included, stands in the corpus at the moment of every call, and more of it
                is planted beside the corpus: none is recalled, stands in a prompt, or changes one
time-shuffle    with the moments of a person's messages permuted, nothing but these moments tells what is late
user-shuffle    with people permuted, what a memory brings is as like the true answers as another person's
near-duplicate  what a memory gains does not rest on items whose answer it was shown nearly word for word
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from evaluation.canary import Retake, again, planted_canaries
from evaluation.gain import Arms, decomposition
from evaluation.rows import Scored
from evaluation.shuffles import time_shuffle, user_shuffle
from memory.errors import Leak, UnknownName, clip
from memory.message import Message
from memory.store import MemoryStore

GRAM, ALIKE = 5, 0.5  # words of a run, and the share of the answer's runs that makes a near-duplicate
MOST = 200  # calls that the shuffles look at


@dataclass(frozen=True, slots=True)
class Control:
    """`found`: what was seen, in words; a control that was not passed has no record: it raised Leak."""

    name: str
    found: str


def sample(found: Sequence[Arms], store: MemoryStore, seed: int = 0) -> list[Scored]:
    """At most MOST calls of the compared memories whose answer the corpus has, drawn by seed."""
    calls = {
        (row.thread, row.slot): row for group in found for side in group.sides.values() for row in side.rows.values()
    }
    there = [calls[key] for key in sorted(calls) if not _gone(calls[key], store)]
    return Random(f"{seed} controls").sample(there, min(MOST, len(there)))


async def controls(found: Sequence[Arms], store: MemoryStore, seed: int = 0, retake: Retake = again) -> list[Control]:
    """All controls. `retake`: how a call is taken again. Raises Leak: the memory, the call and what was found."""
    drawn = sample(found, store, seed)
    seen = canary(found, store)
    taken = await planted_canaries(found, drawn, store, retake)
    return [
        replace(seen, found=f"{seen.found}; {taken} calls taken again with later messages planted are the same"),
        Control("time-shuffle", await time_shuffle(found, drawn, store, seed)),
        Control("user-shuffle", await user_shuffle(found, drawn, store, seed)),
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


def near_duplicates(found: Sequence[Arms], store: MemoryStore) -> Control:
    """The verdict of every memory that helps stands without the items whose answer was nearly in its prompt."""
    alike = duplicated(found, store)
    if not alike:
        return Control("near-duplicate", "no recalled message is nearly the answer")
    helped, still = (_helping(groups) for groups in (found, without(found, alike)))
    if lost := sorted(helped - still):
        raise Leak(
            f"near-duplicate: {' on '.join(map(clip, lost[0]))} gains only with the {len(alike)} items whose answer it "
            "was shown nearly word for word; drop copies from the corpus, or do not claim it"
        )
    return Control(
        "near-duplicate", f"{len(alike)} items whose answer was nearly recalled; every gain stands without them"
    )


def duplicated(found: Sequence[Arms], store: MemoryStore) -> set[tuple[str, str]]:
    """(thread, slot) of the items whose answer some memory brought nearly word for word."""
    return {
        (row.thread, row.slot)
        for _, row, message in _recalled(found, store)
        if shared(message.words, _answer(row, store)) >= ALIKE
    }


def without(found: Sequence[Arms], alike: set[tuple[str, str]]) -> list[Arms]:
    """The same without these items."""
    bare = [replace(g, items=tuple(i for i in g.items if (i[1], i[2]) not in alike)) for g in found]
    return [group for group in bare if group.items]


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


def _answer(row: Scored, store: MemoryStore) -> str:
    return store.corpus.message(row.slot).words


def _gone(row: Scored, store: MemoryStore) -> bool:
    """Whether the corpus does not have the answer: of a slot that a scheduler made, or forgotten since."""
    try:
        return not _answer(row, store)
    except UnknownName:
        return True
