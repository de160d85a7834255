"""How likely the model finds the true text as its reply: asked after the reply in the same words, in bits a byte."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evaluation.metrics import UNIFORM
from memory.errors import BadInput
from simulator.answering import REPLY
from simulator.records import Ask, Turn

WEIGHS = "likelihood"  # name of the ask


def weighing(asks: Sequence[Ask], mode: str = "replay") -> tuple[Ask, ...]:
    """`asks` with the question for the likelihood after the reply, whose prompt is then cached.

    Raises: BadInput where nobody really wrote what is simulated (mode free), or no reply is asked."""
    if mode == "free":
        raise BadInput("no message of a free thread has a true text; its likelihood is asked in mode replay or rollout")
    at = next((n for n, ask in enumerate(asks) if ask.name == REPLY), None)
    if at is None:
        raise BadInput("the likelihood of the true text goes with the task generation; name it too")
    return (*asks[: at + 1], replace(asks[at], name=WEIGHS, weighs=True, stop=()), *asks[at + 1 :])


def likelihood(turn: Turn) -> dict[str, float | str]:
    """What a row keeps of it: "known" with bits per byte and tokens, else the failure's class."""
    found = turn.completion.likelihood if turn.completion else None
    if found is None or not found.bytes:
        return {"likelihood": turn.failure or "empty"}
    return {
        "likelihood": "known",
        "bits_per_byte": round(found.nats / math.log(2) / found.bytes, 6),
        "likelihood_tokens": float(found.tokens),
    }


def values(kept: Mapping[str, float | str]) -> dict[str, float]:
    """The metrics of what likelihood() says: a failure counts as UNIFORM bits a byte."""
    bits, known = kept.get("bits_per_byte"), kept["likelihood"] == "known"
    return {"bits_per_byte": UNIFORM if bits is None else float(bits), "likelihood_failed": float(not known)}
