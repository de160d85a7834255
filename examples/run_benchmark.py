"""PersonaConvBench, corrected: the same items without memory, with one's own, with somebody else's; baselines beside.

python examples/run_benchmark.py [CORPUS [MODEL [BASE_URL]]], e.g. demo/corpus openai:llama http://127.0.0.1:8000/v1
"""

from __future__ import annotations

import sys
from pathlib import Path

from evaluation.benchmark.command import bench
from evaluation.benchmark.spec import BenchSpec
from evaluation.cli import guarded
from evaluation.running import import_sample
from simulator.llm import LLM

SPEC = BenchSpec(settings=("none/tree", "own/tree", "other/tree"), policies=("dense:k=3",), items=5)


def main(corpus: Path, out: Path, spec: BenchSpec = SPEC, llm: LLM | None = None) -> None:
    given = spec.model_copy(update={"data": str(corpus)})
    bench(given, out, (lambda name: llm) if llm else None, show_published=True)


if __name__ == "__main__":
    corpus, model, base_url = [*sys.argv[1:], *(None,) * 3][:3]
    more = {"models": (model,), "base_url": base_url, "concurrency": 16} if model else {}
    asked = BenchSpec.of(SPEC.model_dump() | more)
    place = Path(corpus or "demo/corpus")
    sys.exit(guarded(lambda: main(place if corpus else import_sample(place), Path("runs/benchmark"), asked)))
