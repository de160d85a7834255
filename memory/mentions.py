"""Who is named in texts: u/name, @name, and odd names such as user_00012 on their own."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

_NAME = r"[A-Za-z0-9_][A-Za-z0-9_-]{1,31}"
_MENTION = re.compile(rf"(?<![\w/])(/?[uU]/|@)({_NAME})")
_LEAST = 5  # characters of an odd name
_ODD = re.compile(rf"(?<![\w@/.-])(?=[A-Za-z_-]*[0-9_])(?=[0-9_-]*[A-Za-z])[A-Za-z0-9_-]{{{_LEAST},32}}(?![\w-])")
# What mentions() makes of bytes. An odd name is a run of _LETTER (or "-") and _MARK, and has a place where both meet.
_LETTER, _MARK, _AT, _SLASH, _U = 1, 2, 4, 8, 16
_RUN = _LETTER | _MARK
_KINDS = bytearray(256)
for _kind, _of in (
    (_LETTER, string.ascii_letters + "-"),
    (_MARK, string.digits + "_"),
    (_AT, "@"),
    (_SLASH, "/"),
    (_U, "uU"),
):
    for _byte in _of.encode():
        _KINDS[_byte] |= _kind
_WIDE = 4  # bytes of a character, at most


class Mention(NamedTuple):
    """The bytes from `start` to before `end` of a text are a `name`."""

    text: int
    start: int
    end: int
    name: str


def mentions(texts: Sequence[bytes]) -> list[Mention]:
    """All in these texts (UTF-8), in their order: u/name and @name, and odd names such as user_00012 on their own. They
    are found in all texts at once, for a tenth of what looking at each costs.

    An ordinary word that is somebody's name (going, none) and has no mark is none.
    """
    joined = b"\n".join((b"\n" * (_WIDE - 1), *texts, b""))  # so that every byte has neighbours
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    ends = np.cumsum(sizes + 1) + _WIDE - 1
    kinds = np.frombuffer(joined.translate(_KINDS), np.uint8)
    at = np.flatnonzero(kinds & (_MARK | _AT | _SLASH))
    kind, before, after = kinds[at], kinds[at - 1], kinds[at + 1]
    found = list[Mention]()

    signs = ((kind == _AT) | ((kind == _SLASH) & (before & _U != 0))) & (after & _RUN != 0)
    for n in np.unique(np.searchsorted(ends, at[signs])).tolist():
        text = texts[n].decode()
        for match in _MENTION.finditer(text):
            start = len(text[: match.start(2)].encode())
            found.append(Mention(n, start, start + len(match[2]), match[2]))

    gaps = np.flatnonzero(kinds & _RUN == 0)  # around runs
    closing = np.unique(np.searchsorted(gaps, at[(kind == _MARK) & ((before | after) & _LETTER != 0)]))
    first, last = gaps[closing - 1] + 1, gaps[closing]
    long = last - first >= _LEAST
    first, last = first[long], last[long]
    of = np.searchsorted(ends, last)
    begin = (ends - sizes)[of]
    # Whether it is one hangs on the characters on both sides, and these may be letters of any script.
    for n, start, end, offset in zip(*(some.tolist() for some in (of, first, last, begin)), strict=True):
        if odd := _ODD.search(joined[start - _WIDE : end + _WIDE].decode(errors="ignore")):
            found.append(Mention(n, start - offset, end - offset, odd[0]))
    return sorted(found)


def replaced(text: bytes, spans: Iterable[tuple[int, int, bytes]]) -> bytes:
    """`text` with something else for the bytes from one place to before another, in their order."""
    pieces, at = list[bytes](), 0
    for start, end, new in spans:
        pieces += text[at:start], new
        at = end
    return b"".join((*pieces, text[at:]))
