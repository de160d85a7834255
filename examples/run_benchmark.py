"""The three tasks of PersonaConvBench as probes in replay, corrected protocol: real context, strictly earlier memory.

python examples/run_benchmark.py [CORPUS [MODEL [BASE_URL]]], e.g. demo/corpus openai:llama http://127.0.0.1:8000/v1
"""

from __future__ import annotations

import sys
from pathlib import Path

from evaluation.cli import guarded
from evaluation.results import make
from evaluation.running import import_sample, play, show_cells
from simulator.llm import LLM
from simulator.manifest import RunSpec

SPEC = RunSpec(mode="replay", retriever="dense:k=3", threads=3, max_turns=5)


def main(corpus: Path, out: Path, spec: RunSpec = SPEC, llm: LLM | None = None) -> None:
    play(spec, corpus, out, probes=["sentiment", "impact"], llm=llm)
    made = make(out)
    show_cells(made.cells)
    print(made.report)


if __name__ == "__main__":
    given = dict(zip(("corpus", "model", "base_url"), sys.argv[1:], strict=False))
    where = Path(given.pop("corpus", "demo/corpus"))
    asked = RunSpec.of(SPEC.model_dump() | given | ({"concurrency": 16} if given else {}))
    sys.exit(guarded(lambda: main(where if sys.argv[1:] else import_sample(where), Path("runs/benchmark"), asked)))
