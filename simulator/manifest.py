"""What a run was asked for (RunSpec), and the manifest that names all that decides its answers.

A run goes on only under the same manifest; settings that decide speed alone may change.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from os.path import relpath
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from memory.asking import prompts
from memory.errors import BadInput, clip
from memory.store import MemoryStore
from memory.templates import Wording
from simulator import runlog
from simulator.handmade import Card
from simulator.interventions import Intervention
from simulator.opening import Opening
from simulator.persona import ENOUGH
from simulator.records import Ask, Base, Mode
from simulator.shard import Shard
from simulator.unrecorded import common
from simulator.wording import wording

VERSIONS = ("personaconv", "langgraph", "langchain-core", "openai", "chromadb", "tiktoken", "xllamacpp", "numpy")
Models = tuple[str, dict[str, str]]  # the run's own by its name, the others by what the spec calls them
LONG, BEFORE = 80, 24  # characters of a setting that are shown; of them before the place where two differ
NAMED = ("prompt_templates", "parent")  # settings that are folders: the manifest has what they hold
SPEED_ONLY = ("concurrency", "timeout", "attempts", "shard")


class RunSpec(BaseModel):
    """What a person asks for. Unknown fields and values out of range are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = "rollout"
    model: str = "embedded"
    base_url: str | None = None
    retriever: str = "dense"
    card: bool = True
    profile: bool = False  # the model describes each person first
    enough: int = Field(default=ENOUGH, ge=ENOUGH)  # own earlier messages below which a card is of the community
    personas: dict[str, Card] = {}  # person -> a card written by hand
    threads: int | tuple[str, ...] = 3
    scheduler: str = ""  # "": skeleton, in mode free hazard
    cut: int | str = 1  # see opening.kept
    openings: tuple[Opening, ...] = ()  # of mode free, one thread each
    people: int | tuple[str, ...] = 8  # who takes part, where the scheduler decides who speaks
    interventions: tuple[Intervention, ...] = ()
    models: dict[str, str] = {}  # person -> the model that speaks for them; everybody else's is `model`
    parent: str = ""  # the run folder that a branch comes from
    scores: Literal["none", "community", "impact"] = "none"  # predicted for simulated messages, shown to later turns
    max_turns: int = Field(default=0, ge=0)
    max_rounds: int = Field(default=0, ge=0)
    max_size: int = Field(default=0, ge=0)
    repeats: int = Field(default=1, ge=1)
    seed: int = 0
    thread_tokens: int = Field(default=700, ge=50)
    memory_tokens: int = Field(default=500, ge=0)
    message_tokens: int = Field(default=200, ge=20)
    keep_prompts: bool = False
    prompt_templates: str | None = None
    concurrency: int = Field(default=1, ge=1)
    timeout: float = Field(default=120.0, gt=0)
    attempts: int = Field(default=4, ge=1)
    shard: str = "1/1"

    @field_validator("shard")
    @classmethod
    def _share(cls, shard: str) -> str:
        try:
            Shard.of(shard)
        except BadInput as error:
            raise ValueError(str(error)) from None
        return shard

    @property
    def base(self) -> Base:
        """How threads open and what turns see; a branch does as its parent did."""
        return ("free" if self.openings else "rollout") if self.mode == "branch" else self.mode

    @field_validator("cut")
    @classmethod
    def _short(cls, cut: int | str) -> int | str:
        number = int(cut) if str(cut).isdecimal() and len(str(cut)) <= 4 else None
        if number == 0 or (isinstance(cut, int) and cut < 0):
            raise ValueError("the opening post always stays real; cut after 1 message or more")
        return cut if number is None else number

    @model_validator(mode="before")
    @classmethod
    def _usual(cls, given: Any) -> Any:
        usual = "hazard" if given.get("mode") == "free" else "skeleton"
        return {**given, "scheduler": given.get("scheduler") or usual}

    @model_validator(mode="after")
    def _fits(self) -> RunSpec:
        if self.mode == "replay" and self.scheduler.partition(":")[0] != "skeleton":
            raise ValueError("a replay follows the real thread: its scheduler is skeleton")
        if (self.mode == "free") != bool(self.openings) and self.mode != "branch":
            raise ValueError("mode free, and no other, needs openings: how each new thread begins")
        if (self.mode == "branch") != bool(self.parent):
            raise ValueError("mode branch, and no other, needs the run that it comes from")
        if (self.personas or self.profile) and not self.card:
            raise ValueError("profiles and cards written by hand are not shown where cards are left out; choose one")
        return self

    @field_validator("threads")
    @classmethod
    def _some(cls, threads: int | tuple[str, ...]) -> int | tuple[str, ...]:
        if threads == () or (isinstance(threads, int) and threads < 1):
            raise ValueError("ask for 1 thread or more")
        return threads

    def wording(self) -> Wording:
        """Raises what simulator.wording.wording raises."""
        return wording(self.templates)

    @property
    def templates(self) -> Path | None:
        """The folder of templates of one's own."""
        return Path(self.prompt_templates) if self.prompt_templates else None

    @staticmethod
    def of(fields: Mapping[str, Any]) -> RunSpec:
        """A checked spec. Raises BadInput that names each wrong field, what was found and what is meant."""
        try:
            return RunSpec(**fields)
        except ValidationError as error:
            wrong = [
                f"{'.'.join(map(str, e['loc'][:1]))} = {e['input']!r}: {_said(e)}" if e["loc"] else _said(e)
                for e in error.errors()
            ]
            raise BadInput("; ".join(dict.fromkeys(wrong))) from None


