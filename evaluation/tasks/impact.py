"""Impact: the community score of a message as one whole number, read from the answer's text."""

from __future__ import annotations

import json
import math
import re
from math import fsum
from statistics import median
from typing import Literal

from evaluation.positive import ABOVE, Cut
from evaluation.tasks import NONE, Kind, Options
from memory.message import Message
from simulator.llm import Completion
from simulator.records import Ask, Turn

KIND: Kind = "number"
QUESTION = "Which score will the community give the message?"
ASK = Ask(
    name="impact",
    question="",  # in templates/, see tasks.ask
    max_tokens=8,
    judges=True,
)

LIMIT = 10_000_000  # no message has ever come near: beyond it an answer is noise, and one would spoil every mean
FLOOR = 0.5  # probability below which the first token was mostly meant to be something else: the text decides
_RANGE = re.compile(r"\(?([+\-−]?[0-9]{1,8})\s*(?:to|–|\.\.)\s*([+\-−]?[0-9]{1,8})\)?")
_NUMBER = re.compile(r"(?<![\w.,+\-−])([+\-−]?)([0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(\.[0-9]+)?")
_GLUED = re.compile(r"[\w%]|/[0-9]|[.,][0-9]")  # 1e5, 3rd, 5%, 7/10, 1.2.3 are no scores


def read(turn: Turn, options: Options = NONE) -> float | None:
    """The number answered, None where there is none that can be a score. Of several answers their median, or mean with
    by=mean; with by=expected what `expected` says where it is known, else the mean of the answers."""
    by = options.get("by")
    if by == "expected" and turn.completion is not None:
        value, _, known = expected(turn.completion)
        if known == "known":
            return value
    found = [value for value in _values(turn) if value is not None]
    if not found:
        return None
    return fsum(found) / len(found) if by in ("mean", "expected") else float(median(found))


def truth(message: Message, cut: Cut = ABOVE) -> float | None:
    return None if message.score is None else float(message.score)


def detail(turn: Turn, options: Options = NONE) -> dict[str, float | str]:
    """`path` is "text", "json" or "logprobs". Of several answers `samples`, `unread` (failed calls too), `mean` and
    `median`; of by=expected what `expected` says as `expectation` and `mass`; of an interval `low` and `high`, where
    both were said."""
    done = turn.completion
    if done is None:
        return {}
    told: dict[str, float | str] = {"path": "text" if stated(done.text) is None else "json"}
    if options.get("by") == "expected":
        _, mass, known = expected(done)
        told |= {"expectation": known, "mass": mass} | ({"path": "logprobs"} if known == "known" else {})
    if turn.samples:
        values = _values(turn)
        found = [value for value in values if value is not None]
        told |= {"samples": float(len(values)), "unread": float(len(values) - len(found))}
        told |= {"mean": fsum(found) / len(found), "median": float(median(found))} if found else {}
    ends = interval(done.text) if "interval" in options else None
    return told | ({"low": ends[0], "high": ends[1]} if ends else {})


def _values(turn: Turn) -> list[float | None]:
    return [None if done is None else _value(done) for done in (turn.completion, *turn.samples)]


def _value(done: Completion) -> float | None:
    known = stated(done.text)
    if known is None:
        return parse(done.text, cut=done.finish == "length")
    return _whole(known.get("score"))


def _whole(found: object) -> float | None:
    fine = isinstance(found, int | float) and not isinstance(found, bool) and abs(found) <= LIMIT
    return float(found) if fine else None  # type: ignore[arg-type]


def stated(text: str) -> dict[str, object] | None:
    """The answer as a JSON object, None where it is none."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def interval(text: str) -> tuple[float, float] | None:
    """The stated ends, lower first; None where one of them is not there, or they are the wrong way round."""
    known = stated(text)
    if known is not None:
        low, high = _whole(known.get("low")), _whole(known.get("high"))
    else:
        found = _RANGE.search(text)
        low, high = (_whole(int(end.replace("−", "-"))) for end in found.groups()) if found else (None, None)
    return None if low is None or high is None or low > high else (low, high)


def expected(done: Completion) -> tuple[float, float, Literal["known", "weak", "cut"]]:
    """(mean, mass, whether that is an expectation) of the first tokens that are whole numbers: each weighted by its
    probability, and how much that is in all.

    "weak": they have less than FLOOR, since mostly something else was meant. "cut": the first token need not be the
    whole number. The answer's own runs on after it, or no token of two digits is among them, as where a tokenizer
    writes digit by digit (SmolLM2, Qwen, Mistral; not o200k or Llama 3, which write three at once): there "1" may
    begin 123, and what follows is told of the answer alone. A token of three digits counts as itself.
    """
    weights = [(t.strip(), math.exp(p)) for t, p in done.logprobs.items() if t.strip().isdecimal() and len(t) < 9]
    mass = fsum(weight for _, weight in weights)
    mean = fsum(int(n) * weight for n, weight in weights) / mass if mass else 0.0
    said, numbers = _NUMBER.search(done.text), {n for n, _ in weights}
    whole = max(map(len, numbers), default=0) > 1 and said is not None and said.group().replace(",", "") in numbers
    return mean, min(mass, 1.0), "weak" if mass < FLOOR else "known" if whole else "cut"


def parse(text: str, cut: bool = False) -> float | None:
    """The first number decides, because an answer limited to a few tokens may end inside its last one.

    A sign, thousands commas and a fraction are read. None: no number (nan, inf), one glued to letters, %, or a rating
    (7/10), one beyond LIMIT, or, with `cut` (the token limit ended the answer), one that runs to the very end.
    """
    found = _NUMBER.search(text)
    if found is None or _GLUED.match(text, found.end()) or (cut and found.end() == len(text)):
        return None
    sign, whole, fraction = found.groups()
    digits = whole.replace(",", "").lstrip("0") or "0"
    if len(digits) > len(str(LIMIT)):
        return None
    number = float(digits + (fraction or ""))
    return None if number > LIMIT else (-number if sign in ("-", "−") else number)
