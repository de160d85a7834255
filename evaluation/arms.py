"""The two arms of a branch side by side: from the change on, what its parent said at each turn, and what it said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory.errors import PersonaconvError, clip
from simulator import runlog
from simulator.records import Key, Turn


@dataclass(frozen=True)
class Pair:
    """One slot. None where an arm has no such turn, or it failed."""

    turn: Turn
    parent: str | None
    branch: str | None


@dataclass(frozen=True)
class Arms:
    """`shared`: replies of the branch that are its parent's. `pairs`: all others, of both runs, in order. `missing`:
    why the parent cannot be shown, "" where it is; then the pairs have one arm."""

    shared: int
    pairs: list[Pair]
    missing: str = ""


def arms(run: Path, manifest: dict[str, Any], turns: Sequence[Turn]) -> Arms | None:
    """None for a run that is no branch."""
    if not manifest.get("parent"):
        return None
    place, missing = run / manifest["parent"], ""
    try:
        if (found := runlog.manifest(place)["run"]) != manifest["decides"]["parent"]:
            missing = f"{manifest['parent']} holds another run now, {clip(str(found))}"
    except (PersonaconvError, KeyError):
        missing = f"no run in {manifest['parent']}, where the branched one was"
    own, theirs = _replies(turns), _replies([] if missing else runlog.turns(place))
    both = {key: own.get(key) or theirs[key] for key in {**own, **theirs}}
    changed = [key for key in both if key not in own or not own[key].copied]
    changed.sort(key=lambda key: (key[0], key[3], both[key].slot.number, both[key].slot.id))
    words = [Pair(both[k], *(arm[k].words if k in arm else None for arm in (theirs, own))) for k in changed]
    return Arms(sum(bool(turn.copied) for turn in own.values()), words, missing)


def _replies(turns: Sequence[Turn]) -> dict[Key, Turn]:
    return {turn.key: turn for turn in turns if turn.ask == "reply"}
