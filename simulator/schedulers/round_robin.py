"""Everybody in turn answers the latest message by somebody else; the control that a cleverer scheduler must beat.

Delays are drawn from the community's own (see pace.py).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from simulator.floor import Floor
from simulator.records import Slot


@dataclass(frozen=True)
class Policy:
    """`turns`: how often each person speaks. `width`: how many speak side by side. `to`: "last", or "opening" for
    answers to the opening post alone. Who opened the thread speaks last of all."""

    turns: int = 2
    width: int = 1
    to: str = "last"

    async def __call__(self, floor: Floor) -> AsyncIterator[Sequence[Slot]]:
        opening = floor.thread.messages[0]
        people = sorted(floor.people, key=lambda person: person == opening.author)
        order = [person for _ in range(self.turns) for person in people]
        for at in range(0, len(order), max(1, self.width)):
            time = floor.now
            slots = []
            for n, author in enumerate(order[at : at + max(1, self.width)], at):
                others = (m for m in reversed(floor.thread.messages) if m.author != author)
                parent = opening if self.to == "opening" else next(others, None)
                if parent is None or parent.author == author:
                    continue
                time += floor.pace.after(floor.random("delay", n))
                slots.append(floor.slot(author, parent.id, time, f"robin {n}"))
            if slots:
                yield slots
        floor.stop = "everybody has had their turns" if people else "no one left to speak"
