"""Generation: the person's next message, in their own words. Its turn is the simulated message itself."""

from __future__ import annotations

from evaluation.positive import ABOVE, Cut
from evaluation.tasks import NONE, Kind, Options
from memory.message import Message
from simulator.records import Ask, Turn

KIND: Kind = "text"
QUESTION = "What does the person write?"
ASK = Ask(
    name="reply",
    question="",  # in templates/, see tasks.ask
    max_tokens=300,
    temperature=0.7,
)


def read(turn: Turn, options: Options = NONE) -> str | None:
    """What the person says, as it stands in the thread; None where the call failed or said nothing."""
    return _words(turn.words or "")


def truth(message: Message, cut: Cut = ABOVE) -> str | None:
    return _words(message.text or "")


def detail(turn: Turn, options: Options = NONE) -> dict[str, float | str]:
    return {}


def _words(text: str) -> str | None:
    """Half surrogate pairs become "?": no encoder takes them."""
    return text.encode("utf-8", "replace").decode().strip() or None
