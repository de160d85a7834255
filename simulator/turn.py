"""take_turn: the one place where memory and model meet. Reply and probes differ in the last question only."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from memory.doors import CorpusDoors, Doors
from memory.errors import BadInput, clip
from memory.gathered import part
from memory.message import Thread
from memory.recall import History, Recalled, Retriever
from memory.templates import Wording
from simulator.answering import answer, turn_seed
from simulator.events import Emit, ignore, started
from simulator.llm import LLM, Completion, ModelError
from simulator.persona import Cards, Opened, Persona
from simulator.prices import Prices
from simulator.profile import Profiles
from simulator.prompt import Budget, Scene, scene
from simulator.records import Ask, Key, Mode, Rejected, Remembered, Slot, Turn
from simulator.wording import wording


class Past(Protocol):
    """The door to what people wrote: memory.store.MemoryStore, or a fake."""

    def history(self, user: str, *, before: int) -> History: ...


class Log(Protocol):
    """Where finished turns go: simulator.runlog.RunLog, or a fake."""

    @property
    def done(self) -> Mapping[Key, Turn]: ...
    def append(self, turn: Turn) -> None: ...


@dataclass(frozen=True)
class Cast:
    """All that a turn needs besides its thread. Retriever "none" without a card is the no-memory control."""

    run: str
    mode: Mode
    past: Past
    retriever: Retriever
    retriever_name: str
    llm: LLM
    log: Log
    asks: tuple[Ask, ...]
    seed: int = 0
    budget: Budget = field(default_factory=Budget)
    show_card: bool = True
    keep_prompts: bool = False
    emit: Emit = ignore
    doors: Doors = field(default_factory=CorpusDoors)  # closed: for retrievers that need a History alone
    cards: Cards = field(default_factory=Cards)
    profiles: Profiles | None = None  # None: none are written
    place: str = ""  # the community, where a thread has no message yet
    prices: Prices | None = None
    wording: Wording | None = None  # None: the packaged one

    def persona(self, history: History, without: str = "", opened: Opened | None = None) -> Persona:
        """Who speaks; the empty Persona where cards are not shown."""
        return self.cards.of(history, without, opened) if self.show_card else Persona()


async def take_turn(
    slot: Slot, thread: Thread, cast: Cast, judged: str | None = None, repeat: int = 0, true: str | None = None
) -> list[Turn]:
    """One person's turn: all asks of the cast in order, each logged when answered; what is logged is not asked again.

    `thread` may hold anything; only what is before the slot's moment is looked at. `judged`: the true words, for
    judging asks in replay; without it they judge the reply of this same turn. `true`: the true words, `judged` or not,
    whose likelihood is asked; no prompt has them. A failed answer is a Turn with `failure`.

    Raises:
        ModelError: a fatal one, which every further call would meet too; nothing is logged for it.
    """
    keys = [(slot.thread, slot.id, ask.name, repeat) for ask in cast.asks]
    if all(key in cast.log.done for key in keys):
        return [cast.log.done[key] for key in keys]
    visible = thread.before(slot.time, answering=slot.parent)
    past = cast.past.history(slot.person or slot.author, before=slot.time)
    history = elsewhere(past, visible) if cast.mode != "replay" and visible.messages else past
    parent = visible[slot.parent] if slot.parent else None  # an opening post answers nobody
    query = parent.words if parent else cast.asks[0].question
    cast.emit(started(cast.run, slot, repeat, parent.author if parent else None))
    try:
        recalled = await cast.doors.recall(cast.retriever, history, query, outside=slot.thread)
    except ModelError as error:
        if error.fatal:
            raise
        return logged([_unremembered(slot, ask, cast, repeat, error) for ask in cast.asks], cast)
    _guard(recalled, slot)
    persona = cast.persona(history, "" if history is past else slot.thread, _opened(slot, visible, cast))
    if cast.profiles:
        persona = await cast.profiles.added(persona, history)
    shared = scene(slot, visible, recalled, persona, cast.budget, cast.wording)
    distance = 1 + sum(m.origin == "simulated" for m in visible.path(slot.parent))
    template = replace(_blank(slot, cast, repeat, shared, len(history), distance), persona=persona.source)
    turns: list[Turn] = []
    for ask, key in zip(cast.asks, keys, strict=True):
        turn = cast.log.done.get(key)
        if turn is None:
            words = judged if judged is not None else true if ask.weighs else _own_words(turns)
            turn = await answer(_asked(template, ask, cast), ask, shared, cast, words)
            cast.log.append(turn)
        turns.append(turn)
    return turns


def _opened(slot: Slot, thread: Thread, cast: Cast) -> Opened:
    first = thread.messages[0] if thread.messages else None
    return Opened(slot.thread, first.place if first else cast.place, first.time if first else slot.time)


def elsewhere(history: History, thread: Thread) -> History:
    """`history` without what the person really wrote in `thread`: in a rollout it was never said."""
    since = bisect_left(history.messages, thread.messages[0].time, key=lambda m: m.time)
    late = history.messages[since:]
    if all(m.thread != thread.id for m in late):
        return history
    return part(history, [*range(since), *(since + i for i, m in enumerate(late) if m.thread != thread.id)])


def unanswerable(slot: Slot, ask: Ask, cast: Cast, repeat: int, reason: str) -> Turn:
    """The counted row of a turn that cannot be taken, because what it answers was never said."""
    return replace(_asked(_blank(slot, cast, repeat), ask, cast), failure="no_reply", reason=reason)


def _unremembered(slot: Slot, ask: Ask, cast: Cast, repeat: int, error: ModelError) -> Turn:
    reason = f"while recalling: {error}"[:300]
    blank = _asked(_blank(slot, cast, repeat), ask, cast)
    return replace(blank, failure=error.kind, reason=reason, attempts=error.attempts)


def logged(turns: list[Turn], cast: Cast) -> list[Turn]:
    """What the log has under the keys of `turns`, which are appended where it has nothing."""
    for turn in turns:
        if turn.key not in cast.log.done:
            cast.log.append(turn)
    return [cast.log.done[turn.key] for turn in turns]


def given(slot: Slot, ask: Ask, words: Completion, cast: Cast, repeat: int) -> Turn:
    """The logged row of words that somebody handed in: no model said them."""
    blank = replace(_asked(_blank(slot, cast, repeat), ask, cast), model="", retriever="")
    return logged([replace(blank, origin="inserted", completion=words)], cast)[0]


async def ask_alone(
    slot: Slot, ask: Ask, prompt: str, readable: Callable[[str], bool], cast: Cast, repeat: int
) -> Turn:
    """A logged call that is no part of anybody's turn, such as who speaks next; what is logged is not asked again."""
    blank = _asked(_blank(slot, cast, repeat), ask, cast)
    if blank.key not in cast.log.done:
        words = cast.wording or wording()
        shared = Scene(slot, words.put("system"), prompt, (), {}, (), words)
        turn = await answer(blank, ask, shared, cast, None)
        if turn.completion is not None and not readable(turn.words or ""):
            reason = f"no choice from the list: {clip(turn.words or '')!r}"
            wrong = Rejected("unparseable", reason, turn.seed, turn.completion)
            turn = replace(turn, completion=None, failure=wrong.failure, reason=reason, rejected=(wrong,))
        cast.log.append(turn)
    return cast.log.done[blank.key]


