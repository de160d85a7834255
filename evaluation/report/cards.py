"""The persona cards that turns were played with, made again from the corpus: the log has only their kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.message import Thread
from simulator.casting import Anybody
from simulator.handmade import Card
from simulator.persona import Cards, Opened
from simulator.records import Turn
from simulator.turn import elsewhere

if TYPE_CHECKING:
    from memory.store import MemoryStore

PROFILED = "(and a profile that the model wrote: its words are in the prompt)"


class Shelf:
    """Cards by turn. `spec`: the settings of the run, from its manifest."""

    def __init__(self, spec: dict[str, Any], store: MemoryStore) -> None:
        hand = {name: Card(**given).persona for name, given in (spec.get("personas") or {}).items()}
        self._cards = Cards(hand, store.corpus, spec.get("enough", 0), spec.get("seed", 0))
        self._past = Anybody(store)

    def of(self, turn: Turn, thread: Thread) -> str:
        """The card's words; "" where the turn had none. `thread`: as it really is."""
        if turn.persona in ("", "none"):
            return ""
        slot = turn.slot
        visible = thread.before(slot.time, answering=slot.parent)
        past = self._past.history(slot.person or slot.author, before=slot.time)
        history = elsewhere(past, visible) if turn.mode != "replay" and visible.messages else past
        first = visible.messages[0] if visible.messages else None
        opened = Opened(slot.thread, first.place if first else "", first.time if first else slot.time)
        persona = self._cards.of(history, "" if history is past else slot.thread, opened)
        parts = [persona.habits, persona.about, PROFILED if turn.persona == "profile" else ""]
        return "\n".join(part for part in parts if part)
