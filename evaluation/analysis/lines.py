"""What analyses have in common: rows of a run, its replies, a person's past, groups of turns since the real thread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Sheet
from memory.errors import UnknownName
from memory.message import Message

if TYPE_CHECKING:
    from memory.store import MemoryStore

GROUPS = ((1, 1), (2, 2), (3, 4), (5, 8), (9, 16), (17, 10**9))  # of distances, both ends included
LATEST = 50  # of a person's earlier messages that are looked at

COUNTS = (
    Column("asked", "Asked", "answers asked for, failed ones among them", 0),
    Column("failed", "Failed", "of these, without a readable answer", 0),
    Column("people", "People", "whose turns these are", 0),
)
SINCE = (
    Column("since", "Turns since", "simulated messages on the path since the last real one, plus one: at least", 0),
    Column("until", "to", "at most", 0),
)


def runs(scored: Iterable[Scored]) -> dict[tuple[str, str], list[Scored]]:
    """The rows of each (run, mode), in the order of their keys."""
    found: dict[tuple[str, str], list[Scored]] = {}
    for row in sorted(scored, key=lambda r: r.key):
        found.setdefault((row.run, row.mode), []).append(row)
    return found


def replies(rows: Iterable[Scored]) -> list[Scored]:
    """The model's replies by thread and repeat, then in the order of time; failed ones, whose value is None, too."""
    found = [r for r in rows if r.system == MODEL and r.kind == "text"]
    return sorted(found, key=lambda r: (r.run, r.thread, r.repeat, r.time, r.slot))


def threads(lines: Iterable[Scored]) -> dict[tuple[str, str, int], list[Scored]]:
    """Replies by run, thread and repeat, in the order of time."""
    found: dict[tuple[str, str, int], list[Scored]] = {}
    for row in replies(lines):
        found.setdefault((row.run, row.thread, row.repeat), []).append(row)
    return found


def said(row: Scored) -> str:
    """What the model says in a reply; "" where it failed."""
    return "" if row.value is None else str(row.value)


def true(row: Scored) -> str:
    """What the person really wrote there; "" where nobody did."""
    return "" if row.truth is None else str(row.truth)


def by_distance(rows: Sequence[Scored]) -> Iterator[tuple[tuple[int, int], list[Scored]]]:
    """The rows of each of GROUPS that is not empty; the last group ends at its largest distance."""
    for low, high in GROUPS:
        inside = [r for r in rows if low <= r.distance <= high]
        if inside:
            yield (low, min(high, max(r.distance for r in inside)) if high == GROUPS[-1][1] else high), inside


def where(rows: Sequence[Scored], **more: str) -> Mapping[str, str]:
    """How the rows of a line are found again: their run and mode, and what else they share."""
    return {"run": rows[0].run, "mode": rows[0].mode, **more}


def latest(store: MemoryStore, user: str, before: int, outside: str = "") -> list[Message]:
    """The latest LATEST messages that `user` wrote before a moment in other threads, without what they quote; [] for
    somebody whom the corpus does not know."""
    try:
        history = store.history(user, before=before)
    except UnknownName:
        return []
    own = history.messages[max(0, len(history) - 2 * LATEST) :]
    return [bare for m in own if m.thread != outside and (bare := m.bare).words.strip()][-LATEST:]


def past(store: MemoryStore, user: str, before: int, outside: str) -> list[str]:
    """The words of the latest()."""
    return [m.words for m in latest(store, user, before, outside)]


def counts(rows: Sequence[Scored]) -> tuple[int, int, int]:
    """Asked, failed, people: see COUNTS."""
    return len(rows), sum(r.failure is not None for r in rows), len({r.user for r in rows})


def span(low: int, high: int) -> str:
    """A group of distances as `where` names it."""
    return str(low) if low == high else f"{low}-{high}"


def silent(name: str, title: str, why: str) -> Sheet:
    """A sheet without rows that says why there are none."""
    return Sheet(name, title, why, (), ())
