"""The persona card: habits that a person's earlier messages show, in one deterministic sentence. No model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from memory.message import Message
from memory.recall import History

LATEST = 50  # messages that the card looks at: habits change, and reading more costs time at every turn
FEW = 3  # below this a habit is an accident


def card(history: History) -> str:
    """Length, casing and punctuation habits of the last messages before the history's moment; "" below FEW messages."""
    latest = history.messages[-LATEST:]
    if len(latest) < FEW:
        return ""
    words = [len(m.words.split()) for m in latest]
    facts = [
        f"You usually write about {round(median(words))} words",
        _often(latest, "start without a capital", lambda text: text[:1].islower()),
        _often(latest, "ask questions", lambda text: "?" in text),
        _often(latest, "use exclamation marks", lambda text: "!" in text),
        _often(latest, "leave out the final full stop", lambda text: text[-1:].isalnum()),
    ]
    return ", ".join(fact for fact in facts if fact) + "."


def _often(messages: Sequence[Message], habit: str, shows: Callable[[str], bool]) -> str:
    share = sum(shows(m.words.strip()) for m in messages) / len(messages)
    return f"often {habit}" if share >= 0.4 else ""
