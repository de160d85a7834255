"""Habits of writing, counted: length, casing, punctuation, openers, emoji, hours, communities, stance. No model.

Source: ours; the counts are those that stylometry begins with, the stance words the commonest hedges, boosters and
attitude markers of Hyland 2005 (Stance and engagement).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from memory.fence import label
from memory.message import Message

FEW = 3  # below this a habit is an accident
OFTEN = 0.4  # share of messages from which a habit is one
READ = 200  # words of a message whose stance is looked at: an essay would cost as much as all the others

HABITS = (
    "no capital at the start",
    "all in lower case",
    "questions",
    "exclamation marks",
    "trailing dots",
    "no final full stop",
    "several paragraphs",
    "links",
    "emoji",
    "the word I",
)
STANCE = {
    "hedging": "maybe perhaps probably possibly guess think suppose seems might somewhat apparently",
    "certain": "definitely certainly obviously clearly actually really always never absolutely totally literally",
    "agreeing": "agree agreed exactly yes yeah yep indeed true",
    "disagreeing": "disagree no nope wrong but however nonsense",
    "feeling": "love hate hope wish thanks sorry unfortunately glad great awful",
}
_GROUP = {word: group for group, words in STANCE.items() for word in words.split()}
_SAID = {word + end: word for word in _GROUP for end in ("", ",", ".", "!", "?", "...", ";", ":")}  # as it is written
_I = {"i", *(f"i{mark}{rest}" for mark in "'’" for rest in ("m", "ve", "d", "ll"))}
_EMOJI = re.compile("[\u2600-\u27bf\U0001f300-\U0001f3fa\U0001f400-\U0001faff]")  # without skin tones
_OPENER = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")


class Traits(NamedTuple):
    """What is counted of one message. `shows`: one flag for each of HABITS."""

    words: int
    shows: tuple[bool, ...]
    opener: str
    emoji: tuple[str, ...]
    stance: tuple[str, ...]
    place: str
    hour: int


@lru_cache(maxsize=8192)  # a person's next card looks at most of the same messages
def traits(message: Message) -> Traits | None:
    """None where nothing of the message is the writer's own."""
    text = message.bare.words.strip()
    if not text:
        return None
    low = text.lower()
    words = low.split()
    spoken = set(words[:READ])
    emoji = () if text.isascii() else tuple(dict.fromkeys(_EMOJI.findall(text)))
    shows = (
        text[0].islower(),
        text.islower(),
        "?" in text,
        "!" in text,
        "..." in text or "…" in text,
        text[-1].isalnum(),
        "\n\n" in text,
        "http" in low,
        bool(emoji),
        not _I.isdisjoint(spoken),
    )
    opener = _OPENER.match(low)
    stance = tuple(sorted({_SAID[word] for word in spoken & _SAID.keys()}))
    return Traits(
        len(words), shows, opener.group()[:20] if opener else "", emoji, stance, message.place, _hour(message)
    )


def card(messages: Iterable[Message]) -> str:
    """The habits that `messages` show, a line for each kind; "" where nobody says anything. Plain sentences of ours:
    of the texts only words of letters, emoji and community names get in."""
    found = [t for m in messages if (t := traits(m))]
    if not found:
        return ""
    lines = [_length([t.words for t in found])]
    shown = list(zip(HABITS, map(sum, zip(*(t.shows for t in found), strict=True)), strict=True))
    lines.append(_listed("Often", [habit for habit, n in shown if n >= OFTEN * len(found)]))
    lines.append(_listed("Never", [habit for habit, n in shown if not n and len(found) >= FEW]))
    lines.append(_listed("Often begins with", _most((t.opener for t in found), 3)))
    said = _most((word for t in found for word in t.stance), 4)
    lines.append(_listed("Stance", [f"{word} ({_GROUP[word]})" for word in said]))
    lines.append(_listed("Favourite emoji", _most((one for t in found for one in t.emoji), 3)))
    lines.append(_listed("Writes in", [label(place) for place in _most((t.place for t in found), 3, least=1)]))
    [hours] = _most((f"{t.hour:02}:00 and {t.hour + 6:02}:00" for t in found), 1, least=1)
    lines.append(f"Mostly between {hours} UTC.")
    return "\n".join(line for line in lines if line)


def _length(words: Sequence[int]) -> str:
    ordered, n = sorted(words), len(words)
    low, middle, high = (ordered[n * quarter // 4] for quarter in (1, 2, 3))
    return f"Usually about {middle} words" + (f", half of the messages {low} to {high}." if n >= FEW else ".")


def _most(found: Iterable[str], k: int, least: int = 2) -> list[str]:
    """The k commonest of what was found at least `least` times; ties by name."""
    counts = Counter(filter(None, found))
    return [one for one, n in sorted(counts.items(), key=lambda c: (-c[1], c[0]))[:k] if n >= least]


def _listed(what: str, items: Sequence[str]) -> str:
    return f"{what}: {', '.join(items)}." if items else ""


def _hour(message: Message) -> int:
    """The first hour of the quarter of the day, UTC."""
    return datetime.fromtimestamp(message.time, UTC).hour // 6 * 6
