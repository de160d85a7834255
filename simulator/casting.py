"""Which threads to play: those in which people with a history take part, drawn by seed."""

from __future__ import annotations

import random
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Protocol

from memory.errors import BadInput
from memory.message import Thread
from memory.recall import History
from memory.store import MemoryStore

PEOPLE = 3  # a thread of fewer is no multi-user thread
EARLIER = 5  # messages before the thread's slot that make somebody a persona

MANY = 50  # threads from which a list of all (0.5 us each) is faster than reading every one (120 us)


class Library(Protocol):
    """What is asked of a corpus: memory.corpus.Corpus."""

    def thread_ids(self) -> list[str]: ...
    def thread(self, id: str) -> Thread: ...
    def people(self) -> Container[str]: ...


class Past(Protocol):
    def history(self, user: str, *, before: int) -> History: ...


@dataclass(frozen=True)
class Anybody:
    """The past of whoever takes part: an empty one for people whom the corpus does not know."""

    store: MemoryStore

    def history(self, user: str, *, before: int) -> History:
        return self.store.history(user, before=before, strangers=True)


def choose(corpus: Library, past: Past, n: int, seed: int) -> list[str]:
    """Ids of `n` threads; the draw for n is the start of the draw for n + 1.

    A thread counts when at least PEOPLE people write in it and at least half of the messages after its opening come
    from somebody with EARLIER earlier messages. The later half of the corpus goes first: there people have a past.

    Raises: BadInput where fewer than `n` threads qualify, with how many do.
    """
    ids = corpus.thread_ids()
    late, early = ids[len(ids) // 2 :], ids[: len(ids) // 2]
    for part in (late, early):
        random.Random(f"{seed}").shuffle(part)
    found: list[str] = []
    people = corpus.people()
    for id in (*late, *early):
        if len(found) == n:
            break
        if _qualifies(corpus.thread(id), past, people):
            found.append(id)
    if len(found) < n:
        raise BadInput(
            f"asked for {n} threads, found {len(found)} of {len(ids)} with {PEOPLE} or more people who have a history; "
            f"ask for {len(found)} or name threads" if found else _nothing(len(ids))
        )  # fmt: skip
    return found


def named(corpus: Library, ids: Sequence[str]) -> list[str]:
    """The same ids, each looked up and taken once. Raises UnknownName for one that is not there."""
    found = list(dict.fromkeys(ids))
    there = set(corpus.thread_ids()) if len(found) > MANY else ()
    return [id if id in there else corpus.thread(id).id for id in found]


def _qualifies(thread: Thread, past: Past, people: Container[str]) -> bool:
    replies = [m for m in thread.messages if m.parent is not None and m.author in people and m.words]
    if len({m.author for m in replies}) < PEOPLE:
        return False
    known = sum(len(past.history(m.author, before=m.time)) >= EARLIER for m in replies if m.author)
    return 2 * known >= len(replies)


def _nothing(threads: int) -> str:
    if threads == 0:
        return "the corpus has no threads; import a dump with messages first"
    return (
        f"none of the {threads} threads has {PEOPLE} or more people of whom half have {EARLIER} earlier messages; "
        "name threads to simulate them all the same"
    )
