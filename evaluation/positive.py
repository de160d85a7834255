"""What counts as well received: definitions of "positive", resolved at a moment from earlier scores alone.

">0" (the default), ">=5", ">median" (above the median of the community's scores so far), ">q0.9" (above that quantile).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from memory.errors import BadInput, clip
from simulator.records import Ask

DEFAULT = ">0"
FORMS = ">0, >=5, >median, >q0.9"
PLAIN = "above 0"  # how the packaged question says the default
_FORM = re.compile(r"(>=?)(-?\d{1,9})|>(median)|>q(0?\.\d{1,4})")


@dataclass(frozen=True, slots=True)
class Cut:
    """A definition at one moment: a score is positive above `at`, or with `ends` from `at` on."""

    at: float = 0.0
    ends: bool = False

    def holds(self, score: float) -> bool:
        return score >= self.at if self.ends else score > self.at

    def share(self, scores: Any) -> float:
        """Of `scores`, a numpy array, how many are positive."""
        return float((scores >= self.at if self.ends else scores > self.at).mean())


ABOVE = Cut()


@dataclass(frozen=True, slots=True)
class Positive:
    """`number` of a fixed definition; `quantile` of one that goes by the community's scores so far."""

    text: str = DEFAULT
    number: int = 0
    ends: bool = False
    quantile: float | None = None

    @staticmethod
    def of(text: str) -> Positive:
        """Raises BadInput for what is no definition."""
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise BadInput(f"positive is one of the forms {FORMS}; found {clip(text)!r}")
        sign, number, median, quantile = found.groups()
        if number is not None:
            return Positive(text.strip(), int(number), sign == ">=")
        return Positive(text.strip(), quantile=0.5 if median else float(quantile))

    def cut(self, scores: Sequence[float] | Any) -> Cut:
        """At a moment: `scores` are the community's earlier ones, at least one."""
        if self.quantile is None:
            return Cut(float(self.number), self.ends)
        return Cut(float(np.quantile(np.asarray(scores, np.float64), self.quantile)))

    @property
    def said(self) -> str:
        """In place of PLAIN in a question."""
        if self.quantile is None:
            return f"at least {self.number}" if self.ends else f"above {self.number}"
        if self.quantile == 0.5:
            return "above the median of earlier scores in its community"
        return f"above {self.quantile:.0%} of earlier scores in its community"

    def asked(self, ask: Ask) -> Ask:
        """`ask`, whose words are those of the default, with this definition and examples of it.

        Raises: BadInput where words of one's own do not say PLAIN, so that nothing can stand in its place."""
        if self.text == DEFAULT:
            return ask
        if PLAIN not in ask.question:
            raise BadInput(
                f"the question of {ask.name} does not say {PLAIN!r}, so positive={self.text} cannot replace it"
            )
        yes, no = ask.labels
        at, so = (
            (self.number, "") if self.quantile is None else (3, f", where {self.quantile:.0%} of them got 3 or less")
        )
        low, high = (at - 2, at + 4)
        form = f"Messages get a score: votes up minus votes down. One got {{}}{so}: is it {self.said}? {yes} or {no}?"
        examples = ((form.format(low), no), (form.format(high), yes))
        return replace(ask, question=ask.question.replace(PLAIN, self.said), examples=examples)
