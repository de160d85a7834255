"""The threads of a run, real ones and those that the run opened itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from memory.message import Thread
from simulator.records import Turn

if TYPE_CHECKING:
    from memory.store import MemoryStore


def played(turns: Iterable[Turn], store: MemoryStore) -> dict[str, Thread]:
    """By id: the real thread, or the opening post (of the first repeat) of one that the run opened.

    Raises: UnknownName for a thread that the corpus does not have.
    """
    found: dict[str, Thread] = {}
    for turn in sorted(turns, key=lambda turn: (turn.ask != "post", turn.repeat)):
        id = turn.slot.thread
        if id not in found:
            post = turn.message() if turn.ask == "post" else None
            found[id] = store.corpus.thread(id) if turn.ask != "post" else Thread(id, (post,) if post else ())
    return found
