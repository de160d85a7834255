"""Write your own scheduler: an async generator that looks at a Floor and yields who speaks next, to whom and when.

python examples/own_scheduler.py [CORPUS], or: personaconv simulate ... --scheduler examples.own_scheduler:Interview
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.cli import guarded
from evaluation.results import transcripts
from evaluation.running import import_sample, play
from simulator.floor import Floor
from simulator.llm import LLM
from simulator.manifest import RunSpec
from simulator.records import Slot


@dataclass(frozen=True)
class Interview:
    """Everybody answers the opening post, side by side, and later rounds see what was posted before them.

    Chance comes from floor.random alone, so that a run that was stopped goes on as it would have."""

    rounds: int = 1

    async def __call__(self, floor: Floor) -> AsyncIterator[Sequence[Slot]]:
        opening = floor.thread.messages[0]
        for n in range(self.rounds):
            time, slots = floor.now, []
            for author in floor.people:
                if author != opening.author:
                    time += floor.pace.after(floor.random("delay", n))
                    slots.append(floor.slot(author, opening.id, time, f"{author} in round {n}"))
            yield slots
        floor.stop = "everybody was asked"


def main(corpus: Path, out: Path, people: int | tuple[str, ...] = 4, llm: LLM | None = None) -> None:
    """`people`: who takes part, or how many of those who were active before the thread opened."""
    spec = RunSpec(scheduler="examples.own_scheduler:Interview", retriever="recency:k=2", threads=1, people=people)
    play(spec, corpus, out, probes=["none"], llm=llm)
    print(transcripts(out))


if __name__ == "__main__":
    given = sys.argv[1:]
    where = Path(given[0]) if given else Path("demo/corpus")
    sys.exit(guarded(lambda: main(where if given else import_sample(where), Path("runs/interview"))))
