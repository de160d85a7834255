"""Item and Verdict: what a protocol selects of a post, and why it takes or leaves it. One item is one question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from evaluation.benchmark.posts import Comment

TaskName = Literal["sentiment", "impact", "generation"]
Setting = Literal["p-conv", "p-nonconv", "np-conv"]
TASKS: tuple[TaskName, ...] = ("sentiment", "impact", "generation")
SETTINGS: tuple[Setting, ...] = ("p-conv", "p-nonconv", "np-conv")

POSITIVE, NEGATIVE = "positive", "negative"
Label = str | int | float


@dataclass(frozen=True, slots=True)
class Example:
    """What is shown as done before the question. `post` and `comment` None: the built-in one."""

    answer: Label
    post: str | None = None
    comment: Comment | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One question: about, or for, the reply `target` that `user` wrote under `post`. `sign`: told to the model.
    What else of the conversation it shows: seen.py."""

    task: TaskName
    setting: Setting
    post: str
    user: str
    domain: str
    target: Comment
    truth: Label
    example: Example | None
    sign: str | None = None

    @property
    def id(self) -> str:
        return self.target.ref


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a post. `reason`: the first rule that fails, in the reference's order; None where selected.
    `target`: also of a dropped post. `facts`: the counts that the rules look at."""

    post: str
    user: str
    index: int
    status: Literal["selected", "dropped", "skipped"]
    reason: str | None = None
    target: Comment | None = None
    facts: dict[str, int | float | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Selection:
    """`items` in the order in which the reference writes them; `verdicts` in the order of the file. `stops`: posts at
    which the reference would end with an error (a number as timestamp); here the number is read as seconds."""

    items: tuple[Item, ...]
    verdicts: tuple[Verdict, ...]
    stops: tuple[str, ...] = ()
