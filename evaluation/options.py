"""Options of tasks, as --probe and the tasks of a benchmark give them: "sentiment:positive=>=5", "impact:samples=5".

They decide what is asked and how an answer is read, so they stand in the manifest, in its asks.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from evaluation import bertscore, tasks, token_match
from evaluation.positive import Positive
from evaluation.tasks import Options
from memory.errors import BadInput, UnknownName, clip
from simulator.records import Ask

WARM = 0.7  # temperature of several answers: at 0 they would be one


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
    if "samples" in options:
        ask = replace(ask, samples=int(options["samples"]), temperature=WARM)
    if options.get("by") == "expected":
        ask = replace(ask, numbers=True)
    ends = "interval" in options
    if ends:
        said = f" Then, as (1 to 9), the range that it will be in with {options['interval']} % probability."
        ask = replace(ask, question=ask.question + said, max_tokens=24)
    if "schema" in options:
        ask = replace(ask, schema=schema(ends), max_tokens=60 if ends else 30)
    return replace(ask, options=tuple(sorted(options.items()))) if options else ask


def schema(ends: bool) -> str:
    """Of an answer with a score, and with `ends` those of its interval."""
    names = ["score", *(["low", "high"] if ends else [])]
    fields = {name: {"type": "integer"} for name in names}
    return json.dumps({"type": "object", "properties": fields, "required": names, "additionalProperties": False})


def _number(name: str, low: int, high: int) -> Callable[[str], int]:
    def check(value: str) -> int:
        if not value.isdecimal() or not low <= int(value) <= high:
            raise BadInput(f"{name} is a whole number from {low} to {high}; found {clip(value)!r}")
        return int(value)

    return check


def _one_of(name: str, *known: str) -> Callable[[str], str]:
    def check(value: str) -> str:
        if value not in known:
            raise BadInput(f"{name} is one of {', '.join(known)}; found {clip(value)!r}")
        return value

    return check


def of_asks(asks: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
    """Ask -> its options, from the asks of a manifest; older ones know none."""
    return {name: dict(ask.get("options") or ()) for name, ask in asks.items()}


OPTIONS: dict[str, dict[str, Callable[[str], Any]]] = {
    "generation": {
        bertscore.BERTSCORE: bertscore.checked,
        token_match.TOKEN_MATCH: _one_of("token_match", "minilm"),
    },
    "sentiment": {"positive": Positive.of},
    "impact": {
        "samples": _number("samples", 2, 50),
        "by": _one_of("by", "median", "mean", "expected"),
        "schema": _one_of("schema", "yes"),
        "interval": _number("interval", 50, 99),
    },
}
