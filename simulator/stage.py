"""Stage: one thread while it is played. Rounds from its scheduler, what they posted, limits, interventions.

It knows nothing of LangGraph. A thread that goes on is rebuilt from the log: its rounds are asked for once more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Literal

from memory.errors import BadInput
from memory.message import Message, Thread
from memory.recall import Retriever
from simulator.floor import Asking, Floor, Readable, Scheduler
from simulator.interventions import Edit, Insert, Intervention, Memory, Model, Remove, Swap, applied, met
from simulator.llm import LLM
from simulator.records import Ask, Slot, Turn
from simulator.turn import Cast, ask_alone, logged, take_turn, unanswerable

Score = Callable[[Turn], str | float | None]  # reads the score that an impact probe predicted


@dataclass(frozen=True)
class Limits:
    """0: none. `size`: messages of the thread, its opening included."""

    turns: int = 0
    rounds: int = 0
    size: int = 0

    def reached(self, turns: int, rounds: int, size: int) -> str:
        """Why there is no further round, "" where there is one."""
        for limit, found, what in (
            (self.turns, turns, "turns were taken"),
            (self.rounds, rounds, "rounds were played"),
            (self.size, size, "messages are in the thread"),
        ):
            if limit and found >= limit:
                return f"limit: {limit} {what}"
        return ""


@dataclass(frozen=True)
class Roles:
    """Which model and memory speak for whom. `own`: person -> name of a model; other names are of interventions."""

    cast: Cast
    own: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, LLM] = field(default_factory=dict)
    retrievers: Mapping[str, Retriever] = field(default_factory=dict)

    def of(self, author: str, number: int, changes: Sequence[Intervention]) -> Cast:
        """The cast of the thread's turn `number`."""
        model, retriever = self.own.get(author, ""), ""
        for change in changes:
            if change.at <= number:
                if isinstance(change, Model) and change.person in ("", author):
                    model = change.model
                if isinstance(change, Memory) and change.person in ("", author):
                    retriever = change.retriever
        cast = replace(self.cast, llm=self.models[model]) if model else self.cast
        if not retriever:
            return cast
        return replace(cast, retriever=self.retrievers[retriever], retriever_name=retriever)


