"""The probes, one a file: what is asked of a turn, how the answer is read, what the truth is.

A task is a module with the names of Task below: a new file in this folder is a new task, found by its file name.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol, cast

from evaluation.positive import Cut
from memory.errors import UnknownName
from memory.message import Message
from simulator.records import Ask, Turn

Kind = Literal["label", "number", "text"]
Value = str | float
Options = Mapping[str, str]  # of a task, by name: evaluation/options.py
NONE: Options = MappingProxyType({})


class Task(Protocol):
    """`KIND` decides which metrics and baselines apply; `QUESTION` is one line for the report."""

    @property
    def ASK(self) -> Ask: ...
    @property
    def KIND(self) -> Kind: ...
    @property
    def QUESTION(self) -> str: ...
    def read(self, turn: Turn, options: Options = ...) -> Value | None:
        """What was answered; None where the call failed or its answer cannot be read. `options`: of the task."""

    def truth(self, message: Message, cut: Cut = ...) -> Value | None:
        """What the real message says; None where that is unknown, so that it is no target. `cut`: what a positive score
        is at its moment."""

    def detail(self, turn: Turn, options: Options = ...) -> dict[str, float | str]:
        """How the answer was read: `path`, and p and mass where there are label probabilities."""


def names() -> list[str]:
    """The tasks in this folder, sorted."""
    return sorted(p.stem for p in Path(__file__).parent.glob("*.py") if not p.stem.startswith("_"))


def load(name: str) -> Task:
    """The task called `name`. Raises UnknownName, which lists the folder."""
    if name not in names():
        raise UnknownName("task", name, names())
    return cast(Task, import_module(f"{__name__}.{name}"))