def _own_words(turns: list[Turn]) -> str | None:
    return next((turn.words for turn in turns if turn.ask == "reply"), None)


def _guard(recalled: Sequence[Recalled], slot: Slot) -> None:
    """A strategy sees the past only; this holds even a foreign one to it."""
    for item in recalled:
        if item.message.time >= slot.time:
            raise BadInput(
                f"the retriever returned {item.message.id} of time {item.message.time}, which is not before "
                f"{slot.time}; a strategy may only return messages of the History it was given"
            )


def _blank(
    slot: Slot, cast: Cast, repeat: int, shared: Scene | None = None, history: int = 0, distance: int = 1
) -> Turn:
    """A turn before anything is asked."""
    return Turn(
        run=cast.run,
        mode=cast.mode,
        slot=slot,
        ask="",
        repeat=repeat,
        model=cast.llm.name,
        retriever=cast.retriever_name,
        seed=0,
        prompt_hash="",
        recalled=tuple(_remembered(item) for item in shared.remembered) if shared else (),
        history=history,
        distance=distance,
    )


def _asked(blank: Turn, ask: Ask, cast: Cast) -> Turn:
    return replace(blank, ask=ask.name, seed=turn_seed(cast.seed, blank.slot, ask.name, blank.repeat))


def _remembered(item: Recalled) -> Remembered:
    message = item.message
    return Remembered(message.id, message.thread, message.time, item.score, item.terms)
