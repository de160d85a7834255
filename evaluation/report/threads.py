"""The threads of one or more runs for the page: the real tree, and what each run said at each of its places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from evaluation.played import played
from evaluation.report.cards import Shelf
from evaluation.report.names import named
from evaluation.report.packed import Lines
from evaluation.rows import MODEL, Scored
from evaluation.transcript import plain
from memory.errors import UnknownName
from memory.message import Message, Thread
from simulator.interventions import changes
from simulator.records import ASIDE, Remembered, Turn

if TYPE_CHECKING:
    from memory.store import MemoryStore

GONE = "(no longer in the corpus)"
NOTE = "(a note the memory made: its words are in the prompt alone)"


@dataclass(frozen=True)
class Played:
    """One run with the settings of its manifest, in the corpus that it was made from."""

    turns: Sequence[Turn]
    spec: dict[str, Any]
    store: MemoryStore


def threads(
    runs: Sequence[Played], rows: Sequence[Scored], lines: Lines, called: Mapping[str, str] = MappingProxyType({})
) -> list[dict[str, Any]]:
    """For each thread its places in order of time: the real message, and the turns of each (run, mode, repeat).

    `rows`: as they are packed; a turn names its own by their numbers. `called`: what runs are called by.
    """
    own: dict[tuple[str, str, str, str, int], list[int]] = {}
    for n, row in enumerate(rows):
        if row.system == MODEL:
            own.setdefault((row.run, row.mode, row.thread, row.slot, row.repeat), []).append(n)
    found: dict[str, Thread] = {}
    turns: dict[str, dict[tuple[str, str, str, int], list[Turn]]] = {}
    shelves: dict[str, tuple[Shelf, MemoryStore]] = {}
    for run in runs:
        known = played(run.turns, run.store)
        shelf = Shelf(run.spec, run.store)
        for turn in run.turns:
            shelves[turn.run] = shelf, run.store
            found.setdefault(turn.slot.thread, known[turn.slot.thread])
            if turn.ask not in ASIDE:
                at = turn.run, turn.mode, turn.slot.id, turn.repeat
                turns.setdefault(turn.slot.thread, {}).setdefault(at, []).append(turn)
    shown = [_thread(found[id], turns[id], own, shelves, lines) for id in sorted(turns)]
    for id, thread in zip(sorted(turns), shown, strict=True):
        changed = dict.fromkeys(_shown(change) for run in runs for change in changes(run.spec, id))
        if changed:
            thread["changes"] = [*changed]
        thread["arms"] = [[named(called.get(run, run)), mode, repeat] for run, mode, repeat in thread["arms"]]
    return shown


def _thread(
    thread: Thread,
    turns: Mapping[tuple[str, str, str, int], list[Turn]],
    own: Mapping[Any, list[int]],
    shelves: Mapping[str, tuple[Shelf, MemoryStore]],
    lines: Lines,
) -> dict[str, Any]:
    places: dict[str, tuple[int, str | None, str]] = {m.id: (m.time, m.parent, m.author or "") for m in thread.messages}
    for group in turns.values():
        slot = group[0].slot
        places.setdefault(slot.id, (slot.time, slot.parent, slot.author))
    arms = sorted({(run, mode, repeat) for run, mode, _, repeat in turns})
    here: dict[str, list[dict[str, Any]]] = {}
    for (run, mode, id, repeat), group in sorted(turns.items()):
        shelf, store = shelves[run]
        entry = _turn(group, shelf.of(group[0], thread), store, lines)
        entry |= {"arm": arms.index((run, mode, repeat)), "rows": own.get((run, mode, thread.id, id, repeat), [])}
        here.setdefault(id, []).append(entry)
    nodes = []
    for id, depth in _walk(places):
        time, parent, author = places[id]
        node: dict[str, Any] = {"id": _shown(id), "depth": depth, "time": time, "author": _person(author)}
        if parent in places:
            node["answers"] = _person(places[str(parent)][2])
        if id in thread.by_id:
            node["real"] = _real(thread.by_id[id], lines)
        if id in here:
            node["turns"] = here[id]
        nodes.append(node)
    title = next((m.title for m in thread.messages if m.title), thread.id)
    return {
        "id": _shown(thread.id),
        "title": " ".join(_shown(title).split()),
        "place": named(next((m.place for m in thread.messages if m.place), "")),
        "arms": [[run, _shown(mode), repeat] for run, mode, repeat in arms],
        "nodes": nodes,
    }


def _walk(places: Mapping[str, tuple[int, str | None, str]]) -> list[tuple[str, int]]:
    """The tree depth first, siblings in order of time: (id, depth). Not by recursion: replies nest 3,000 deep."""
    children: dict[str | None, list[str]] = {}
    for id in sorted(places, key=lambda id: (places[id][0], id)):
        parent = places[id][1]
        children.setdefault(parent if parent in places and parent != id else None, []).append(id)
    order, waiting = [], [(id, 0) for id in reversed(children.pop(None, []))]
    while waiting:
        id, depth = waiting.pop()
        order.append((id, depth))
        waiting += [(child, depth + 1) for child in reversed(children.pop(id, []))]
    return order


def _real(message: Message, lines: Lines) -> dict[str, Any]:
    words = message.text if message.text and message.text.strip() else None
    found: dict[str, Any] = {"text": lines.text(words)}
    if message.score is not None:
        found["score"] = message.score
    return found if message.origin == "real" else found | {"origin": message.origin}


def _turn(turns: list[Turn], card: str, store: MemoryStore, lines: Lines) -> dict[str, Any]:
    first = turns[0]
    reply = next((t for t in turns if t.ask == "reply"), None)
    return {
        "said": lines.text(reply.words) if reply else None,
        "asked": reply is not None,
        "card": lines.text(card or None),
        "persona": first.persona,
        "person": _person(first.slot.person),
        "retriever": _shown(first.retriever),
        "history": first.history,
        "distance": first.distance,
        "copied": _shown(first.copied),
        "recalled": [_recalled(item, store, lines) for item in first.recalled],
        "calls": [_call(turn, lines) for turn in turns],
    }


def _call(turn: Turn, lines: Lines) -> dict[str, Any]:
    done = turn.completion
    call = {
        "ask": turn.ask,
        "model": _shown(turn.model),
        "seed": turn.seed,
        "hash": _shown(turn.prompt_hash),
        "prompt": lines.text(turn.prompt),
        "answer": lines.text(done.text) if done else None,
        "failure": turn.failure,
        "reason": lines.text(turn.reason or None),
        "attempts": turn.attempts,
        "usage": [done.tokens_in, done.tokens_out, done.cached, round(done.seconds, 3), done.finish] if done else None,
        "rejected": [[str(r.failure), lines.text(r.reason), lines.text(r.completion.text)] for r in turn.rejected],
    }
    return {name: value for name, value in call.items() if value not in (None, [], "")}


def _recalled(item: Remembered, store: MemoryStore, lines: Lines) -> list[Any]:
    try:
        words = store.corpus.message(item.id).words
    except UnknownName:
        words = NOTE if item.id.startswith("note_") else GONE
    terms = {_shown(name): round(value, 4) for name, value in item.terms.items()}
    return [round(item.score, 4), item.time, lines.text(words), terms]


def _person(name: str) -> str:
    return named(name) if name else ""


def _shown(text: str) -> str:
    return plain(text, show=True)
