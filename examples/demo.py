"""make demo: the shipped sample, simulated threads on the embedded model, three probes, a report. No key, no network.

python examples/demo.py [FOLDER]. A run that was stopped goes on where it stopped; a new FOLDER starts a new one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from evaluation.cli import guarded
from evaluation.results import make
from evaluation.running import import_sample, play, show_cells
from simulator.llm import LLM
from simulator.manifest import RunSpec

SPEC = RunSpec(
    mode="rollout", model="embedded", retriever="dense:k=3", threads=3, max_turns=5,
    thread_tokens=350, memory_tokens=250, message_tokens=100, keep_prompts=True,
)  # fmt: skip


def main(folder: Path, spec: RunSpec = SPEC, llm: LLM | None = None) -> None:
    print("1 of 3  import the sample: three small Stack Exchange meta sites, CC BY-SA, people pseudonymous")
    corpus = import_sample(folder / "corpus")
    print(f"2 of 3  roll out {spec.threads} threads with persona agents, probe every turn")
    progress, usage = play(spec, corpus, folder / "run", llm=llm)
    made = progress.calls_done - progress.found
    print(f"        {made} calls made, {progress.found} found finished, {progress.failed} failed; ", end="")
    print(f"{usage.tokens_in:,} tokens in ({usage.cached:,} cached), {usage.tokens_out:,} out")
    print("3 of 3  score the turns, baselines beside them")
    made_of = make(folder / "run")
    show_cells(made_of.cells)
    print(f"\nreport      {made_of.report}\ntranscript  {made_of.transcript}")


if __name__ == "__main__":
    sys.exit(guarded(lambda: main(Path(sys.argv[1] if len(sys.argv) > 1 else "demo"))))
