"""Names of people and communities made safe to look at: what could pass for another name is marked."""

from __future__ import annotations

import unicodedata

from evaluation.transcript import plain

_TOGETHER = {"CJK": "LATIN", "HIRAGANA": "LATIN", "KATAKANA": "LATIN", "HANGUL": "LATIN"}  # written beside it
_LIKE_LATIN = set("асеорхуіјѕһԁԛԝкмтвнгАВЕКМНОРСТУХІЈЅԌαονρικτυχγΑΒΕΖΗΙΚΜΝΟΡΤΥΧ")  # Cyrillic and Greek twins of Latin
_JOINERS = "\u200c\u200d"


def named(name: str) -> str:
    """`name` with invisible characters shown, and a mark behind it where its letters are of several scripts or all
    look like Latin ones without being any."""
    safe = "".join(f"<U+{ord(c):04X}>" if c in _JOINERS else c for c in plain(name, show=True))
    letters = [c for c in name if c.isalpha()]
    scripts = sorted({_script(c) for c in letters})
    if len(scripts) > 1:
        return f"{safe} [mixed scripts: {', '.join(s.capitalize() for s in scripts)}]"
    if letters and scripts[0] != "LATIN" and all(c in _LIKE_LATIN for c in letters):
        return f"{safe} [{scripts[0].capitalize()} letters that look Latin]"
    return safe


def _script(letter: str) -> str:
    """The first word of a letter's Unicode name, e.g. LATIN, CYRILLIC, FULLWIDTH, MATHEMATICAL."""
    first = unicodedata.name(letter, "unnamed").split(" ")[0].split("-")[0]
    return _TOGETHER.get(first, first)
