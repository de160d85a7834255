"""Names out, pseudonyms in: keyed, so that nobody without the key can tell who is who, and stable for one corpus."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import string
from base64 import b32encode
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory.errors import BadInput

NAME = r"[A-Za-z0-9_][A-Za-z0-9_-]{1,31}"
_MENTION = re.compile(rf"(?<![\w/])(/?[uU]/|@)({NAME})")
_ODD = re.compile(r"(?<![\w@/.-])(?=[A-Za-z_-]*[0-9_])(?=[0-9_-]*[A-Za-z])[A-Za-z0-9_-]{5,32}(?![\w-])")
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(
    r"(?<![\w.+/=-])(?:\+\d{1,3}(?:[ .-]?\(?\d{2,4}\)?){2,5}"  # +44 20 7946 0000
    r"|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4})"  # (555) 010-1234
    r"(?![\w-]|\.\d)"
)
# What suspects() makes of characters: pairs of these are what a name or a number cannot do without.
_LETTER, _DIGIT, _HYPHEN, _AT, _SLASH, _U = 1, 2, 4, 8, 16, 32
_KIND = {**dict.fromkeys(b"0123456789_", _DIGIT), **dict.fromkeys(b"uU", _LETTER | _U)}
_KIND = {
    **dict.fromkeys(string.ascii_letters.encode(), _LETTER),
    ord("-"): _HYPHEN,
    ord("@"): _AT,
    ord("/"): _SLASH,
} | _KIND
_KINDS = bytes(_KIND.get(c, 0) for c in range(256))
_PHONES = bytes({**dict.fromkeys(b"0123456789", 48), **dict.fromkeys(b" .-", 45), 43: 43}.get(c, 0) for c in range(256))
_OTHER_DIGIT = re.compile(r"[^\D0-9]")
Positions = NDArray[np.int64]

_BOT = re.compile(r"(?:[_-][bB][oO][tT]|[a-z0-9]B(?:ot|OT)|^[bB][oO][tT])[0-9]*$")
_KNOWN_BOTS = frozenset({"automoderator", "autotldr", "sneakpeekbot", "reddit_bot", "imguralbumbot", "converter-bot"})


def key(file: Path) -> bytes:
    """The key in `file`; a new one is made, readable by its owner alone, where there is none.

    Raises:
        BadInput: the file holds something else.
    """
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as new:
            new.write(secrets.token_hex(32))
    except FileExistsError:
        pass
    try:
        found = bytes.fromhex(file.read_text())
    except ValueError:
        found = b""
    if len(found) != 32:
        raise BadInput(f"{file} does not hold a key of 64 hex digits; put the right file back")
    return found


def digest(key: bytes, name: str) -> bytes:
    """What `name` is, to those who hold the key: 32 bytes, the same for Bob and bob."""
    return hmac.digest(key, name.casefold().encode(errors="replace"), hashlib.sha256)


def pseudonym(digest: bytes, length: int = 8) -> str:
    """ "u_" and `length` base32 letters: 40 bits by default; a longer one where two people would share it."""
    return "u_" + b32encode(digest).decode().lower()[:length]


def is_bot(name: str) -> bool:
    """AutoModerator, some known ones, and names ending in the word bot: RemindMeBot, haiku-bot; not talbot."""
    return name.casefold() in _KNOWN_BOTS or _BOT.search(name) is not None


def suspects(texts: list[str]) -> tuple[Positions, Positions]:
    """Positions, ascending, of all `texts` that scrub() or mentions() may change, each with some that it does not: told
    by pairs of characters in all of them at once, for a tenth of what looking at each costs."""
    plain = "\n".join(texts).encode("ascii", "replace")
    starts = np.cumsum([0, *(len(text) + 1 for text in texts[:-1])])
    kinds = np.frombuffer(plain.translate(_KINDS), np.uint8)
    pairs = kinds[:-1] | kinds[1:]
    marks, known = np.flatnonzero(kinds == _AT), pairs & ~np.uint8(_U)
    names = np.flatnonzero((known == _LETTER | _DIGIT) | (known == _DIGIT | _HYPHEN) | (pairs == _LETTER | _U | _SLASH))
    digits = plain.translate(_PHONES)
    phones = np.array([*_finds(digits, b"+0"), *_finds(digits, b"000-0000")], np.int64)
    other = [n for n, text in enumerate(texts) if not text.isascii() and _OTHER_DIGIT.search(text)]

    def holding(*places: Positions) -> Positions:
        return np.searchsorted(starts, np.concatenate(places), "right") - 1

    return np.union1d(holding(marks, phones), np.array(other, np.int64)), np.unique(holding(marks, names))


def _finds(data: bytes, what: bytes) -> Iterator[int]:
    at = data.find(what)
    while at >= 0:
        yield at
        at = data.find(what, at + 1)


def scrub(text: str) -> str:
    """E-mail addresses and telephone numbers as [email] and [phone]."""
    if "@" in text:
        text = _MAIL.sub("[email]", text)
    return _PHONE.sub("[phone]", text)


def mentions(text: str, known: Callable[[str], str | None]) -> str:
    """`text` with u/name and @name, and odd names such as user_00012 on their own, as the pseudonym `known` gives.

    An ordinary word that is somebody's name (going, none) stays where it stands without a mark.
    """
    if "@" in text or "u/" in text or "U/" in text:
        text = _MENTION.sub(lambda m: m[1] + (known(m[2]) or m[2]), text)
    return _ODD.sub(lambda m: known(m[0]) or m[0], text)
