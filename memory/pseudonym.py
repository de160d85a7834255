"""Names out, pseudonyms in: keyed, so that nobody without the key can tell who is who, and stable for one corpus."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import string
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memory.errors import BadInput
from memory.words import Positions, Words

_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PHONE = re.compile(
    r"(?<![\w.+/=-])(?:\+\d{1,3}(?:[ .-]?\(?\d{2,4}\)?){2,5}"  # +44 20 7946 0000
    r"|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4})"  # (555) 010-1234
    r"(?![\w-]|\.\d)"
)
# What suspects() makes of characters that stand beside a digit, a "_" or a "/".
_LETTER, _HYPHEN, _DIGIT, _GAP, _U, _SIGN, _OTHER = 1, 2, 4, 8, 16, 32, 64
_ADDRESS = _LETTER | _HYPHEN | _DIGIT | _SIGN | _OTHER  # what stands beside the "@" of an e-mail address
_KINDS = np.zeros(256, np.uint8)
for _kind, _of in (
    (_LETTER, string.ascii_letters),
    (_HYPHEN, "-"),
    (_DIGIT, string.digits),
    (_GAP, " .-"),
    (_U, "uU"),
    (_SIGN, "._+"),
):
    _KINDS[[*_of.encode()]] |= _kind
_KINDS[128:] |= _OTHER  # of letters and digits of other scripts, among others
_EDGE = bytes(6)
_AROUND = (-3, -1, 1, 4)  # where digits stand beside the last gap of 555-0101
_OTHER_DIGIT = re.compile(r"[^\D0-9]")

_BASE32 = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz234567", np.uint8)
_FIVE_BITS = np.array([16, 8, 4, 2, 1], np.uint8)

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


def pseudonyms(digests: Sequence[bytes], length: int) -> list[str]:
    """ "u_" and the first `length` (up to 51) letters of each digest (32 bytes) in base32, five bits each."""
    together = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32)
    bits = np.unpackbits(together[:, : length * 5 // 8 + 1], axis=1)[:, : 5 * length]
    letters = _BASE32[bits.reshape(-1, 5) @ _FIVE_BITS].tobytes().decode()
    return ["u_" + letters[at : at + length] for at in range(0, len(letters), length)]


def is_bot(name: str) -> bool:
    """AutoModerator, some known ones, and names ending in the word bot: RemindMeBot, haiku-bot; not talbot."""
    folded = name.casefold()
    return folded in _KNOWN_BOTS or ("bot" in folded and _BOT.search(name) is not None)


def suspects(words: Words) -> tuple[Positions, Positions]:
    """Positions, ascending, of all texts that scrub() may change, and of all with mentions, each with some more: told
    by the neighbours of digits, "_" and "/" in all of them at once, for a twentieth of what looking at each costs."""
    codes = np.frombuffer(b"".join((_EDGE, words.utf8, _EDGE)), np.uint8)  # so that every byte has neighbours
    at = np.flatnonzero((codes - ord("/") <= ord("9") - ord("/")) | (codes == ord("_")))
    before, after = _KINDS[codes[at - 1]], _KINDS[codes[at + 1]]
    names = at[np.where(codes[at] == ord("/"), before & _U, (before | after) & (_LETTER | _HYPHEN)) != 0]
    gaps = at[after & _GAP != 0] + 1
    gaps = gaps[(_KINDS[codes[gaps[:, np.newaxis] + _AROUND]] & _DIGIT).all(1)]
    marks, plus = words.places(b"@") + len(_EDGE), words.places(b"+") + len(_EDGE)
    mail = marks[(_KINDS[codes[marks - 1]] & _ADDRESS != 0) & (_KINDS[codes[marks + 1]] & _ADDRESS != 0)]
    plus = plus[_KINDS[codes[plus + 1]] & (_DIGIT | _OTHER) != 0]
    scrubbed = words.holding(*(some - len(_EDGE) for some in (mail, plus, gaps)))
    if not words.utf8.isascii() and _OTHER_DIGIT.search(codes[codes > 127].tobytes().decode()):
        scrubbed |= [_OTHER_DIGIT.search(text) is not None for text in words.texts()]
    return np.flatnonzero(scrubbed), np.flatnonzero(words.holding(*(some - len(_EDGE) for some in (marks, names))))


def scrub(text: str) -> str:
    """E-mail addresses and telephone numbers as [email] and [phone]."""
    if "@" in text:
        text = _MAIL.sub("[email]", text)
    return _PHONE.sub("[phone]", text)
