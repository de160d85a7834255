"""Sentiment, corrected protocol: will the community score this message above 0?

P(positive) comes from the probabilities of the first answer token where the endpoint gives them, else from the words.
"""

from __future__ import annotations

import math
import re

from evaluation.positive import ABOVE, Cut
from evaluation.tasks import NONE, Kind, Options
from memory.message import Message
from simulator.records import Ask, Turn

POSITIVE, NEGATIVE = LABELS = ("positive", "negative")
KIND: Kind = "label"
QUESTION = "Will the community score the message above 0?"
ASK = Ask(
    name="sentiment",
    question="",  # in templates/, see tasks.ask
    max_tokens=4,
    judges=True,
    labels=LABELS,
)

FLOOR = 0.1  # label mass below which the model wanted to say something else: its words decide (SmolLM2: 0.27-0.87)
STEM = 3  # letters of a label that count as the label, because tokenizers cut words ("neg" + "ative")
_LEAD = ("answer", "label", "sentiment")
_NEGATION = re.compile(r"(?:not|no|never|neither|nor|none|cannot|without|hardly|\w+n['’]?t)$")


def read(turn: Turn, options: Options = NONE) -> str | None:
    """ "positive", "negative", or None where neither can be read."""
    return _answer(turn)[0]


def truth(message: Message, cut: Cut = ABOVE) -> str | None:
    """ "positive" for a score above 0, or what `cut` says, else "negative"."""
    return None if message.score is None else label(message.score, cut)


def label(score: float, cut: Cut = ABOVE) -> str:
    return POSITIVE if cut.holds(score) else NEGATIVE


def detail(turn: Turn, options: Options = NONE) -> dict[str, float | str]:
    """`path` is "logprobs" or "text"; p = P(positive) within the labels and mass = P(any label), where known."""
    return _answer(turn)[1]


def probability(logprobs: dict[str, float]) -> tuple[float, float]:
    """(p, mass): the share of "positive" in the probability of both labels, and that probability, at most 1.

    All first tokens are summed that are, apart from case and leading space, a label or its first letters (at least
    STEM). A label that is not in the endpoint's list counts as 0. p is nan where the mass is 0.
    """
    mass = dict.fromkeys(LABELS, 0.0)
    for token, logprob in logprobs.items():
        bare = token.lstrip(" \n\tĠ▁").casefold()
        for name in LABELS:
            if len(bare) >= STEM and name.startswith(bare) and logprob <= 0.0:
                mass[name] += math.exp(logprob)
    both = sum(mass.values())
    return (mass[POSITIVE] / both if both > 0 else math.nan), min(both, 1.0)


def parse(text: str) -> str | None:
    """The label that opens the answer ("Answer: " may stand before it), unless the rest denies it or names the other.

    Words are whole, so "incorrect", "nonpositive" and "non-positive" are no labels.
    """
    words = [w for w in (word.strip("'’-_") for word in re.findall(r"[\w'’-]+", text.casefold())) if w]
    if words and words[0] in _LEAD:
        words = words[1:]
    if not words or words[0] not in LABELS:
        return None
    if any(w in LABELS and w != words[0] for w in words) or any(_NEGATION.match(w) for w in words):
        return None
    return POSITIVE if words[0] == POSITIVE else NEGATIVE


def _answer(turn: Turn) -> tuple[str | None, dict[str, float | str]]:
    if turn.completion is None:
        return None, {}
    known: dict[str, float | str] = {}
    if turn.completion.logprobs:
        p, mass = probability(turn.completion.logprobs)
        known = {"mass": mass} if math.isnan(p) else {"p": p, "mass": mass}
        if mass >= FLOOR and p != 0.5:
            return (POSITIVE if p > 0.5 else NEGATIVE), {"path": "logprobs", **known}
    return parse(turn.completion.text), {"path": "text", **known}
