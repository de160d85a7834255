"""A branch: a run that shares another one's turns up to its first intervention, and is its own from there on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from memory.errors import BadInput, clip
from simulator import runlog
from simulator.interventions import Intervention, of_thread
from simulator.manifest import SPEED_ONLY, RunSpec
from simulator.records import Turn

OWN = {"mode", "interventions", "parent", "prompt_templates", *SPEED_ONLY}  # what a branch decides itself


def settled(spec: RunSpec) -> RunSpec:
    """`spec` with all that a branch takes from its parent; as it is for the other modes.

    Raises:
        BadInput: a setting that differs from the parent's, nothing to change, or a parent that is a replay.
        Missing: there is no such run.
    """
    if spec.mode != "branch":
        return spec
    parent = origin(spec)
    usual = RunSpec().model_dump()
    asked = spec.model_dump()
    changed = [
        f"{name} was {clip(repr(asked_of))}, now {clip(repr(asked[name]))}"
        for name, asked_of in parent.model_dump().items()
        if name not in OWN and asked[name] not in (usual[name], asked_of)
    ]
    if changed:
        raise BadInput(f"a branch keeps the settings of {spec.parent}: {'; '.join(changed)}; change them at a turn")
    if parent.mode == "replay":
        raise BadInput(f"{spec.parent} is a replay, where no turn follows from another; branch a rollout or a free run")
    if not spec.interventions:
        raise BadInput(f"a branch of {spec.parent} needs an intervention: what is changed, and at which turn")
    own = {name: getattr(spec, name) for name in OWN}
    return parent.model_copy(update={**own, "interventions": (*parent.interventions, *spec.interventions)})


def origin(spec: RunSpec) -> RunSpec:
    """What the parent was asked for. Raises Missing, BadInput."""
    found: dict[str, Any] = runlog.manifest(Path(spec.parent))["decides"]
    parent = {"parent": "unknown"} if found["spec"]["mode"] == "branch" else {}
    return RunSpec.of({**found["spec"], **parent})


def agreeing(spec: RunSpec, wanted: dict[str, Any]) -> None:
    """Raises BadInput where a branch asks another model, other questions or another corpus than its parent."""
    if spec.mode != "branch":
        return
    parent = runlog.manifest(Path(spec.parent))["decides"]
    alike = ("model", "asks", "data_hash", "embedder", "prompt_templates", "memory_templates")
    odd = [name for name in alike if parent.get(name) != wanted[name]]
    if odd:
        raise BadInput(f"a branch of {spec.parent} needs its {', '.join(odd)}; change a model or a memory at a turn")


def shared(spec: RunSpec, run: str) -> list[Turn]:
    """The parent's turns before the first intervention of each thread, as turns of the branch called `run`."""
    if spec.mode != "branch":
        return []
    parent = Path(spec.parent)
    new = spec.interventions[len(origin(spec).interventions) :]
    name = runlog.manifest(parent)["run"]
    turns = runlog.turns(parent)
    first = _first(new, {turn.slot.thread for turn in turns})
    return [replace(turn, run=run, mode="branch", copied=name) for turn in turns if _before(turn, first)]


def _first(changes: tuple[Intervention, ...], threads: Iterable[str]) -> dict[str, int]:
    return {id: own[0].at for id in threads if (own := of_thread(changes, id))}


def _before(turn: Turn, first: dict[str, int]) -> bool:
    """Whether no intervention can have touched it. Who speaks at a turn is settled before what is changed at it."""
    at = first.get(turn.slot.thread)
    return at is None or turn.slot.number < at or (turn.ask == "next" and turn.slot.number == at)
