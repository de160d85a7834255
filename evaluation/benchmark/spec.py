"""BenchSpec: what a person asks of the benchmark, checked; its cells are the jobs that are run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from evaluation.benchmark.grid import CELLS, cells
from evaluation.benchmark.items import SETTINGS, TASKS, TaskName
from evaluation.benchmark.switches import Switches
from evaluation.options import split
from memory.errors import BadInput, UnknownName
from memory.yaml_file import fields
from simulator.prices import Prices
from simulator.shard import Shard

SPEED_ONLY = ("concurrency", "timeout", "attempts", "prices", "base_url", "shard")
TEN = 10  # answers that the reference takes to a generation item


@dataclass(frozen=True, slots=True)
class Job:
    """One cell: a setting with a policy, a model and a seed. `policy` is "" where no memory is asked."""

    setting: str
    policy: str
    model: str
    seed: int

    @property
    def name(self) -> str:
        return " ".join(part for part in (self.setting, self.policy, self.model, f"seed {self.seed}") if part)

    @property
    def folder(self) -> str:
        """A file name for it: readable, and different for different cells."""
        return "_".join(re.sub(r"[^a-z0-9.=]+", "-", str(p).lower()) or "-" for p in self.name.split())


class BenchSpec(BaseModel):
    """Tasks x settings x policies x models x seeds over the same items. Unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    protocol: Literal["reference", "corrected"] = "corrected"
    data: str = ""
    """A corpus folder (corrected) or the benchmark's JSON file (reference)."""
    tasks: tuple[TaskName, ...] = TASKS
    settings: tuple[str, ...] = SETTINGS
    policies: tuple[str, ...] = ("dense",)
    models: tuple[str, ...] = ("embedded",)
    base_url: str | None = None
    seeds: tuple[int, ...] = (0,)
    items: int = Field(default=100, ge=0)
    """How many; 0: all. By the reference the first in its order, which has negatives and small scores first."""
    draw: int = 0
    """Seed of the draw of items, the same for all cells."""
    repeats: int = Field(default=0, ge=0)
    """Answers to a question; 0: one, but for generation by the reference ten."""
    earlier: int = Field(default=5, ge=1)
    """Earlier messages that a person of a corrected item has."""
    places: tuple[str, ...] = ()
    """Communities of corrected items; (): all."""
    options: dict[TaskName, dict[str, str]] = {}
    """Of the tasks: sentiment: {positive: ">median"}. A task may name its own, too. By the reference those of
    generation alone, which say how an answer is measured."""
    likelihood: bool = False
    """Also ask how likely the true text is as the reply: bits per byte."""
    switches: Switches = Switches()
    shuffle: int | None = None
    """Seed of NP-Conv's shuffles (reference); null: none."""
    embedder: str = "minilm"
    """Of the SBERT cosines of the reference protocol; a corpus has its own."""
    thread_tokens: int = Field(default=700, ge=50)
    memory_tokens: int = Field(default=500, ge=0)
    message_tokens: int = Field(default=200, ge=20)
    prompt_templates: str | None = None
    """A folder of prompt templates of one's own."""
    prices: dict[str, str] = Field(default_factory=dict)
    """Model -> prices per million tokens, like "input=0.15,output=0.6"."""
    concurrency: int = Field(default=1, ge=1)
    timeout: float = Field(default=120.0, gt=0)
    attempts: int = Field(default=4, ge=1)
    shard: str = "1/1"
    """This process's share of the items, like "2/4"."""

    @field_validator("tasks", "settings", "policies", "models", "seeds")
    @classmethod
    def _some(cls, given: tuple[Any, ...]) -> tuple[Any, ...]:
        if not given:
            raise ValueError("name at least one")
        return tuple(dict.fromkeys(given))

    @model_validator(mode="before")
    @classmethod
    def _apart(cls, given: Any) -> Any:
        """ "impact:samples=5" among the tasks is the task and an option of it."""
        tasks = given.get("tasks") if isinstance(given, dict) else None
        if not isinstance(tasks, list | tuple) or not any(":" in str(task) for task in tasks):
            return given
        try:
            named = dict(split(str(task)) for task in tasks)
        except (BadInput, UnknownName) as error:
            raise ValueError(str(error)) from None
        options = {**given.get("options", {}), **{name: own for name, own in named.items() if own}}
        return {**given, "tasks": tuple(named), "options": options}

    @field_validator("options")
    @classmethod
    def _known(cls, options: dict[TaskName, dict[str, str]]) -> dict[TaskName, dict[str, str]]:
        try:
            for task, own in options.items():
                split(f"{task}:" + ",".join(f"{name}={value}" for name, value in own.items()))
        except (BadInput, UnknownName) as error:
            raise ValueError(str(error)) from None
        return options

    @model_validator(mode="after")
    def _fits(self) -> BenchSpec:
        try:
            for text in self.prices.values():
                Prices.of(text)
            Shard.of(self.shard)
            if self.protocol == "corrected":
                cells(self.settings)
            elif set(self.options) - {"generation"}:
                raise BadInput(
                    "the reference protocol says itself what is positive (a score above 0) and how a score is asked; "
                    "options of sentiment and impact go with the corrected protocol"
                )
            if self.likelihood and "generation" not in self.tasks:
                raise BadInput("likelihood goes with the task generation; name it too")
            for name in self.settings if self.protocol == "reference" else ():
                if name not in SETTINGS:
                    raise UnknownName("setting of the reference protocol", name, SETTINGS)
        except (BadInput, UnknownName) as error:
            raise ValueError(str(error)) from None
        return self

    @staticmethod
    def of(fields: Mapping[str, Any]) -> BenchSpec:
        """A checked spec. Raises BadInput that names each wrong field, what was found and what is meant."""
        try:
            return BenchSpec(**fields)
        except ValidationError as error:
            wrong = [
                f"{'.'.join(map(str, e['loc'][:2]))} = {e['input']!r}: ".removeprefix(" = ") * bool(e["loc"])
                + e["msg"].removeprefix("Value error, ")
                for e in error.errors()
            ]
            raise BadInput("; ".join(dict.fromkeys(wrong))) from None

    @staticmethod
    def read(path: Path | None, given: Mapping[str, Any]) -> BenchSpec:
        """The YAML file's fields, with those of `given` in their place.

        Raises: Missing where there is no file, BadInput where it is no YAML of fields.
        """
        return BenchSpec.of({**(fields(path) if path else {}), **given})

    @property
    def templates(self) -> Path | None:
        return Path(self.prompt_templates) if self.prompt_templates else None

    def jobs(self) -> Iterator[Job]:
        """Cell by cell; a setting without memory is run once, whatever the policies."""
        names = self.settings if self.protocol == "reference" else [cell.name for cell in cells(self.settings)]
        for model in self.models:
            for seed in self.seeds:
                for name in names:
                    bare = self.protocol == "reference" or CELLS[name].memory == "none"
                    for policy in ("",) if bare else self.policies:
                        yield Job(name, policy, model, seed)

    def answers(self, task: TaskName) -> int:
        """To one question of `task`."""
        return self.repeats or (TEN if (self.protocol, task) == ("reference", "generation") else 1)

    def decides(self) -> dict[str, Any]:
        """The fields that decide answers, without those that say which cell."""
        cell = {"models", "seeds", "settings", "policies", "data", "prompt_templates"}
        return self.model_dump(mode="json", exclude={*SPEED_ONLY, *cell})