@dataclass
class Stage:
    """`open` writes or gives the opening, None where the model did not write it. `changes` are this thread's.
    `logged`: ids of its slots that earlier sittings took."""

    id: str
    open: Callable[[Asking], Awaitable[Floor | None]]
    scheduler: Scheduler
    roles: Roles
    limits: Limits = field(default_factory=Limits)
    changes: tuple[Intervention, ...] = ()
    repeat: int = 0
    scores: Literal["none", "community", "impact"] = "none"  # predicted ones that later turns see
    score: Score | None = None
    logged: set[str] = field(default_factory=set)
    gate: AbstractAsyncContextManager[object] = field(default_factory=nullcontext)  # bounds turns in flight
    floor: Floor | None = field(init=False, default=None)
    aside: int = field(init=False, default=0)  # lines of the log that are of no turn: its opening, who speaks next
    round: int = field(init=False, default=-1)
    taken: int = field(init=False, default=0)  # turns of all rounds so far, this one included
    slots: tuple[Slot, ...] = field(init=False, default=())
    _missed: int = field(init=False, default=0)
    _seen: tuple[Thread, ...] = field(init=False, default=())  # the thread as each slot of the round sees it
    _rounds: AsyncIterator[Sequence[Slot]] = field(init=False)

    @property
    def unmet(self) -> int:
        """Interventions that found nothing to change, or whose turn was not reached."""
        return self._missed + sum(change.at > self.taken for change in self.changes)

    async def reach(self, round: int) -> str:
        """Makes `round` the round to be spoken, or gives the reason why there is none. What was spoken in the rounds
        before it is taken from the log.

        Raises: BadInput where the log has other slots, because the scheduler does not repeat itself.
        """
        if self.floor is None:
            self.floor = await self.open(self.ask)
            self.aside += (self.id, self.id, "post", self.repeat) in self.roles.cast.log.done
            if self.floor is None:
                return "the opening post was not written"
            self._rounds = self.scheduler(self.floor)
        stop = ""
        while self.round < round and not stop:
            stop = await self._next(self.floor)
        if stop and self.logged:
            raise self._fickle(f"has turns that were not asked for again, such as {min(self.logged)}")
        return stop

    def _fickle(self, found: str) -> BadInput:
        return BadInput(
            f"the log of thread {self.id} {found}; a scheduler has to give the same slots when a run goes on: "
            "take chance from floor.random alone"
        )

    async def _next(self, floor: Floor) -> str:
        posted = self._merge(floor) if self.round >= 0 else floor.thread.messages
        if self.round >= 0 and not posted and floor.mode != "replay" and all(slot.made for slot in self.slots):
            return "silence: nobody said anything in a round"
        floor.posted = posted
        limit = self.limits.reached(self.taken, self.round + 1, len(floor.thread.messages))
        if limit:
            return limit
        slots = await anext(self._rounds, None)
        if not slots:
            return floor.stop or "the scheduler has no further slot"
        free = self.limits.turns - self.taken if self.limits.turns else len(slots)
        self.slots = tuple(self._numbered(slot, n) for n, slot in enumerate(slots[:free], self.taken + 1))
        self.logged.difference_update(slot.id for slot in self.slots)
        self._seen = self._views(floor)
        self.round, self.taken = self.round + 1, self.taken + len(self.slots)
        return ""

    def _numbered(self, slot: Slot, number: int) -> Slot:
        person = ""
        for change in self.changes:
            if isinstance(change, Swap) and change.at <= number and change.person == slot.author:
                person = change.by
        score = self.floor.usual_score if self.scores == "community" and self.floor else None
        return replace(slot, number=number, person=person, score=score)

    def _views(self, floor: Floor) -> tuple[Thread, ...]:
        """A round is spoken side by side, but an intervention in its middle reaches only the turns after it."""
        seen, views = floor.thread, []
        for slot in self.slots:
            seen = self._changed(seen, slot.number, slot)
            views.append(seen)
        return tuple(views)

    def _changed(self, thread: Thread, number: int, slot: Slot) -> Thread:
        for change in self.changes:
            if change.at == number and isinstance(change, Insert | Edit | Remove):
                thread = applied(thread, change, slot.time)
        return thread

    def _merge(self, floor: Floor) -> tuple[Message, ...]:
        """Takes what the round said, and what was changed in it, into the thread. Returns what is new there."""
        before = floor.thread
        posted = tuple(m for m in map(self._posted, self.slots) if m is not None)
        if floor.mode != "replay":
            floor.thread = floor.thread.plus(*posted)
        for slot in self.slots:
            self._missed += sum(c.at == slot.number and not met(floor.thread, c) for c in self.changes)
            floor.thread = self._changed(floor.thread, slot.number, slot)
        inserted = (m for m in floor.thread.messages if m.origin == "inserted") if self.changes else ()
        new = (*(posted if floor.mode != "replay" else ()), *inserted)
        return tuple(m for m in new if m.id in floor.thread.by_id and m.id not in before.by_id)

    def _posted(self, slot: Slot) -> Message | None:
        done = self.roles.cast.log.done
        turn = done.get((slot.thread, slot.id, "reply", self.repeat))
        if turn is None and any(ask.name == "reply" for ask in self.roles.cast.asks):
            raise self._fickle(f"has no turn {slot.number} by {slot.author}")
        assert self.floor is not None
        message = turn.message(self.floor.place) if turn else None
        predicted: str | float | None = slot.score
        impact = done.get((slot.thread, slot.id, "impact", self.repeat))
        if self.scores == "impact" and self.score and impact:
            predicted = self.score(impact)
        return replace(message, score=round(float(predicted))) if message and predicted is not None else message

    async def speak(self, n: int) -> list[Turn]:
        """The nth slot of this round."""
        slot, thread = self.slots[n], self._seen[n]
        assert self.floor is not None
        cast = self.roles.of(slot.author, slot.number, self.changes)
        if slot.parent not in thread.by_id:
            reason = "the message it answers was never written"
            return logged([unanswerable(slot, ask, cast, self.repeat, reason) for ask in cast.asks], cast)
        real = self.floor.real.by_id.get(slot.id) if self.floor.real else None
        true = real.words if real else None
        async with self.gate:
            return await take_turn(slot, thread, cast, true if self.floor.mode == "replay" else None, self.repeat, true)

    async def ask(self, slot: Slot, ask: Ask, prompt: str, readable: Readable) -> Turn:
        """A call that is no part of anybody's turn, for the scheduler."""
        self.aside += 1
        async with self.gate:
            return await ask_alone(slot, ask, prompt, readable, self.roles.cast, self.repeat)
