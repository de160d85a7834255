"""Who answers whom and when is taken from the real thread; only the words are simulated: each has its true one.

replay: every slot sees the real thread before its moment; all could be taken at once.
rollout: from the cut on, simulated messages stand where the real ones stood. A round takes slots in order of time for
as long as nobody in it answers, or is, somebody else in it; so a round does not depend on who of it finishes first.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from memory.message import Message, Thread
from simulator.records import Mode, Slot


@dataclass(frozen=True)
class Plan:
    """`opening`: the thread before anybody speaks. `left_out`: real messages that nobody can be asked to write."""

    mode: Mode
    opening: Thread
    rounds: tuple[tuple[Slot, ...], ...]
    left_out: int = 0

    @property
    def slots(self) -> int:
        return sum(map(len, self.rounds))


@dataclass(frozen=True)
class Policy:
    """`cut`: first messages that stay real (the opening post always). `max_turns`: 0 for all. `width`: of a round.

    Deleted accounts and bots have no persona: their messages are left out, in a rollout with all that hangs under them.
    """

    cut: int = 1
    max_turns: int = 0
    width: int = 64

    def plan(self, real: Thread, mode: Mode, people: Container[str] | None = None) -> Plan:
        """`people`: who can be asked to write; None for everybody with a name."""
        kept = real.messages[: max(1, self.cut)]
        later = real.messages[len(kept) :]
        lost: set[str] = set()
        slots: list[Slot] = []
        for message in later:
            slot = _slot(message)
            if (
                slot is None
                or (people is not None and slot.author not in people)
                or (mode == "rollout" and slot.parent in lost)
            ):
                lost.add(message.id)
            else:
                slots.append(slot)
        chosen = slots[: self.max_turns] if self.max_turns else slots
        opening = real if mode == "replay" else Thread(real.id, kept)
        rounds = self._wide(chosen) if mode == "replay" else self._in_turn(chosen)
        return Plan(mode, opening, rounds, len(lost))

    def _wide(self, slots: list[Slot]) -> tuple[tuple[Slot, ...], ...]:
        return tuple(tuple(slots[i : i + self.width]) for i in range(0, len(slots), self.width))

    def _in_turn(self, slots: list[Slot]) -> tuple[tuple[Slot, ...], ...]:
        rounds: list[list[Slot]] = [[]]
        ids: set[str] = set()
        authors: set[str] = set()
        for slot in slots:
            if slot.parent in ids or slot.author in authors or len(rounds[-1]) == self.width:
                rounds.append([])
                ids, authors = set(), set()
            rounds[-1].append(slot)
            ids.add(slot.id)
            authors.add(slot.author)
        return tuple(tuple(slots) for slots in rounds if slots)


def _slot(message: Message) -> Slot | None:
    if message.author is None or message.parent is None or not message.words:
        return None
    return Slot(message.thread, message.id, message.author, message.parent, message.time)
