"""Impact: the community score of a message as one whole number, read from the answer's text."""

from __future__ import annotations

import re

from evaluation.positive import ABOVE, Cut
from evaluation.tasks import Kind
from memory.message import Message
from simulator.records import Ask, Turn

KIND: Kind = "number"
QUESTION = "Which score will the community give the message?"
ASK = Ask(
    name="impact",
    question="{author} now writes:\n{text}\nWhat will its score be? One whole number.",
    examples=(
        (
            "Messages get a score: votes up minus votes down. What is the score of a message with 3 votes up "
            "and 1 down? One whole number.",
            "2",
        ),
    ),
    max_tokens=8,
    judges=True,
)

LIMIT = 10_000_000  # no message has ever come near: beyond it an answer is noise, and one would spoil every mean
_NUMBER = re.compile(r"(?<![\w.,+\-−])([+\-−]?)([0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(\.[0-9]+)?")
_GLUED = re.compile(r"[\w%]|/[0-9]|[.,][0-9]")  # 1e5, 3rd, 5%, 7/10, 1.2.3 are no scores


def read(turn: Turn) -> float | None:
    """The first number of the answer, None where there is none that can be a score."""
    if turn.completion is None:
        return None
    return parse(turn.completion.text, cut=turn.completion.finish == "length")


def truth(message: Message, cut: Cut = ABOVE) -> float | None:
    return None if message.score is None else float(message.score)


def detail(turn: Turn) -> dict[str, float | str]:
    return {} if turn.completion is None else {"path": "text"}


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
