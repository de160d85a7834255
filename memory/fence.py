"""Corpus text made inert for a prompt: it stays data, whatever it says.

Each line gets a mark in front, so no text can close its own fence; the control tokens of chat templates are broken
up, so no server reads them as a change of speaker.
"""

from __future__ import annotations

import re

MARK = "> "

NAMES = "s|bos|eos|pad|unk|think|start_of_turn|end_of_turn|assistant|system|user|tool_call"
CONTROL = re.compile(
    rf"<(?=[|｜<]|/?(?:{NAMES})\s*>|/?SYS>)"
    r"|\[(?=/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|SYSTEM_PROMPT)\])"
    r"|(?<=[|｜])(?=>)",
    re.IGNORECASE,
)
_MARKS = re.compile(r"^(?:> ?)+")
INVISIBLE = re.compile(
    r"[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def inert(text: str) -> str:
    """`text` without control tokens, control characters and invisible direction marks; words stay as they are."""
    plain = INVISIBLE.sub(
        "", text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    )
    return CONTROL.sub(lambda hit: f"{hit.group()} ", plain)


def fenced(text: str) -> str:
    """Inert text with a mark before every line, blank lines left out; the bare mark for no words."""
    lines = [line.strip() for line in inert(text).splitlines()]
    return "\n".join(MARK + line for line in lines if line) or MARK.rstrip()


def unfenced(text: str) -> str:
    """An answer without the marks that a model copied from its prompt: those of a text in which every line has them.

    Where some lines have marks and some have none, somebody quotes, and the text stays as it is.
    """
    lines = text.strip().splitlines()
    if not all(line.startswith(">") for line in lines if line.strip()):
        return text.strip()
    return "\n".join(_MARKS.sub("", line) for line in lines).strip()


def label(name: str, limit: int = 40) -> str:
    """A person's or community's name as one inert word group of at most `limit` characters."""
    flat = " ".join(inert(name).split())
    return flat[:limit].replace("|", "/").replace("<", "(").replace(">", ")")
