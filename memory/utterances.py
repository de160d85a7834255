"""The lines of a ConvoKit corpus that are utterances like nearly all, many at a time; the others are left alone.

What comes out is what the reader (memory/readers/convokit.py) makes of each line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta, field

from memory.batch import Batch
from memory.columns import authors, decoded, fullnames, numbers, texts
from memory.fields import FAR, KINDS, MILLISECONDS
from memory.stored import UNKNOWN, WIDTH

REMOVED = ("[deleted]", "[removed]")  # what personaconv itself says where there is no text
_THREE = ord("3")
_Some = Annotated[str, Meta(min_length=1)]


class _About(msgspec.Struct, gc=False, kw_only=True):
    score: Annotated[int, Meta(gt=-FAR, lt=FAR)] | None = None
    retrieved_on: Annotated[int, Meta(gt=-FAR, lt=MILLISECONDS)] | None = 0
    subreddit: _Some


class Utterance(msgspec.Struct, gc=False, kw_only=True):
    """A line of the usual kind, its fields in the order of the corpora, which is quicker; "" where a field has the
    other spelling. Any other does not decode."""

    id: _Some
    conversation_id: _Some = ""
    root: _Some = ""
    text: str
    speaker: _Some = ""
    user: _Some = ""
    meta: _About
    reply_to: _Some | None = field(name="reply-to", default="")
    replied: _Some | None = field(name="reply_to", default=None)
    timestamp: Annotated[int, Meta(gt=0, lt=MILLISECONDS)]


_DECODE = msgspec.json.Decoder(Utterance).decode_lines
_MANY = len(Utterance.__struct_fields__)
_ABOUT = attrgetter(*_About.__struct_fields__)


@dataclass(frozen=True)
class Folder:
    """What is known of a corpus beside its utterances. `plain`: texts stand as they are. `title`: of a conversation."""

    plain: bool
    bots: frozenset[str]
    title: Callable[[str], str]


def utterances(lines: bytes, number: int, folder: Folder) -> Batch | None:
    """These lines, of which the first is `number`; None where one of them is not usual."""
    try:
        lines.decode()  # of what is skipped, nothing else tells that it is damaged
    except UnicodeDecodeError:
        return None
    columns = decoded(lines, _DECODE, _MANY)
    if columns is None:
        return None
    id, conversation, root, said, speaker, user, about, above, replied, time = columns
    roots = conversation if all(conversation) else [new or old for new, old in zip(conversation, root, strict=True)]
    names = speaker if all(speaker) else [new or old for new, old in zip(speaker, user, strict=True)]
    if "" in above:
        above = [old if new == "" else new for new, old in zip(above, replied, strict=True)]
    people, words = authors(names), _plain(said) if folder.plain else texts(said)
    if people is None or words is None or not all(roots) or not all(names):
        return None
    post = np.array([up is None and own == top for own, up, top in zip(id, above, roots, strict=True)])
    threads = [top if top[:3] in KINDS else "t3_" + top for top in roots]
    parents = [
        thread if up is None or up == top else up if up[:3] in KINDS else "t1_" + up
        for up, top, thread in zip(above, roots, threads, strict=True)
    ]
    own = [one if one[:3] in KINDS else "t1_" + one for one in id]
    titles, opened = [""] * len(id), np.flatnonzero(post).tolist()
    for n in opened:
        own[n], titles[n] = threads[n], folder.title(roots[n])
    ids = fullnames("\t".join([*own, *threads, *parents, ""]), len(id))
    if ids is None or ((ids.view(np.uint8)[0, 1::WIDTH] == _THREE) != post).any():
        return None
    ids[2, opened] = b""
    scores, retrieved, places = zip(*map(_ABOUT, about), strict=True)
    score, seen = numbers(scores, UNKNOWN), np.maximum(numbers(retrieved), 0)
    named = ids[0], ids[1], ids[2]
    return Batch(*named, people, numbers(time), words, score, [*places], seen, number, titles, post, folder.bots)


def _plain(said: list[str]) -> list[str | None] | None:
    return None if "\0" in "\n".join(said) else [None if one in REMOVED else one for one in said]
