"""Generation: the person's next message, in their own words. Its turn is the simulated message itself."""

from __future__ import annotations

from evaluation.tasks import Kind
from memory.message import Message
from simulator.records import Ask, Turn

KIND: Kind = "text"
QUESTION = "What does the person write?"
ASK = Ask(
    name="reply",
    question="Write the next message of {author}, in their own words. Give only the message.",
    max_tokens=96,
    temperature=0.7,
)


def read(turn: Turn) -> str | None:
    """The simulated text without blanks at its ends; None where the call failed or said nothing."""
    return (turn.completion.text.strip() or None) if turn.completion else None


def truth(message: Message) -> str | None:
    return (message.text or "").strip() or None


def detail(turn: Turn) -> dict[str, float | str]:
    return {}
