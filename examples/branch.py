"""What if somebody had said something else? A run and a branch of it that differ from one turn on, side by side.

python examples/branch.py [CORPUS]
"""

from __future__ import annotations

import sys
from pathlib import Path

from evaluation.cli import guarded
from evaluation.results import make
from evaluation.running import import_sample, play
from simulator import runlog
from simulator.interventions import Memory
from simulator.llm import LLM
from simulator.manifest import RunSpec

AT = 3  # the first turn that differs; those before it are copied from the first run, not asked again


def main(corpus: Path, out: Path, llm: LLM | None = None) -> None:
    spec = RunSpec(mode="rollout", retriever="bm25:k=3", threads=1, max_turns=4)
    play(spec, corpus, out / "as_it_was", probes=["none"], llm=llm)
    change = Memory(do="memory", at=AT, retriever="none")
    branch = RunSpec(mode="branch", parent=str(out / "as_it_was"), interventions=(change,))
    play(branch, corpus, out / "without_memory", probes=["none"], llm=llm)
    turns = runlog.turns(out / "without_memory")
    shared = sum(bool(turn.copied) for turn in turns)
    print(f"{shared} turns shared, {len(turns) - shared} played anew")
    print(f"both arms side by side: {make(out / 'without_memory').report}")


if __name__ == "__main__":
    given = sys.argv[1:]
    where = Path(given[0]) if given else Path("demo/corpus")
    sys.exit(guarded(lambda: main(where if given else import_sample(where), Path("runs/branch"))))
