"""What the options of personaconv simulate say about how threads open, who plays, and what is changed at a turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory.errors import BadInput, clip
from simulator.interventions import read_interventions, read_records


def opened(mode: str, place: str, post: str, author: str, file: str) -> dict[str, Any]:
    """Fields of a RunSpec: the openings of mode free. Raises BadInput."""
    if mode in ("replay", "rollout") and (place or post or author or file):
        raise BadInput(f"--place, --post, --author and --openings say how threads of --mode free begin, not of {mode}")
    if file:
        found = read_records(file)
        return {"openings": tuple(found if isinstance(found, list) else [found])}
    if not place:
        if mode == "free":
            raise BadInput("a new thread needs its community: name one with --place, or several threads by --openings")
        return {}
    return {"openings": ({"place": place, "author": author, "text": post},)}


def staged(people: str, branch: str, intervene: Sequence[str], model_for: Sequence[str]) -> dict[str, Any]:
    """Fields of a RunSpec: who takes part, whose run is branched, interventions, models of people. Raises BadInput."""
    names = tuple(name.strip() for name in people.split(",") if name.strip())
    fields: dict[str, Any] = {"people": int(people) if people.strip().isdecimal() else names}
    own = dict(given.partition("=")[::2] for given in model_for)
    if not all(own.values()):
        raise BadInput(f"--model-for is person=provider:model, found {clip(' '.join(model_for))!r}")
    if branch:
        fields |= {"mode": "branch", "parent": branch}
    return fields | {"interventions": read_interventions(intervene), "models": own}
