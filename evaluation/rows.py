"""Scored: one row of the results, and its file of JSON lines. Everything printed is made from these rows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from evaluation.tasks import Kind, Value
from memory.errors import BadInput

MODEL = "model"
BASELINE = "baseline:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One scored answer. `truth` None: the real score or text is unknown, so this is no target (counted, not measured).

    `value` None: nothing readable, see `failure`; `fill` is then the number measured in its place. `fallback`: a
    baseline found nothing earlier. `detail`: path of reading, p, mass, and the `cut` that an option sets. `options`: of
    the task. `metrics` and `stamps` share their keys.
    """

    run: str
    mode: str
    task: str
    kind: Kind
    thread: str
    slot: str
    repeat: int
    system: str
    user: str
    place: str
    parent: str
    time: int
    distance: int
    history: int
    judged: str | None = None
    model: str = ""
    retriever: str = ""
    seed: int = 0
    prompt_hash: str = ""
    recalled: tuple[str, ...] = ()
    truth: Value | None = None
    value: Value | None = None
    answer: str | None = None
    failure: str | None = None
    reason: str = ""
    fill: float | None = None
    fallback: bool = False
    hindsight: bool = False
    detail: dict[str, float | str] = field(default_factory=dict)
    options: dict[str, str] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    stamps: dict[str, str] = field(default_factory=dict)
    finish: str = ""
    attempts: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cached: int | None = None
    seconds: float = 0.0

    @property
    def key(self) -> tuple[str, str, str, str, str, int, bool, str]:
        """Unique; the order of rows everywhere, the model before its baselines."""
        return self.run, self.mode, self.task, self.thread, self.slot, self.repeat, self.system != MODEL, self.system


def dump(scored: Iterable[Scored], path: Path) -> None:
    """Writes one JSON line per row, sorted, ASCII; replaces the file as a whole, or not at all."""
    lines = (json.dumps(asdict(row), sort_keys=True, allow_nan=False) for row in sorted(scored, key=lambda r: r.key))
    draft = path.with_name(path.name + ".new")
    draft.write_text("".join(line + "\n" for line in lines), encoding="ascii")
    os.replace(draft, path)


def load(path: Path) -> list[Scored]:
    """The rows of a dumped file. Raises BadInput with the line that is none."""
    rows = []
    for line_number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        try:
            given = json.loads(line)
            rows.append(Scored(**{**given, "recalled": tuple(given.get("recalled", ()))}))
        except (ValueError, TypeError) as error:
            raise BadInput(f"{path} line {line_number} is no scored row ({error}); score the run again") from None
    return rows
