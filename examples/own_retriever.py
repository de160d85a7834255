"""Write your own retriever: a dataclass that is called with a History and a query. No base class, no registration.

python examples/own_retriever.py [CORPUS], or: personaconv simulate ... --retriever examples.own_retriever:Longest:k=2
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from evaluation.cli import guarded
from evaluation.running import import_sample, play
from memory.recall import History, Recalled
from simulator import runlog
from simulator.llm import LLM
from simulator.manifest import RunSpec


@dataclass(frozen=True)
class Longest:
    """The k longest messages: somebody who wrote at length showed most of themselves. It can only see the past."""

    k: int = 3

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        longest = sorted(history.messages, key=lambda m: (-len(m.words), m.id))[: self.k]
        return [Recalled(m, float(len(m.words)), {"characters": float(len(m.words))}) for m in longest]


def main(corpus: Path, out: Path, llm: LLM | None = None) -> None:
    spec = RunSpec(retriever="examples.own_retriever:Longest:k=2", threads=1, max_turns=3)
    play(spec, corpus, out, probes=["none"], llm=llm)
    for turn in runlog.turns(out):
        recalled = ", ".join(f"{item.id} ({item.terms['characters']:.0f} characters)" for item in turn.recalled)
        print(f"{turn.slot.author} had {turn.history} earlier messages and remembered {recalled or 'nothing'}")


if __name__ == "__main__":
    given = sys.argv[1:]
    where = Path(given[0]) if given else Path("demo/corpus")
    sys.exit(guarded(lambda: main(where if given else import_sample(where), Path("runs/own"))))
