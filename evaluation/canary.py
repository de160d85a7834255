"""The canary: calls are taken once more with later messages planted that hold the answer, and nothing may be otherwise.

They are planted beside the corpus (memory/planted.py) for one call at a time, at its very second and later: by the
person and by somebody else, in the thread and in another. Their words begin with a mark that nobody ever wrote. A
recorder stands in the place of the model, for answers and for what a memory asks, so nothing is spent.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np

import memory.retrievers
from evaluation import tasks
from evaluation.gain import Arms
from evaluation.rows import Scored
from evaluation.sides import Side
from memory import policy
from memory.asking import Remembering
from memory.doors import CorpusDoors, needs
from memory.errors import Leak, UnknownName, clip
from memory.message import Message
from memory.others import CorpusOthers
from memory.planted import planted
from memory.store import MemoryStore
from simulator.llm import LLM, asking
from simulator.records import Key, Slot, Turn
from simulator.testing import Scripted
from simulator.turn import Cast, take_turn

CALLS = 12  # that are taken again, drawn; a memory that reads what is later mostly does so at every call
LATER = (60, 10 * 365 * 86_400)  # seconds: soon after, and after all that was ever said

Retake = Callable[[Side, Scored, MemoryStore, LLM], Awaitable[Sequence[Turn]]]


@dataclass
class Kept:
    """A log that is in no file."""

    done: dict[Key, Turn] = field(default_factory=dict)

    def append(self, turn: Turn) -> None:
        self.done[turn.key] = turn


async def again(side: Side, row: Scored, store: MemoryStore, llm: LLM) -> Sequence[Turn]:
    """The reply of a row in real context, as a run takes it: no card, the packaged words."""
    thread = store.corpus.thread(row.thread)
    message = thread[row.slot]
    cast = Cast(
        run="control",
        mode="replay",
        past=store,
        retriever=policy.load(memory.retrievers, row.retriever or "none"),
        retriever_name=row.retriever,
        llm=llm,
        log=Kept(),
        asks=(tasks.ask("generation"),),
        show_card=False,
        doors=CorpusDoors(store, Remembering(asking(llm))),
    )
    return await take_turn(Slot(row.thread, row.slot, row.user, message.parent or "", row.time), thread, cast)


async def planted_canaries(
    found: Sequence[Arms], drawn: Sequence[Scored], store: MemoryStore, retake: Retake = again
) -> int:
    """How many calls were taken again, each by all memories but those that are shown the answer.

    Raises: Leak, where a planted message is recalled, stands in a prompt, or changes one.
    """
    taken = 0
    for row in drawn[:CALLS]:
        messages = canaries(row, store)
        if not messages:
            continue
        taken += 1
        query = _parent(row, store)
        vectors = await store.embed([query] * len(messages)) if store.dim else np.empty((len(messages), 0), np.float32)
        with planted(store, messages, vectors) as future:
            for name, side in _asked(found).items():
                own = _own(side, row)
                if own is not None:
                    await _one(name, own, (messages, future, store), side, retake)
    return taken


async def _one(
    name: str,
    row: Scored,
    stores: tuple[Sequence[Message], MemoryStore, MemoryStore],
    side: Side,
    retake: Retake,
) -> None:
    messages, future, store = stores
    there, plain = Scripted("positive"), Scripted("positive")
    turns = await retake(side, row, future, there)
    ids, mark = {m.id for m in messages}, _mark(row)
    if any(item.id in ids for turn in turns for item in turn.recalled):
        raise Leak(f"canary: {clip(name)} recalled a message planted after its moment, for the answer {row.slot}{_NO}")
    if any(mark in text for request in there.requests for _, text in request.messages):
        raise Leak(
            f"canary: a message planted later stands in a prompt of {clip(name)}, for the answer {row.slot}{_NO}"
        )
    await retake(side, row, store, plain)
    if [r.messages for r in there.requests] != [r.messages for r in plain.requests]:
        raise Leak(
            f"canary: prompts of {clip(name)} for the answer {row.slot} change with what is planted after its "
            f"moment{_NO}"
        )


_NO = "; the results of this memory do not count"


def canaries(row: Scored, store: MemoryStore) -> list[Message]:
    """What is planted for a call; [] where its message is not in the corpus."""
    with suppress(UnknownName):
        true = store.corpus.message(row.slot)
        history = store.history(row.user, before=row.time, strangers=True)
        last = next((m for m in reversed(history.messages) if m.thread != row.thread), None)
        there, under = (last.thread, last.thread) if last else (row.thread, true.parent)
        near = CorpusOthers(store, history, row.thread).like(1)
        places = [(row.user, there, under, later) for later in (0, *LATER)]
        for other in near:
            places += [(other, there, under, 0), (other, row.thread, true.parent, 0)]
            places += [(other, row.thread, row.slot, LATER[0]), (other, there, under, LATER[1])]
        return [
            Message(
                f"t1_canary{n}",
                thread,
                parent,
                author,
                row.time + later,
                f"{_mark(row)} {n} {true.words}",
                99,
                true.place,
            )
            for n, (author, thread, parent, later) in enumerate(places)
            if store.corpus.code("authors", author) >= 0
        ]
    return []


def _asked(found: Sequence[Arms]) -> Mapping[str, Side]:
    """Sides by name, without those whose memory is shown the answer; one for each memory of a model."""
    return {
        f"{name} ({group.name})": side
        for group in found
        for name, side in group.sides.items()
        if side.rows and not _shown(next(iter(side.rows.values())))
    }


def _shown(row: Scored) -> bool:
    return "truth" in needs(policy.load(memory.retrievers, row.retriever or "none"))


def _own(side: Side, row: Scored) -> Scored | None:
    return next((r for r in side.rows.values() if (r.thread, r.slot) == (row.thread, row.slot)), None)


def _mark(row: Scored) -> str:
    return f"canary{sha256(row.slot.encode()).hexdigest()[:8]}"


def _parent(row: Scored, store: MemoryStore) -> str:
    parent = store.corpus.message(row.slot).parent
    return store.corpus.message(parent).words if parent else ""
