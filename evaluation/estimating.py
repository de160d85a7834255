"""personaconv simulate --dry-run: the calls, tokens and money that a run would take, with no model asked.

The run is played for real in a folder that is thrown away, over a model that only counts. What the run folder has
already is not asked again, so that an unfinished run is told what is left of it.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from evaluation import tasks
from evaluation.console import Live, watch
from evaluation.playing import located
from memory.store import MemoryStore
from simulator.asked import FILE as ASKED
from simulator.branch import settled
from simulator.estimate import EXPECTED, Dry, Expected
from simulator.llm import LLM
from simulator.manifest import RunSpec
from simulator.models import identity
from simulator.prices import Prices, cost
from simulator.profile import FILE as PROFILES
from simulator.records import Ask
from simulator.run import Progress, simulate
from simulator.runlog import LOG, MANIFEST
from simulator.setting import model_names
from simulator.shard import places
from simulator.wrappers import Metered, Usage


@dataclass(frozen=True)
class Estimate:
    """`usage`: of the calls still to be made. `cached` is what a prefix cache of the last few prompts would serve."""

    progress: Progress
    usage: Usage
    expected: Expected

    def lines(self, prices: Prices | None) -> Iterator[str]:
        progress, usage = self.progress, self.usage
        yield (
            f"a run of {progress.threads} threads: {usage.calls:,} calls still to be made"
            + (f", {progress.memory_calls} of them by the memory" if progress.memory_calls else "")
            + (f"; {progress.found:,} found in the log" if progress.found else "")
        )
        share, about = usage.cached / usage.tokens_in if usage.tokens_in else 0.0, self.expected
        yield (
            f"about {usage.tokens_in:,} tokens in ({share:.0%} in the reach of a prefix cache) and "
            f"{usage.tokens_out:,} out, where a message takes {about.share:.0%} of the tokens it may, an answer to a "
            f"probe {about.brief:.0%}"
        )
        if any(about.wrong):
            yield (
                f"of its messages {about.wrong[0]:.0%} do not stand and are asked for again, {about.wrong[1]:.0%} of "
                "those fail"
            )
        if prices:
            most = cost(Usage(tokens_in=usage.tokens_in, tokens_out=usage.tokens_out), prices) or 0.0
            yield f"about {cost(usage, prices) or 0.0:.4f} in the prices' currency, {most:.4f} if nothing is cached"
        yield "no model was asked"


def estimate(spec: RunSpec, corpus: Path, out: Path, asks: tuple[Ask, ...]) -> Estimate:
    """What `personaconv simulate` would do in `out` from here. Raises what simulate raises."""
    who = identity(spec.model, spec.base_url)
    expected = EXPECTED.get(spec.model, Expected())
    metered = Metered(Dry(who.model, expected))
    store = MemoryStore.open(corpus)
    try:
        with TemporaryDirectory() as folder, Live() as live:
            trial = Path(folder, "run")
            _copy(out, trial)
            seen = watch(live, metered.usage, "estimate")
            others: dict[str, LLM] = {
                name: Metered(Dry(identity(*located(name)).model, expected), metered.usage)
                for name in model_names(settled(spec))
            }
            read = tasks.load("impact").read
            progress = asyncio.run(simulate(spec, store, metered, asks, trial, seen, models=others, score=read))
    finally:
        store.close()
    return Estimate(progress, metered.usage, expected)


def _copy(run: Path, trial: Path) -> None:
    """What decides a run and what is finished of it."""
    for place in places(run):
        for name in (MANIFEST, LOG, PROFILES, ASKED):
            if (place / name).exists():
                target = trial / place.relative_to(run) / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(place / name, target)
