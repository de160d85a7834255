"""Which messages the corrected protocol asks about: drawn among people with a past, whatever their scores say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

from memory.errors import BadInput
from memory.message import Message, Thread
from memory.others import CorpusOthers
from memory.recall import History
from memory.store import MemoryStore
from simulator.records import Slot
from simulator.turn import elsewhere

TRIES = 5  # messages of a person that are looked at before somebody else is drawn
ALIKE = 10  # nearest people by size among whom the control is drawn
EVER = 2**62


@dataclass(frozen=True, slots=True)
class Case:
    """A message with what it answers, as an example: `text` below `parent`, with the score it got."""

    message: Message
    parent: str


@dataclass(frozen=True, slots=True)
class Target:
    """One item: the message `message` of a person, the matched `other` person, and an earlier case of each."""

    slot: Slot
    message: Message
    other: str
    own_case: Case
    other_case: Case

    @property
    def id(self) -> str:
        return self.message.id

    def facts(self) -> dict[str, str]:
        """By which it can be found again, without anybody's words."""
        return {
            "thread": self.slot.thread,
            "item": self.id,
            "person": self.slot.author,
            "other": self.other,
            "place": self.message.place,
            "own_case": self.own_case.message.id,
            "other_case": self.other_case.message.id,
        }


def choose(
    store: MemoryStore,
    n: int,
    seed: int,
    earlier: int = 5,
    places: Sequence[str] = (),
    watch: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> list[Target]:
    """`n` targets of `n` people (0: one of everybody who qualifies); the draw for n is the start of that for n + 1.

    A target is a comment with a known score, below a message with words. Its person, and a matched other of the
    community who had not spoken in the thread, have `earlier` messages before it outside of the thread, one of which
    can be the example. No rule looks at the value of a score. `places`: communities to stay in; () for all.
    `watch`: what is looked for, how many there are, of how many.

    Raises: BadInput where fewer than `n` people qualify, with how many do.
    """
    people = sorted(store.corpus.people())
    Random(f"{seed}").shuffle(people)
    found: list[Target] = []
    for person in people:
        if n and len(found) == n:
            break
        target = _of(store, person, Random(f"{seed}\x1f{person}"), earlier, places)
        if target is not None:
            found.append(target)
            watch("items", len(found), n or len(people))
    if len(found) < max(n, 1):
        raise BadInput(
            f"asked for {n or 'any'} items, found {len(found)}: people with {earlier} earlier messages and a matched "
            "other person in the community; ask for fewer items or fewer earlier messages"
        )
    return found


def _of(store: MemoryStore, person: str, dice: Random, earlier: int, places: Sequence[str]) -> Target | None:
    past = store.history(person, before=EVER)
    if len(past) <= earlier:
        return None
    later = range(earlier, len(past))
    for at in dice.sample(later, min(TRIES, len(later))):
        message = past.messages[at]
        if message.parent is None or message.score is None or (places and message.place not in places):
            continue
        target = _whole(store, message, person, dice, earlier)
        if target is not None:
            return target
    return None


def _whole(store: MemoryStore, message: Message, person: str, dice: Random, earlier: int) -> Target | None:
    thread = store.corpus.thread(message.thread)
    parent = thread.by_id.get(message.parent or "")
    if parent is None or not parent.words or parent.time > message.time:
        return None
    slot = Slot(thread.id, message.id, person, parent.id, message.time)
    own = elsewhere(store.history(person, before=slot.time), thread)
    mine = case(store, own) if len(own) >= earlier else None
    if mine is None:
        return None
    for name in _alike(store, own, thread, dice):
        theirs = elsewhere(store.history(name, before=slot.time), thread)
        lent = case(store, theirs) if len(theirs) >= earlier else None
        if lent is not None:
            return Target(slot, message, name, mine, lent)
    return None


def _alike(store: MemoryStore, own: History, thread: Thread, dice: Random) -> Iterator[str]:
    """People of the community who have not spoken in the thread, the ALIKE nearest in size in an order by lot."""
    there = {m.author for m in thread.messages if m.time <= own.before}
    near = [n for n in CorpusOthers(store, own, thread.id).like(ALIKE + len(there)) if n not in there][:ALIKE]
    return iter(dice.sample(near, len(near)))


def case(store: MemoryStore, history: History) -> Case | None:
    """The latest comment of a past that has a known score and answers words that were there before it."""
    for at in range(len(history) - 1, -1, -1):
        message = history.messages[at]
        if message.parent is None or message.score is None or not message.bare.words:
            continue
        parent = store.corpus.thread(message.thread).by_id.get(message.parent)
        if parent is not None and parent.words and parent.time <= message.time:
            return Case(message, parent.words)
    return None
