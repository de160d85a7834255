"""Why a recording does not have a call: the nearest call that it has, and the first thing in which that one differs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from memory.errors import clip
from simulator.identity import Identity
from simulator.llm import Request

SECTION = 60  # characters of a prompt's line that are shown, to tell where two begin to differ


def explain(file: str, identity: Identity, request: Request, recorded: Iterable[tuple[Identity, Request]]) -> str:
    """One sentence: which call is missing in `file`, and what differs most likely from what was recorded."""
    nearest: tuple[Identity, Request] | None = None
    count, best = 0, (-1, -1)
    for other in recorded:
        count += 1
        like = _likeness(request, other[1])
        if like > best:
            nearest, best = other, like
    missing = f"{file} has no answer to {_called(request)}"
    if nearest is None:
        return f"{missing}: it holds no calls; record a run into it first, with --record"
    if best[0] == 0:
        return (
            f"{missing}: none of its {count} calls is about that turn; it was recorded with other threads, cut, "
            "max_turns, probes or repeats, or stopped before; replay with the settings it was recorded with"
        )
    what = _difference((identity, request), nearest)
    return (
        f"{missing}: the nearest of its {count} calls differs in {what}; replay with the settings it was recorded with"
    )


def _called(request: Request) -> str:
    if request.about is None:
        return f"a call by a memory or a profile that begins {clip(request.messages[-1][1], SECTION)!r}"
    thread, slot, ask, repeat = request.about
    return f"the ask {ask!r} of turn {clip(slot)} in thread {clip(thread)}, repeat {repeat}"


def _likeness(wanted: Request, found: Request) -> tuple[int, int]:
    """About the same turn: ask and repeat count 3, slot 2; then how much of the prompt is the same from its start."""
    near = 0
    if wanted.about and found.about and wanted.about[:2] == found.about[:2]:
        near = 2 + (wanted.about[2:] == found.about[2:])
    elif wanted.about is None and found.about is None:
        near = 1
    return near, common(_flat(wanted), _flat(found)) if near else 0


def _flat(request: Request) -> str:
    return "\n".join(text for _, text in request.messages)


def common(one: str, other: str) -> int:
    """How many characters two texts share from their start."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def _difference(wanted: tuple[Identity, Request], found: tuple[Identity, Request]) -> str:
    """What differs, settings before words: changed settings change the words too."""
    changed = [
        f"{name} (recorded {clip(repr(old), SECTION)}, asked {clip(repr(new), SECTION)})"
        for part in (0, 1)
        for name, old, new in _fields(found[part], wanted[part])
        if old != new
    ]
    if wanted[1].messages != found[1].messages:
        changed.append(_words(wanted[1], found[1]))
    return " and ".join(changed) if changed else "nothing but how often it was asked"


def _fields(old: object, new: object) -> list[tuple[str, object, object]]:
    names = [f.name for f in fields(old) if f.compare and f.name != "messages"]  # type: ignore[arg-type]
    return [(name, getattr(old, name), getattr(new, name)) for name in names]


def _words(wanted: Request, found: Request) -> str:
    flat, other = _flat(wanted), _flat(found)
    at = common(flat, other)
    line = flat[flat.rfind("\n", 0, at) + 1 :].partition("\n")[0]
    return f"its prompt from character {at:,} on, in the line {clip(line, SECTION)!r}"
