"""The model names who speaks next and to whom, from a closed list; each choice is a logged call ("next").

A choice that cannot be read is a counted failure, and then whoever has spoken least answers the latest message by
somebody else. Delays are drawn from the community's own (see pace.py).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from memory.fence import fenced, label
from memory.message import Message
from memory.tokens import clip_tokens
from simulator.floor import Floor, made_id
from simulator.records import Ask, Slot

_CHOICE = re.compile(r"(?:Member\s+)?\b([A-Z])\b(?:\D*?(\d+))?")
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # one for each person; more cannot be chosen among


@dataclass(frozen=True)
class Policy:
    """`turns`: most of a thread. `width`: how many are chosen before they speak side by side. `shown`: latest messages
    that the model sees, and can choose among."""

    turns: int = 20
    width: int = 1
    shown: int = 8

    async def __call__(self, floor: Floor) -> AsyncIterator[Sequence[Slot]]:
        people = floor.people[: len(LETTERS)]
        spoken = dict.fromkeys(people, 0)
        done = 0
        while done < self.turns:
            slots: list[Slot] = []
            time = floor.now
            while len(slots) < min(self.width, self.turns - done):
                free = [person for person in people if person not in {slot.author for slot in slots}]
                choice = await self._choice(floor, people, free, spoken, done + len(slots) + 1)
                if choice is None:
                    break
                author, parent = choice
                time += floor.pace.after(floor.random("delay", done + len(slots)))
                slots.append(floor.slot(author, parent.id, time, f"chosen {done + len(slots)}"))
            if not slots:
                floor.stop = "no one left to speak"
                return
            for slot in slots:
                spoken[slot.author] += 1
            done += len(slots)
            yield slots
        floor.stop = f"{self.turns} speakers were chosen"

    async def _choice(
        self, floor: Floor, people: Sequence[str], free: Sequence[str], spoken: dict[str, int], number: int
    ) -> tuple[str, Message] | None:
        """Who, and the message they answer; None where nobody can answer anybody."""
        shown = [floor.thread.messages[0], *floor.thread.messages[1:][-self.shown :]]
        usual = _usual(shown, free, spoken)
        if usual is None:
            return None
        slot = Slot(
            floor.thread.id, made_id(floor.thread.id, f"next {number}"), "", shown[-1].id, floor.now, True, number
        )

        def chosen(words: str) -> tuple[str, Message] | None:
            found = _CHOICE.search(words)
            author = dict(zip(LETTERS, people, strict=False)).get(found[1], "") if found else ""
            if found is None or author not in free:
                return None
            if found[2] is None:
                return _usual(shown, [author], spoken)
            n = int(found[2])
            parent = shown[n - 1] if 1 <= n <= len(shown) else None
            return (author, parent) if parent is not None and parent.author != author else None

        ask = Ask("next", floor.words.put("next"), max_tokens=12)
        turn = await floor.ask(slot, ask, _told(floor, shown, people, free), lambda words: chosen(words) is not None)
        return (chosen(turn.words) if turn.words else None) or usual


def _usual(shown: Sequence[Message], free: Sequence[str], spoken: dict[str, int]) -> tuple[str, Message] | None:
    """Of those who can answer somebody else, who has spoken least."""
    for author in sorted(free, key=spoken.__getitem__):
        for message in reversed(shown):
            if message.author != author:
                return author, message
    return None


def _told(floor: Floor, shown: Sequence[Message], people: Sequence[str], free: Sequence[str]) -> str:
    called = {person: f"Member {letter}" for letter, person in zip(LETTERS, people, strict=False)}
    number = {message.id: n for n, message in enumerate(shown, 1)}
    told = []
    for message in shown:
        about = {
            "number": str(number[message.id]),
            "speaker": called.get(message.author or "", "Somebody"),
            "words": fenced(clip_tokens(message.words, 80)),
        }
        if message.parent is None:
            told.append(floor.words.put("next_opening", **about))
        else:
            told.append(floor.words.put("next_reply", **about, answered=str(number.get(message.parent, "..."))))
    names = ", ".join(called[person] for person in free)
    place = label(floor.place) or "(no name)"
    return floor.words.put("next_scene", community=place, messages="\n".join(told), people=names)
