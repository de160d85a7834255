"""The finished calls of a run, by thread: where their lines lie, and the turns of those threads that are being played.

A run of ten thousand threads needs a few of them at a time: what a thread said is read when it is asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

import msgspec

from simulator.records import Key, Turn

Job = tuple[str, int]  # thread, repeat
_FILE = 48  # bits for the byte where a line begins; the number of its file stands above


class Finished(Mapping[Key, Turn]):
    """Turns by key. Those of a thread stay in memory from the first look at one of them until `drop`."""

    def __init__(self) -> None:
        self._files: list[Path] = []
        self._lines: dict[Job, array[int]] = {}
        self._held: dict[Job, dict[Key, Turn]] = {}

    def add(self, file: Path, at: int, turn: Turn) -> None:
        """The line of `turn` begins at byte `at` of `file`."""
        if file not in self._files:
            self._files.append(file)
        job = turn.slot.thread, turn.repeat
        self._lines.setdefault(job, array("Q")).append(self._files.index(file) << _FILE | at)
        if job in self._held:
            self._held[job][turn.key] = turn

    def lines(self, thread: str, repeat: int) -> int:
        """How many of a thread there are."""
        return len(self._lines.get((thread, repeat), ()))

    def drop(self, thread: str, repeat: int) -> None:
        """The thread has ended: its turns need not be at hand."""
        self._held.pop((thread, repeat), None)

    def __getitem__(self, key: Key) -> Turn:
        job = key[0], key[3]
        if job not in self._held:
            self._held[job] = self._read(job)
        return self._held[job][key]

    def __iter__(self) -> Iterator[Key]:
        for job in list(self._lines):
            yield from self._held.get(job) or self._read(job)

    def __len__(self) -> int:
        return sum(map(len, self._lines.values()))

    def of(self, thread: str, repeat: int) -> list[Turn]:
        """The turns of a thread, in the order in which they finished."""
        job = thread, repeat
        return list((self._held.get(job) or self._read(job)).values())

    def _read(self, job: Job) -> dict[Key, Turn]:
        found: dict[Key, Turn] = {}
        for number, places in groupby(self._lines.get(job, ()), key=lambda place: place >> _FILE):
            with self._files[number].open("rb") as file:
                for place in places:
                    file.seek(place & (1 << _FILE) - 1)
                    turn = msgspec.json.decode(file.readline(), type=Turn)
                    found[turn.key] = turn
        return found
