"""A thread as plain text: the reply tree with real and simulated messages side by side, safe to print in a terminal."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime

from memory.message import Message, Thread
from simulator.records import Turn

WIDTH = 100  # columns of text, indent not counted
DEEPEST = 12  # levels of indent; deeper messages say how deep they are
MARKS = 4  # combining marks on one letter; hundreds of them paint over the lines around
_WHOSE = {"real": "real", "simulated": "simulated opening", "inserted": "given opening"}
_KEPT = "\u200c\u200d"  # joiners that Persian and emoji need


def plain(text: str, show: bool = False) -> str:
    """`text` without control, escape and text-direction characters; line ends are LF, tabs four blanks.

    `show` leaves a visible mark in their place, e.g. <U+202E>.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    found, marks = [], 0
    for c in text:
        kind = unicodedata.category(c)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        if kind in ("Zl", "Zp"):
            found.append("\n")
        elif c != "\n" and c not in _KEPT and kind in ("Cc", "Cf", "Cs"):
            found.append(f"<U+{ord(c):04X}>" if show else "")
        elif marks <= MARKS:
            found.append(c)
    return "".join(found)


def transcript(thread: Thread, turns: Iterable[Turn], changes: Iterable[str] = ()) -> str:
    """The whole tree, oldest first among siblings, each simulated reply under the real one in whose place it stands.
    `changes`: what was changed in it by hand, a line each.

    Message text is quoted line by line, so that it cannot pass for a line of the transcript itself.
    """
    simulated: dict[str, list[Turn]] = {}
    for turn in turns:
        if turn.ask == "reply" and turn.slot.thread == thread.id:
            simulated.setdefault(turn.slot.id, []).append(turn)
    children, roots = _tree(thread, simulated)
    title = next((m.title for m in thread.messages if m.title), "")
    lines = [f"# {' '.join(plain(title).split()) or plain(thread.id)}", f"thread {plain(thread.id)}"]
    for change in changes:
        lines += textwrap.wrap(" ".join(plain(change).split()), WIDTH, subsequent_indent="  ")
    waiting = [(id, 0) for id in reversed(roots)]
    while waiting:  # not by recursion: trees of 3,000 nested replies exist
        id, depth = waiting.pop()
        lines += _entry(thread.by_id.get(id), simulated.get(id, []), depth)
        waiting += [(child, depth + 1) for child in reversed(children.pop(id, []))]
    return "\n".join(lines) + "\n"


def when(time: int) -> str:
    """UTC, to the minute."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _tree(thread: Thread, simulated: dict[str, list[Turn]]) -> tuple[dict[str, list[str]], list[str]]:
    """Children by parent, and the roots: messages whose parent is not here."""
    places = {m.id: (m.parent, m.time) for m in thread.messages}
    places.update(
        {id: (turns[0].slot.parent, turns[0].slot.time) for id, turns in simulated.items() if id not in places}
    )
    children: dict[str, list[str]] = {}
    roots = []
    for id in sorted(places, key=lambda id: (places[id][1], id)):
        parent = places[id][0]
        if parent is not None and parent in places and parent != id:
            children.setdefault(parent, []).append(id)
        else:
            roots.append(id)
    return children, roots


def _entry(message: Message | None, turns: list[Turn], depth: int) -> list[str]:
    indent = "  " * min(depth, DEEPEST)
    deep = f" (level {depth})" if depth > DEEPEST else ""
    lines = []
    if message is not None:
        lines.append(_head(indent, _WHOSE[message.origin], message.author, message.time, deep))
        lines += _quoted(indent, message.text) if message.text and message.text.strip() else [f"{indent}  (no text)"]
    for turn in sorted(turns, key=lambda t: (t.run, t.mode, t.repeat)):
        which = f"simulated, {turn.mode}" + (f", repeat {turn.repeat}" if turn.repeat else "")
        lines.append(_head(indent, which, turn.slot.author, turn.slot.time, deep))
        if turn.completion is None:
            lines.append(f"{indent}  (failed: {turn.failure})")
        else:
            lines += _quoted(indent, turn.completion.text)
    return lines


def _head(indent: str, which: str, author: str | None, time: int, deep: str) -> str:
    name = " ".join(plain(author or "somebody").split())
    return f"{indent}- [{which}] {name}, {when(time)}{deep}"


def _quoted(indent: str, text: str) -> list[str]:
    wrapped = [part for line in plain(text).strip().split("\n") for part in textwrap.wrap(line, WIDTH) or [""]]
    return [f"{indent}  > {line}".rstrip() for line in wrapped]
