"""A run divided among processes: each plays its share of the threads, in a place of its own inside the run folder.

A whole run's place is the run folder itself. Lock, log and checkpoints lie in a place; the manifest in the run folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from memory.errors import BadInput
from memory.lock import free, held

T = TypeVar("T")


@dataclass(frozen=True)
class Shard:
    """The `i`th of `n` processes, from 1."""

    i: int = 1
    n: int = 1

    @staticmethod
    def of(text: str) -> Shard:
        """ "2/4" is the second of four. Raises BadInput for anything else."""
        i, _, n = text.partition("/")
        if not (i.isdecimal() and n.isdecimal() and 1 <= int(i) <= int(n)):
            raise BadInput(f"a shard is like 2/4, the second of four processes; found {text!r}")
        return Shard(int(i), int(n))

    def place(self, run: Path) -> Path:
        return run if self.n == 1 else run / f"shard-{self.i}-of-{self.n}"

    def share(self, jobs: Sequence[T]) -> list[T]:
        """Every `n`th of the jobs: each is in exactly one share."""
        return list(jobs[self.i - 1 :: self.n])


def places(run: Path) -> list[Path]:
    """Where lines of the run may lie: the run folder, then its shards by name."""
    return [run, *sorted(run.glob("shard-*-of-*"))]


@contextmanager
def playing(run: Path, shard: Shard, command: str) -> Iterator[Path]:
    """The shard's place, held for `command` until the block ends.

    Raises:
        Busy: another process plays this share, or the run is being played in another number of shares.
    """
    place = shard.place(run)
    with held(place, command):
        fellows = {Shard(i + 1, shard.n).place(run) for i in range(shard.n)}
        for other in set(places(run)) - fellows:
            free(other)  # it would play threads of this share; the later of two that look finds the other
        yield place
