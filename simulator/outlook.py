"""How many turns a run will have: of a few threads it is read, the others are taken to be like these until they end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from simulator.finished import Job

READ = 50  # threads that are read before the first turn; ten thousand would take seconds


@dataclass(frozen=True)
class Outlook:
    """`read`: turns of the threads that were read. `usual`: of any other. 0: cannot be told."""

    jobs: Sequence[Job]
    read: Mapping[str, int]
    usual: int

    @staticmethod
    def of(jobs: Sequence[Job], expected: Callable[[str], int]) -> Outlook:
        """`expected` gives the turns that a thread will have."""
        ids = list(dict.fromkeys(id for id, _ in jobs))
        read = {id: expected(id) for id in ids[:: -(-len(ids) // READ) or 1]}
        return Outlook(jobs, read, round(sum(read.values()) / len(read)) if read else 0)

    @property
    def turns(self) -> int:
        return sum(self.read.get(id, self.usual) for id, _ in self.jobs)

    def ended(self, id: str, turns: int) -> int:
        """What is to be added to the number told before, now that a thread has ended after `turns`."""
        told = self.read.get(id, self.usual)
        return turns - told if told else 0
