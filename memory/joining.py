"""What an import makes of the segments that are there: some are written again with its own, in the others rows die."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from memory.record import Record
from memory.segment import WORDS, Segment
from memory.state import new_folder

FLOOR = 2048  # messages that are sooner written again than kept apart
RATIO = 4  # a segment that is larger than so many times what is written stays as it is
MOST = 6  # segments; SQLite attaches ten files, and an import has one more


def joined(segments: Sequence[Segment], gone: dict[int, list[int]], new: int, floor: int = FLOOR) -> list[Segment]:
    """Those of `segments` to be written again in one with `new` messages: small ones beside it, so that there are few
    and each message is written again only as often as a quarter has come to it; and those that are half `gone`
    (number of the segment -> rows that are put right)."""
    left = {s.number: s.live - len(gone.get(s.number, ())) for s in segments}
    found = [s for s in segments if left[s.number] < len(s.rows) / 2]
    total = new + sum(left[s.number] for s in found)
    rest = sorted((s for s in segments if s not in found), key=lambda s: left[s.number])
    for at, segment in enumerate(rest):
        if left[segment.number] > max(floor, RATIO * total) and len(rest) - at < MOST:
            break
        found.append(segment)
        total += left[segment.number]
    return found


def overlay(corpus: Path, record: Record, gone: dict[int, list[int]], folder: Path) -> list[Path]:
    """The folders of the new state: `folder`, in which is written what is `gone` in the others, and these; one with
    words that nobody says any more is replaced by a copy without them."""
    unsaid, folders = record.unsaid(), list[Path]()
    rewritten = [s for s in record.attached if s not in record.kept]
    for s in record.kept:
        rows = [np.array(gone.get(s.number, []), np.int64)]
        place = s.folder
        if s.number in unsaid:
            place = new_folder(
                corpus, [folder.name, *(s.folder.name for s in record.attached), *(f.name for f in folders)]
            )
            _copy(s, place, unsaid[s.number])
            rows.append(s.dead)
        else:
            older = (other.folder / f"dead-{s.folder.name}.npy" for other in rewritten)
            rows += [np.load(file) for file in older if file.exists()]
        folders.append(place)
        if sum(map(len, rows)):
            np.save(folder / f"dead-{place.name}.npy", np.unique(np.concatenate(rows)))
    return [*folders, folder]


def _copy(segment: Segment, to: Path, without: list[int]) -> None:
    """`segment` without the words of some rows, whose bytes are overwritten; all else is shared."""
    for file in segment.folder.iterdir():
        if file.name != WORDS:
            os.link(file, to / file.name)
    shutil.copyfile(segment.folder / WORDS, to / WORDS)
    found = segment.rows.take(without)
    with (to / WORDS).open("r+b") as out:
        for start, size in zip(found["start"].tolist(), found["size"].tolist(), strict=True):
            out.seek(start)
            out.write(bytes(size))
