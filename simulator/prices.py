"""What calls cost: prices per million tokens, in any currency, times the tokens that an endpoint reports."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite
from typing import Protocol

from memory.errors import BadInput, clip

MILLION = 1_000_000


class Usage(Protocol):
    """Tokens of a call, or of many: a Completion, or wrappers.Usage. None: the endpoint was silent."""

    @property
    def tokens_in(self) -> int | None: ...
    @property
    def tokens_out(self) -> int | None: ...
    @property
    def cached(self) -> int | None: ...


@dataclass(frozen=True, slots=True)
class Prices:
    """Per million tokens. `cached`: input served from a prefix cache; None for the price of all input."""

    input: float
    output: float
    cached: float | None = None

    @staticmethod
    def of(text: str) -> Prices:
        """ "input=0.15,cached=0.075,output=0.6" as prices; cached may be left out. Raises BadInput for all else."""
        try:
            pairs = [part.partition("=") for part in text.split(",")]
            given = {name.strip(): float(value) for name, _, value in pairs}
            prices = Prices(**given)
        except (ValueError, TypeError):
            raise _unreadable(text) from None
        if len(given) != len(pairs) or not all(isfinite(price) and price >= 0 for price in given.values()):
            raise _unreadable(text)
        return prices


def cost(usage: Usage, prices: Prices) -> float | None:
    """What the tokens of `usage` cost, in the currency of `prices`; None where the endpoint did not say its tokens.

    Reasoning tokens are part of tokens_out, cached ones of tokens_in: that is how endpoints report them.
    """
    if usage.tokens_in is None or usage.tokens_out is None:
        return None
    cached = min(usage.cached or 0, usage.tokens_in)
    cheaper = prices.input if prices.cached is None else prices.cached
    total = (usage.tokens_in - cached) * prices.input + cached * cheaper + usage.tokens_out * prices.output
    return total / MILLION


def _unreadable(text: str) -> BadInput:
    names = [field.name for field in fields(Prices)]
    return BadInput(
        f"prices are per million tokens, like input=0.15,cached=0.075,output=0.6 ({', '.join(names)}; cached may be "
        f"left out), found {clip(text)!r}"
    )
