"""The lines of a dump that are comments like nearly all, decoded and settled many at a time; the others are left alone.

What comes out is what fields.row() makes of each line, in half to two thirds of the time: none is looked at by itself.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from memory.batch import Batch
from memory.columns import authors, decoded, fullnames, numbers, texts
from memory.fields import FAR, MILLISECONDS
from memory.stored import UNKNOWN

_Seconds = Annotated[int, Meta(ge=0, lt=MILLISECONDS)]


class Comment(msgspec.Struct, gc=False, kw_only=True):
    """A line of the usual kind, its fields in the order of dumps, which is quicker. Any other (a post, a time as text,
    a score that is none) does not decode."""

    author: Annotated[str, Meta(min_length=1)]
    body: str
    created_utc: Annotated[int, Meta(gt=0, lt=MILLISECONDS)]
    id: Annotated[str, Meta(min_length=1)]
    link_id: str
    parent_id: str
    retrieved_on: _Seconds | None = 0
    retrieved_utc: _Seconds | None = 0
    score: Annotated[int, Meta(gt=-FAR, lt=FAR)] | None
    score_hidden: bool = False
    selftext: None = None
    subreddit: str
    title: None = None


_DECODE = msgspec.json.Decoder(Comment).decode_lines
_MANY = len(Comment.__struct_fields__)


def comments(lines: bytes, number: int) -> Batch | None:
    """These lines, of which the first is `number`; None where one of them is not usual."""
    columns = decoded(lines, _DECODE, _MANY)
    if columns is None:
        return None
    names, said, time, id, thread, parent, on, utc, score, hidden, _, place, _ = columns
    if "_" in "".join(id):
        return None
    ids = fullnames("\t".join(["t1_" + "\tt1_".join(id), *thread, *parent, ""]), len(id))
    people, words = authors(names), texts(said)
    if ids is None or people is None:
        return None
    scores = numbers(score, UNKNOWN)
    if any(hidden):
        scores[hidden] = UNKNOWN
    seen = [first or second for first, second in zip(on, utc, strict=True)] if any(utc) and not all(on) else on
    titles, post = [""] * len(id), np.zeros(len(id), bool)
    return Batch(
        ids[0], ids[1], ids[2], people, numbers(time), words, scores, place, numbers(seen), number, titles, post
    )
