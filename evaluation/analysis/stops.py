"""Why threads ended: the early-stop rate by the reason that the run logged."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from evaluation.analysis.lines import silent
from evaluation.sheet import Column, Sheet, Value
from evaluation.stats import Interval, wilson

if TYPE_CHECKING:
    from simulator.ends import End

NAME, TITLE = "stops", "Why threads ended"
DONE = ("the scheduler has no further slot", "limit:")  # what was asked for was played; all else is early
ABOUT = "Early: before the scheduler had no further slot and before a limit of the run was reached. Wilson intervals."


def stops(ends: Mapping[tuple[str, int], End]) -> Sheet:
    """By logged reason: threads, their share of all, mean turns; the last line is all early ends together.

    `ends`: of simulator.ends.read(run).
    """
    if not ends:
        return silent(NAME, TITLE, "No thread of the run has ended yet, or the ends of its threads were not handed in.")
    counted = Counter(end.stop for end in ends.values())
    table: list[tuple[Value, ...]] = []
    for reason, count in sorted(counted.items(), key=lambda pair: (-pair[1], pair[0])):
        of = [end for end in ends.values() if end.stop == reason]
        table.append((reason, _early(reason), count, _share(count, len(ends)), sum(e.turns for e in of) / count))
    early = [end for end in ends.values() if _early(end.stop) == "yes"]
    turns = sum(e.turns for e in early) / len(early) if early else None
    table.append(("all early ends", "yes", len(early), _share(len(early), len(ends)), turns))
    columns = (
        Column("reason", "Reason"),
        Column("early", "Early"),
        Column("threads", "Threads", "repeats count", 0),
        Column("share", "Share", "of all threads that ended"),
        Column("turns", "Turns", "mean of these threads", 1),
    )
    return Sheet(NAME, TITLE, ABOUT, columns, tuple(table))


def _early(reason: str) -> str:
    return "no" if reason.startswith(DONE) else "yes"


def _share(count: int, of: int) -> Interval:
    return Interval(count / of, math.nan, *wilson(count, of), of, of)
