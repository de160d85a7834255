"""What a run was made of: calls, tokens, seconds and money for each ask, and for what was asked beside the turns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path
from statistics import median

from simulator import asked, runlog
from simulator.asked import Answered
from simulator.llm import Completion
from simulator.records import Turn

WHOSE = {"memory": "asked by the memory", "profile": "profiles"}


@dataclass(frozen=True)
class Row:
    """`calls`: turns, or answers beside them. `rejected`: answers that did not stand, whose tokens count here too.
    `cached`: share of the tokens in, None where no endpoint told it. `cost`: None without prices."""

    name: str
    calls: int
    retries: int
    rejected: int
    tokens_in: int
    cached: float | None
    tokens_out: int
    seconds: float
    median: float | None
    cost: float | None


def costs(turns: Sequence[Turn], answered: Sequence[Answered] = ()) -> list[Row]:
    """One row an ask, one for each of WHOSE that asked anything, and one for all."""
    groups = [(ask, [t for t in turns if t.ask == ask]) for ask in sorted({t.ask for t in turns})]
    rows = [_of(ask, group) for ask, group in groups] + list(beside(answered))
    return [*rows, _all(rows, turns, answered)] if rows else []


def beside(answered: Sequence[Answered]) -> Iterator[Row]:
    """What the memory and the profiles asked."""
    for whose, name in WHOSE.items():
        own = [a for a in answered if a.whose == whose]
        if own:
            yield _row(name, len(own), 0, 0, [a.completion for a in own], [a.cost for a in own])


def written(folders: Iterable[Path]) -> dict[str, tuple[int, int]]:
    """(calls, tokens in and out) of what the memory of each run asked, by the run's name: of run folders, and of the
    cells of benchmarks."""
    found = {}
    for run in (run for folder in folders for run in (folder, *sorted(folder.glob("cells/*")))):
        if (run / runlog.MANIFEST).exists():
            answered = [a for a in asked.read(run) if a.whose == "memory"]
            tokens = sum((a.completion.tokens_in or 0) + (a.completion.tokens_out or 0) for a in answered)
            found[str(runlog.manifest(run)["run"])] = len(answered), tokens
    return found


def _of(name: str, turns: Sequence[Turn]) -> Row:
    retries = sum(max(0, t.attempts - _asked(t)) for t in turns)
    answers = [c for t in turns for c in t.answers]
    return _row(name, len(turns), retries, sum(len(t.rejected) for t in turns), answers, [t.cost for t in turns])


def _asked(turn: Turn) -> int:
    """How often a turn was asked for, retries of the same request not counted."""
    last = turn.rejected[-1].failure if turn.rejected else None
    return len(turn.rejected) + (last is None or turn.failure != last)


def _all(rows: Sequence[Row], turns: Sequence[Turn], answered: Sequence[Answered]) -> Row:
    answers = [*(c for t in turns for c in t.answers), *(a.completion for a in answered)]
    told = [*(t.cost for t in turns), *(a.cost for a in answered)]
    counts = (sum(r.calls for r in rows), sum(r.retries for r in rows), sum(r.rejected for r in rows))
    return _row("all", *counts, answers, told)


def _row(
    name: str, calls: int, retries: int, rejected: int, answers: list[Completion], told: Sequence[float | None]
) -> Row:
    cached = [c for c in answers if c.cached is not None and c.tokens_in]
    read = sum(c.tokens_in or 0 for c in cached)
    priced = [cost for cost in told if cost is not None]
    return Row(
        name,
        calls,
        retries,
        rejected,
        sum(c.tokens_in or 0 for c in answers),
        sum(c.cached or 0 for c in cached) / read if read else None,
        sum(c.tokens_out or 0 for c in answers),
        fsum(c.seconds for c in answers),
        median(c.seconds for c in answers) if answers else None,
        fsum(priced) if priced else None,
    )
