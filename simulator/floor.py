"""Floor: what a scheduler sees of its thread, and how it makes slots. It knows nothing of the graph.

A scheduler is an async generator: each time it is asked, it looks at `floor.thread` (all that was posted so far, what
failed is not there) and yields the slots of the next round, which are spoken side by side. It ends by returning, and
says why in `floor.stop`. A run that goes on asks it for the rounds that are in the log once more: it has to give the
same slots for the same floor, so chance comes from `floor.random` and a model is asked by `floor.ask`, which logs.
"""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Protocol

import numpy as np

from memory.message import Message, Thread
from memory.templates import Wording
from simulator.pace import Links, Pace, company, pace
from simulator.records import Ask, Base, Slot, Turn
from simulator.wording import wording

Readable = Callable[[str], bool]
Asking = Callable[[Slot, Ask, str, Readable], Awaitable[Turn]]


@dataclass
class Floor:
    """One thread as its scheduler sees it. `thread` begins as the opening and grows with every round.

    `real`: the thread as it really went, None in free threads; only skeleton may look at it. `known`: everybody who
    can be asked to write. `company`: the people who take part, or how many.
    """

    thread: Thread
    real: Thread | None
    kept: int  # messages of `real` that stay real
    mode: Base
    known: Container[str]
    company: int | tuple[str, ...]
    corpus: Links
    seed: int  # of this thread and repeat
    asking: Asking
    words: Wording = field(default_factory=wording)  # of prompts, for a scheduler that asks
    posted: tuple[Message, ...] = ()  # new in `thread` since the last round; all of it before the first one
    stop: str = ""  # why the scheduler ended
    left_out: int = 0  # real messages that nobody can be asked to write
    made: int = 0  # slots so far
    opened: int = field(init=False)  # UTC seconds of the opening's latest message: all fits are cut there

    def __post_init__(self) -> None:
        self.opened = self.now

    @cached_property
    def pace(self) -> Pace:
        """How this community answers, counted strictly before the opening's end."""
        return pace(self.corpus, self.place, self.opened)

    @cached_property
    def usual_score(self) -> float:
        """The community's median score strictly before the opening's end; 1 where there is none."""
        found = self.corpus.scores(before=self.opened, place=self.place, outside=self.thread.id)
        return float(np.median(found)) if len(found) else 1.0

    @cached_property
    def people(self) -> tuple[str, ...]:
        """Who may speak: those in the opening, then others by their activity before it."""
        if isinstance(self.company, tuple):
            return self.company
        present = (m.author for m in self.thread.messages if m.author is not None)
        return company(self.pace, self.known, present, self.company, self.random("people"))

    @property
    def place(self) -> str:
        """The community."""
        return self.thread.messages[0].place

    @property
    def now(self) -> int:
        """UTC seconds of the latest message."""
        return self.thread.messages[-1].time

    def random(self, *names: object) -> random.Random:
        """Chance that depends on this thread and `names` alone: name what is drawn, e.g. ("delay", message.id)."""
        return random.Random(f"{self.seed}\x1f" + "\x1f".join(map(str, names)))

    def slot(self, author: str, parent: str, time: int, name: str = "") -> Slot:
        """A place where `author` answers `parent`, later than it. `name` tells slots of a thread apart; by default
        they are counted. Named after what it follows from, a slot is found again in a branch where others are gone."""
        self.made += 1
        time = max(time, self.thread[parent].time + 1)
        return Slot(self.thread.id, made_id(self.thread.id, name or str(self.made)), author, parent, time, made=True)

    async def ask(self, slot: Slot, ask: Ask, prompt: str, readable: Readable) -> Turn:
        """The run's model about `slot`: a logged turn, asked once however often the run goes on. Its `words` are None
        where the call failed or the answer is not `readable`."""
        return await self.asking(slot, ask, prompt, readable)


class Scheduler(Protocol):
    def __call__(self, floor: Floor) -> AsyncIterator[Sequence[Slot]]: ...


def made_id(thread: str, name: str) -> str:
    """The id of a message that nobody really wrote: short, the same for the same thread and name."""
    return "sim_" + sha256(f"{thread}\x1f{name}".encode()).hexdigest()[:12]
