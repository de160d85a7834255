"""Settings of the corrected protocol as one grid: whose memory, and how much of the conversation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from memory.errors import UnknownName
from memory.message import Thread
from simulator.records import Slot

Memory = Literal["none", "own", "other"]
Conversation = Literal["none", "parent", "trajectory", "tree"]


@dataclass(frozen=True, slots=True)
class Cell:
    """`memory`: none, the person's own, or a matched other person's in its place. `conversation`: none of it, the
    message answered alone, the path from the post to it, or all that had been said in the thread."""

    memory: Memory
    conversation: Conversation

    @property
    def name(self) -> str:
        return f"{self.memory}/{self.conversation}"


CELLS = {cell.name: cell for m in get_args(Memory) for c in get_args(Conversation) for cell in [Cell(m, c)]}
PAPER = {  # what the paper calls its settings
    "p-conv": CELLS["own/tree"],
    "p-nonconv": CELLS["own/none"],
    "np-conv": CELLS["other/tree"],
}


def cells(names: Iterable[str]) -> tuple[Cell, ...]:
    """Cells by "memory/conversation" or the paper's names, each once. Raises UnknownName."""
    known = CELLS | PAPER
    found: list[Cell] = []
    for name in names:
        if name not in known:
            raise UnknownName("setting", name, known)
        found.append(known[name])
    return tuple(dict.fromkeys(found))


def view(thread: Thread, slot: Slot, conversation: Conversation) -> Thread:
    """What of `thread` a cell shows: earlier than the slot's moment, scores hidden. Without conversation the message
    answered keeps its place and loses its words, so that the frame is the same and recall has nothing to go by."""
    cut = thread.before(slot.time, answering=slot.parent).masked()
    if conversation == "tree":
        return cut
    if conversation == "trajectory":
        return Thread(thread.id, cut.path(slot.parent))
    parent = cut[slot.parent]
    return Thread(thread.id, (parent if conversation == "parent" else replace(parent, text=None, title=""),))
