"""Who answers whom and when is taken from the real thread; only the words are simulated: each has its true one.

replay: every slot sees the real thread before its moment; all could be taken at once.
rollout: from the cut on, simulated messages stand where the real ones stood. A round takes slots in order of time for
as long as nobody in it answers, or is, somebody else in it; so a round does not depend on who of it finishes first.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Container, Iterator, Sequence
from dataclasses import dataclass

from memory.errors import BadInput
from memory.message import Message, Thread
from simulator.floor import Floor
from simulator.records import Base, Slot


@dataclass(frozen=True)
class Policy:
    """`width`: most slots of a round.

    Deleted accounts and bots have no persona: their messages are left out, in a rollout with all that hangs under them.
    """

    width: int = 64

    async def __call__(self, floor: Floor) -> AsyncIterator[Sequence[Slot]]:
        if floor.real is None:
            raise BadInput("the skeleton scheduler follows a real thread; in mode free choose another one")
        slots, floor.left_out = followed(floor.real, floor.kept, floor.mode, floor.known)
        for round in self.rounds(slots, floor.mode):
            yield round
        floor.stop = "the skeleton has no further slot"

    def rounds(self, slots: list[Slot], mode: Base) -> Iterator[list[Slot]]:
        """`slots` in groups that can be spoken side by side."""
        round: list[Slot] = []
        ids: set[str] = set()
        authors: set[str] = set()
        for slot in slots:
            meets = mode != "replay" and (slot.parent in ids or slot.author in authors)
            if meets or len(round) == self.width:
                yield round
                round, ids, authors = [], set(), set()
            round.append(slot)
            ids.add(slot.id)
            authors.add(slot.author)
        if round:
            yield round


def followed(real: Thread, kept: int, mode: Base, known: Container[str]) -> tuple[list[Slot], int]:
    """The slots of `real` after its first `kept` messages, and how many messages nobody can be asked to write."""
    lost: set[str] = set()
    slots: list[Slot] = []
    for message in real.messages[kept:]:
        slot = _slot(message)
        if slot is None or slot.author not in known or (mode != "replay" and slot.parent in lost):
            lost.add(message.id)
        else:
            slots.append(slot)
    return slots, len(lost)


def _slot(message: Message) -> Slot | None:
    if message.author is None or message.parent is None or not message.words:
        return None
    return Slot(message.thread, message.id, message.author, message.parent, message.time)
