"""A made-up corpus of any size, written as an import writes it but for Chroma: its vectors are drawn, not encoded.

Chroma needs more than 12 minutes for a million rows, and no read of a past asks it; everything else is the real thing.
"""

from __future__ import annotations

import random
import re
import zlib
from collections.abc import Iterable, Iterator
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np

from memory import sample
from memory.encoding import encode
from memory.readers import pushshift
from memory.reading import Row, Source, Tally
from memory.recall import Vectors
from memory.record import STAGING, Record
from memory.state import publish
from memory.writing import write

DIM = 384
FIXED, HELD = "fixed", 600  # a person with as many messages in every corpus
START, SPAN = 1_500_000_000, 3 * 365 * 86_400
_COMMON = """i you the a to of it that is was in for on not but they we have with this are be so just like what all
if my do me can your no about out up get one would there people think know good time really because more who how when"""
_WORDS = re.findall(r"\w+", _COMMON)


class Drawn:
    """Stands in for a model: unit vectors by lot, the same in every process."""

    dim = DIM

    def __call__(self, texts: list[str]) -> Vectors:
        drawn = np.random.default_rng(zlib.crc32(texts[0].encode())).standard_normal((len(texts), DIM), np.float32)
        found: Vectors = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        return found


def rows(messages: int, people: int, seed: int = 0, first: int = 0) -> Iterator[Row]:
    """Threads of one post and 19 comments; who writes is drawn log-normally, so that histories differ as real ones."""
    dice = random.Random(f"{seed}:{first}")
    weights = np.random.default_rng(seed).lognormal(0, 1, people).cumsum().tolist()
    names = [f"person{n}" for n in range(people)]
    for n in range(first, first + messages):
        post = f"t3_{n - n % 20}"
        time = START + int(SPAN * n / max(1, first + messages))
        own = n >= first + HELD or n % 20 == 0  # FIXED speaks early, in the first threads only
        [author] = dice.choices(names, cum_weights=weights) if own else [FIXED]
        words = " ".join(dice.choices(_WORDS, k=min(200, int(dice.lognormvariate(2.7, 1)) + 2))) + f" {n}"
        if n % 20:
            parent = f"t1_{n - 1}" if n % 20 > 1 and n % 3 else post
            yield Row(f"t1_{n}", post, parent, author, time, words, n % 50, "place", "comment", "", None, n)
        else:
            yield Row(post, post, None, author, time, words, n % 50, "place", "post", f"question {n}", None, n)


def copies(times: int) -> Iterator[Row]:
    """The shipped sample so many times, each by people and in threads of its own but the first: real texts, and few
    messages of each person."""
    held = [row for file in sample.paths() for row in pushshift.read(Source(file), Tally())]
    for n in range(times):
        mark = f"x{n}" if n else ""
        for row in held:
            other = copy(row)
            other.id, other.thread = row.id + mark, row.thread and row.thread + mark
            other.parent, other.author = row.parent and row.parent + mark, row.author and row.author + mark
            yield other


def corpus(out: Path, messages: int, people: int, seed: int = 0) -> Path:
    """Writes a corpus that MemoryStore opens; `bag` encodes what is new. Returns `out`."""
    return corpus_of(out, rows(messages, people, seed))


def corpus_of(out: Path, made: Iterable[Row]) -> Path:
    """The corpus of any rows."""
    folder = out / "segment-000001"
    folder.mkdir(parents=True)
    record, tally = Record(folder / STAGING, None), Tally()
    record.add(made, "made")
    contents = segment(record, folder, tally)
    record.close()
    (folder / STAGING).unlink()
    stamp = {"name": "bag", "stamp": "bag-384@1", "dim": DIM}
    manifest = {"segments": [folder.name], "embedder": stamp, "keep_names": True, "sources": [], **contents}
    publish(out, {**manifest, "report": [], "problems": []}, [folder])
    return out


def segment(record: Record, folder: Path, tally: Tally) -> dict[str, Any]:
    """All that an import does to a record once its sources are read, but for Chroma; the contents."""
    record.mend(tally)
    record.rename()
    written = write(folder, record, {}, lambda done, total: None)
    encode(written, Drawn(), [], None, lambda done, total: None)
    return written.contents
