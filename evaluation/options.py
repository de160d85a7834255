"""Options of tasks, as --probe and the tasks of a benchmark give them: "sentiment:positive=>=5", "impact:samples=5".

They decide what is asked and how an answer is read, so they stand in the manifest, in its asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from evaluation import tasks
from evaluation.positive import Positive
from memory.errors import BadInput, UnknownName, clip
from simulator.records import Ask

Options = Mapping[str, str]


def split(text: str) -> tuple[str, dict[str, str]]:
    """ "impact:samples=5,by=mean" as a task and its options. Raises UnknownName, and BadInput for a wrong option."""
    name, _, given = text.partition(":")
    if name not in tasks.names():
        raise UnknownName("task", name, tasks.names())
    found: dict[str, str] = {}
    for part in filter(None, given.split(",")):
        option, sign, value = part.partition("=")
        known = OPTIONS.get(name, {})
        if option not in known:
            raise UnknownName(f"option of task {name}", option, known)
        if not sign or not value:
            raise BadInput(f"an option of a task is like samples=5; found {clip(part)!r} of {name}")
        known[option](value)
        found[option] = value
    return name, dict(sorted(found.items()))


def opted(ask: Ask, options: Options) -> Ask:
    """`ask` as its task's options want it; the same without any."""
    if "positive" in options:
        ask = Positive.of(options["positive"]).asked(ask)
    return replace(ask, options=tuple(sorted(options.items()))) if options else ask


def of_asks(asks: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Ask -> its options, from the asks of a manifest; older ones know none."""
    return {name: dict(ask.get("options") or ()) for name, ask in asks.items()}


OPTIONS: dict[str, dict[str, Callable[[str], Any]]] = {"sentiment": {"positive": Positive.of}}
