"""Simulate one thread: persona agents play everybody after the opening post; real and simulated are printed.

python examples/simulate_thread.py [CORPUS [THREAD]]
"""

from __future__ import annotations

import sys
from pathlib import Path

from evaluation.cli import guarded
from evaluation.results import transcripts
from evaluation.running import import_sample, play
from simulator.llm import LLM
from simulator.manifest import RunSpec


def main(corpus: Path, out: Path, thread: str | None = None, llm: LLM | None = None) -> None:
    spec = RunSpec(mode="rollout", retriever="bm25:k=3", threads=(thread,) if thread else 1, max_turns=4)
    progress, _ = play(spec, corpus, out, probes=["none"], llm=llm)
    print(transcripts(out))
    print(f"{progress.calls_done} turns, {progress.failed} failed; every one is a line of {out / 'log.ndjson'}")


if __name__ == "__main__":
    given = sys.argv[1:]
    where = Path(given[0]) if given else Path("demo/corpus")
    sys.exit(
        guarded(
            lambda: main(where if given else import_sample(where), Path("runs/thread"), given[1] if given[1:] else None)
        )
    )
