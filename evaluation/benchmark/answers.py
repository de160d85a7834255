"""How the reference's evaluators read an answer: those for chat models, and those for logged answers."""

from __future__ import annotations

import re
from typing import Literal

from evaluation.benchmark.items import NEGATIVE, POSITIVE, Label, TaskName

Reader = Literal["chat", "log"]  # chat: GPT, Claude, Gemini; log: LLaMA, DeepSeek

_WORD = re.compile(r"\b(positive|negative)\b")
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\b\d+(?:\.\d+)?\b")
_LOOSE = re.compile(r"[-+]?\d+(?:\.\d+)?")


def read(task: TaskName, text: str, reader: Reader) -> Label | None:
    """What the evaluator takes `text` for."""
    if task == "sentiment":
        return sentiment(text, reader)
    return impact(text, reader) if task == "impact" else written(text, reader)


def sentiment(text: str, reader: Reader) -> str | None:
    """chat: the whole answer is the word. log: the last of the two words, wherever it stands outside of thoughts."""
    if reader == "chat":
        bare = text.strip().lower()
        return bare if bare in (POSITIVE, NEGATIVE) else None
    found = _WORD.findall(_THOUGHT.sub("", text).lower())
    return str(found[-1]) if found else None


def impact(text: str, reader: Reader) -> float | None:
    """chat: the whole answer as Python reads a number ("nan", "inf" and "1e3" too), else the last number that stands
    alone. log: the last number, glued to letters or not."""
    if reader == "log":
        loose = _LOOSE.findall(_THOUGHT.sub("", text))
        return float(loose[-1]) if loose else None
    try:
        return float(text.strip())
    except ValueError:
        found = _NUMBER.findall(text)
        return float(found[-1]) if found else None


def written(text: str, reader: Reader) -> str | None:
    """The text itself, thoughts left out in logs, where "Error:" anywhere is a failure."""
    bare = (_THOUGHT.sub("", text) if reader == "log" else text).strip()
    return None if not bare or (reader == "log" and "Error:" in bare) else bare
