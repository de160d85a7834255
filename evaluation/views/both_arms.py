"""The two arms of a branch, turn by turn: what its parent said, and what it said."""

from __future__ import annotations

from evaluation.arms import Arms
from evaluation.sheet import Column, Sheet

LONGEST = 400  # characters of a message; the thread shows all of it


def both_arms(arms: Arms) -> Sheet:
    """One row for each turn that is not shared."""
    shared = "1 turn is" if arms.shared == 1 else f"{arms.shared} turns are"
    return Sheet(
        "arms",
        "Both arms",
        f"{shared} shared with the run that was branched; these are not."
        + (f" Its arm is not shown: {arms.missing}; put that back and make the report again." if arms.missing else ""),
        (
            Column("user", "Person"),
            Column("thread", "Thread"),
            Column("turn", "Turn"),
            Column("before", "Before the change"),
            Column("branch", "Branch"),
        ),
        tuple(
            (
                pair.turn.slot.author,
                pair.turn.slot.thread,
                pair.turn.slot.number,
                _said(pair.parent) if not arms.missing else "(not shown)",
                _said(pair.branch),
            )
            for pair in arms.pairs
        ),
        tuple({"thread": pair.turn.slot.thread, "slot": pair.turn.slot.id} for pair in arms.pairs),
    )


def _said(words: str | None) -> str:
    if words is None:
        return "(nothing said)"
    return words if len(words) <= LONGEST else f"{words[:LONGEST]} [... and {len(words) - LONGEST:,} more characters]"
