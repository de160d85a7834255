"""Who speaks, when and to whom is drawn from rates that the community showed before the opening: see pace.py.

Every message gets a drawn number of replies, each after a drawn delay, so the chance of an answer fades with its
age; of a real opening, those replies that would have come before its end are left out. Chance is tied to the message
that is answered: a branch that leaves a message as it is leaves its replies' times as they are.
Source: branching (Hawkes) cascades with log-normal delays, as in SEISMIC (Zhao et al. 2015).
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from simulator.floor import Floor
from simulator.records import Slot

Due = tuple[int, str, int]  # UTC seconds, id of the message that is answered, number of the reply


@dataclass(frozen=True)
class Policy:
    """`together`: seconds within which people speak side by side, none seeing the others' words. `silence`: seconds
    without a message that end the thread."""

    together: int = 600
    silence: int = 604_800

    async def __call__(self, floor: Floor) -> AsyncIterator[Sequence[Slot]]:
        due: list[Due] = []
        here: dict[str, None] = {}  # who has spoken, in order
        while True:
            for message in floor.posted:
                here |= {message.author: None} if message.author else {}
                for reply in self._replies(message.id, message.parent is None, message.time, floor):
                    if reply[0] > floor.opened:
                        heappush(due, reply)
            slots = self._round(due, floor, here)
            if not slots:
                break
            yield slots
        floor.stop = "silence: no further answer was due" if floor.people else "no one left to speak"

    def _replies(self, id: str, post: bool, time: int, floor: Floor) -> Iterator[Due]:
        chance = floor.random("replies", id)
        for n in range(floor.pace.children(post, chance)):
            yield time + floor.pace.after(chance), id, n

    def _round(self, due: list[Due], floor: Floor, here: dict[str, None]) -> list[Slot]:
        """The next answers, as long as they are close together, by different people, and none of them is due to be
        answered before the next."""
        slots: list[Slot] = []
        end = floor.now + self.silence
        while due and due[0][0] <= end:
            time, parent, n = due[0]
            author = _author(floor, parent, n, here) if parent in floor.thread.by_id else None
            if author is not None and author in {slot.author for slot in slots}:
                break
            heappop(due)
            if author is None:
                continue  # what it answers is gone, or there is nobody but its own author
            slot = floor.slot(author, parent, time, f"{parent} {n}")
            slots.append(slot)
            answered = min((at for at, _, _ in self._replies(slot.id, False, slot.time, floor)), default=end)
            end = min(end, answered - 1, slots[0].time + self.together)
        return slots


def _author(floor: Floor, id: str, n: int, here: dict[str, None]) -> str | None:
    """Who gives the nth answer to message `id`: not its author."""
    thread, pace, chance = floor.thread, floor.pace, floor.random("author", id, n)
    parent = thread[id]
    people = [person for person in floor.people if person != parent.author]
    answered, opener = thread.by_id.get(parent.parent or ""), thread.messages[0].author
    back = {answered.author} if answered else set()
    for among, share in (
        (back, pace.back),
        ({opener}, pace.opener),
        (here.keys() - back - {opener}, pace.present),
    ):
        some = [person for person in people if person in among]
        if some and chance.random() < share:
            return _drawn(some, floor, chance)
    return _drawn([person for person in people if person not in here] or people, floor, chance)


def _drawn(people: list[str], floor: Floor, chance: random.Random) -> str | None:
    return chance.choices(people, [floor.pace.chance_of(person) for person in people])[0] if people else None