def manifest(
    spec: RunSpec, asks: Sequence[Ask], store: MemoryStore, threads: Sequence[str], models: Models, folder: Path
) -> dict[str, Any]:
    """All that decides the answers, the versions that made them, and where corpus and parent lie from `folder`."""
    words = spec.wording()
    apart = (*SPEED_ONLY, *NAMED)
    decides = {
        "spec": {k: v for k, v in spec.model_dump(mode="json").items() if k not in apart} | {"threads": list(threads)},
        "model": models[0],
        "models": models[1],
        "parent": runlog.manifest(Path(spec.parent))["run"] if spec.parent else None,
        "asks": {ask.name: asdict(ask) for ask in asks},
        "prompt_version": words.version,
        "prompt_templates": words.hash,  # what they say, wherever they lie
        "memory_templates": prompts(spec.templates).stamp,
        "data_hash": store.corpus.data_hash,
        "embedder": store.embedder,
    }
    decides = runlog.plain(decides)
    name = sha256(runlog.canonical(decides)).hexdigest()[:12]
    return {
        "format": 1,
        "run": name,
        "decides": decides,
        "speed": {key: getattr(spec, key) for key in SPEED_ONLY},
        "corpus": relpath(store.corpus.path, folder),
        "parent": relpath(spec.parent, folder) if spec.parent else None,
        "versions": {name: _version(name) for name in VERSIONS} | {"python": platform.python_version()},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def agree(folder: Path, wanted: dict[str, Any], place: Path) -> None:
    """Writes the manifest of a new run, by way of `place`, which this process holds.

    Raises:
        BadInput: an older one decides otherwise; lists the differences.
    """
    if not (folder / runlog.MANIFEST).exists():
        runlog.write_manifest(folder, wanted, place)
    found = runlog.manifest(folder)
    changed = _differences(found.get("decides", {}), wanted["decides"])
    if changed:
        raise BadInput(
            f"{folder} holds a run made otherwise: {'; '.join(changed)}; use the same settings or another folder"
        )


def _said(error: Any) -> str:
    return str(error["msg"]).removeprefix("Value error, ")


def _differences(found: Any, wanted: Any, name: str = "") -> list[str]:
    if isinstance(found, dict) and isinstance(wanted, dict):
        keys = sorted({*found, *wanted})
        parts = [_differences(found.get(k), wanted.get(k), f"{name}.{k}".lstrip(".")) for k in keys]
        return [line for part in parts for line in part]
    if found == wanted:
        return []
    old, new = repr(found), repr(wanted)
    if max(len(old), len(new)) > LONG:  # cut from the left, so that what differs is seen
        at = max(0, common(old, new) - BEFORE)
        old, new = (f"{'...' if at else ''}{text[at:]}" for text in (old, new))
    return [f"{name.removeprefix('spec.')} was {clip(old, LONG)}, now {clip(new, LONG)}"]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
