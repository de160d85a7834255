"""What the model calls of a run took: calls, tokens, the share that a prefix cache served, seconds, money."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evaluation import tasks
from evaluation.costs import costs
from evaluation.rows import MODEL
from evaluation.sheet import Column, Sheet
from simulator.asked import Answered
from simulator.records import Turn


def cost(turns: Sequence[Turn], answered: Sequence[Answered] = ()) -> Sheet:
    """One row for each ask, for what memory and profiles asked beside the turns, and for all."""
    rows = costs(turns, answered)
    of_ask = {task.ASK.name: name for name in tasks.names() if (task := tasks.load(name))}
    priced = any(row.cost is not None for row in rows)
    return Sheet(
        "cost",
        "Cost",
        "Answers that did not stand, and were asked for again or failed, are in the tokens, the seconds and the cost.",
        (
            Column("ask", "Ask"),
            Column("calls", "Calls"),
            Column("retries", "Retries"),
            Column("rejected", "Did not stand", "answers, see the failures"),
            Column("tokens_in", "Tokens in"),
            Column("cached", "From cache", "share of the tokens read, where the endpoint tells", 2),
            Column("tokens_out", "Tokens out"),
            Column("seconds", "Seconds", places=1),
            Column("median", "Median s", places=2),
            *([Column("cost", "Cost", "in the currency of the run's prices", 4)] if priced else []),
        ),
        tuple(
            (
                row.name,
                row.calls,
                row.retries,
                row.rejected,
                row.tokens_in,
                row.cached,
                row.tokens_out,
                row.seconds,
                row.median,
                *([row.cost or 0.0] if priced else []),
            )
            for row in rows
        ),
        tuple(_where(row.name, of_ask, turns) for row in rows),
    )


def _where(name: str, of_ask: Mapping[str, str], turns: Sequence[Turn]) -> Mapping[str, str]:
    """The scored rows of the calls; {} for calls that have none, such as a memory's own."""
    found = {"run": turns[0].run, "system": MODEL} if turns else {}
    if name in of_ask:
        return {**found, "task": of_ask[name]}
    return found if name == "all" else {}
