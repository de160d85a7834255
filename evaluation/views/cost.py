"""What the model calls of a run took: calls, tokens, the share that a prefix cache served, seconds, money."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from evaluation.sheet import Column, Sheet, Value
from simulator.records import Turn


def cost(turns: Sequence[Turn]) -> Sheet:
    """One row for each ask, and one for all."""
    asks = sorted({t.ask for t in turns})
    groups = [(ask, [t for t in turns if t.ask == ask]) for ask in asks] + [("all", list(turns))]
    priced = any(t.cost is not None for t in turns)
    return Sheet(
        "cost",
        "Cost",
        "Answers that did not stand and were asked for again are not in the tokens and seconds.",
        (
            Column("ask", "Ask"),
            Column("calls", "Calls"),
            Column("retries", "Retries"),
            Column("tokens_in", "Tokens in"),
            Column("cached", "From cache", "share of the tokens read, where the endpoint tells", 2),
            Column("tokens_out", "Tokens out"),
            Column("seconds", "Seconds", places=1),
            Column("median", "Median s", places=2),
            *([Column("cost", "Cost", "in the currency of the run's prices", 4)] if priced else []),
        ),
        tuple(_spent(ask, group, priced) for ask, group in groups if group),
    )


def _spent(name: str, turns: list[Turn], priced: bool) -> tuple[Value, ...]:
    done = [t.completion for t in turns if t.completion is not None]
    told = [c for c in done if c.cached is not None and c.tokens_in]
    read = sum(c.tokens_in or 0 for c in told)
    return (
        name,
        len(turns),
        sum(t.attempts - 1 for t in turns if t.attempts),
        sum(c.tokens_in or 0 for c in done),
        sum(c.cached or 0 for c in told) / read if read else None,
        sum(c.tokens_out or 0 for c in done),
        sum(c.seconds for c in done),
        median(c.seconds for c in done) if done else None,
        *([sum(t.cost or 0.0 for t in turns)] if priced else []),
    )
