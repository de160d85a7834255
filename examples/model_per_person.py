"""A different model for each persona: everybody is played by the first model, some people by models of their own.

python examples/model_per_person.py CORPUS [PERSON=PROVIDER:MODEL[@URL] ...]
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from evaluation.cli import guarded
from evaluation.running import play
from simulator import runlog
from simulator.llm import LLM
from simulator.manifest import RunSpec


def main(corpus: Path, out: Path, models: dict[str, str], llm: LLM | None = None) -> None:
    """`models`: person -> model. `llm` plays all others."""
    play(RunSpec(retriever="recency:k=3", threads=1, max_turns=4, models=models), corpus, out, probes=["none"], llm=llm)
    played = Counter((turn.slot.author, turn.model) for turn in runlog.turns(out))
    for (person, model), turns in sorted(played.items()):
        print(f"{person} was played by {model} in {turns} turns")


if __name__ == "__main__":
    corpus, *own = sys.argv[1:] or ["demo/corpus"]
    pairs = dict(given.partition("=")[::2] for given in own)
    sys.exit(guarded(lambda: main(Path(corpus), Path("runs/models"), pairs)))
