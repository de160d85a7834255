"""The probes, one a file: what is asked of a turn, how the answer is read, what the truth is.

A task is a module with the names of Task below: a new file in this folder is a new task, found by its file name, and
templates/ has its words, which a folder of one's own may replace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Literal, Protocol, cast

from evaluation.positive import Cut
from memory.errors import BadInput, UnknownName
from memory.message import Message
from memory.templates import templates
from simulator.records import Ask, Turn

Kind = Literal["label", "number", "text"]
Value = str | float
Options = Mapping[str, str]  # of a task, by name: evaluation/options.py
NONE: Options = MappingProxyType({})

ANSWER = "=> "  # begins the line of a template that answers the lines before it: an example


class Task(Protocol):
    """`ASK` lacks its words. `KIND` decides on metrics and baselines; `QUESTION` is one line for the report."""

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


@lru_cache(maxsize=32)
def ask(name: str, folder: Path | None = None) -> Ask:
    """The ASK of task `name` with its words: asks/NAME.txt in `folder`, where that is, else the packaged ones.

    Raises: UnknownName. BadInput for a file there that is no task's, or that cannot serve.
    """
    task, home = load(name), Path(__file__).with_name("templates")
    words = templates(home, dict.fromkeys(names(), ("author?", "parent?")), folder and folder / "asks")
    examples: list[tuple[str, str]] = []
    asked: list[str] = []
    for line in words[name].split("\n"):
        if line.startswith(ANSWER):
            examples.append(("\n".join(asked), line.removeprefix(ANSWER)))
            asked = []
        else:
            asked.append(line)
    if not any(line.strip() for line in asked):
        raise BadInput(f"{(folder or home) / name}.txt asks nothing after its last example; end it with the question")
    return replace(task.ASK, question="\n".join(asked), examples=tuple(examples))
