"""JSON that does not decode as it stands: what can be mended is, and each repair and each loss is noted."""

from __future__ import annotations

import json
import re
from typing import Any

from memory.reading import CUT, Tally

BOM = b"\xef\xbb\xbf"
_LONE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)


def mend(raw: bytes, where: str, whole: bool, tally: Tally) -> list[Any]:
    """The JSON values of a line or element that did not decode; notes what was done, or why nothing could be."""
    clean = raw.strip(b"\0 \t\r")
    done = ["NUL bytes around the row removed"] if b"\0" in raw[:1] + raw[-1:] and clean else []
    if clean.startswith(BOM):
        clean = clean.removeprefix(BOM)
        done.append("byte order mark removed")
    if not clean:
        if b"\0" in raw:
            tally.note("dropped", "NUL bytes where a row should be", where)
        else:
            tally.note("passed over", "a blank line", where)
        return []
    if _LONE.search(clean):
        clean = _lone(clean)
        done.append("half of a surrogate pair replaced")
    try:
        text = clean.decode()
    except UnicodeDecodeError:
        text = clean.decode(errors="replace")
        done.append("invalid UTF-8 replaced")
    found, good = _values(text)
    if not good:
        tally.note("dropped", "not JSON" if whole else f"{CUT} (last line)", where)
    if len(found) > 1:
        done.append("several objects on one line")
    if found:
        for reason in done:
            tally.note("repaired", reason, where)
    return found


def _lone(clean: bytes) -> bytes:
    """Halves of surrogate pairs, escaped as \\udXXX, become U+FFFD; an escaped backslash before "u" is left alone."""

    def swap(match: re.Match[bytes]) -> bytes:
        before = clean[: match.start()]
        backslashes = len(before) - len(before.rstrip(b"\\"))
        return match[0] if backslashes % 2 else b"\\ufffd"

    return _LONE.sub(swap, clean)


def _values(text: str) -> tuple[list[Any], bool]:
    """The JSON values standing in `text` one after another, and whether that was all of it."""
    decoder, found, at = json.JSONDecoder(strict=False), list[Any](), 0
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return found, False
        found.append(value)
        while at < len(text) and text[at] in " \t\r\n,\0":
            at += 1
    return found, True
