"""A sitting of a run, from its models to its end: what is recorded or replayed, which budgets hold, what is shown."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from evaluation import tasks
from evaluation.console import Live, watch
from evaluation.growing import Growing
from evaluation.likeness import LATEST, likeness
from evaluation.stopping import stoppable
from memory.errors import BadInput
from memory.store import MemoryStore
from simulator.branch import settled
from simulator.budget import Budgeted, Ledger, Limits
from simulator.events import Emit, Event, ignore, writer
from simulator.identity import Identity
from simulator.llm import LLM
from simulator.manifest import RunSpec
from simulator.prices import Prices
from simulator.recording import Recorded, Recording, Replayed
from simulator.records import Ask
from simulator.run import Progress, simulate
from simulator.setting import model_names
from simulator.wrappers import Metered, Retried, Usage


@dataclass(frozen=True)
class Sitting:
    """How one sitting of a run is made and shown; nothing of it decides an answer. `replay`: ask no model at all."""

    record: Path | None = None
    replay: Path | None = None
    any_endpoint: bool = False
    limits: Limits = field(default_factory=Limits)
    prices: Prices | None = None
    events: str = ""  # a file, or - for standard output, which then has nothing else
    tree: bool = False  # show the growing threads

    def recording(self) -> Recording | None:
        """Raises BadInput for two at once, and what Recording raises."""
        if self.record and self.replay:
            raise BadInput("--record and --replay exclude each other: what is in a recorded file is not asked again")
        file = self.record or self.replay
        return Recording(file, record=self.record is not None, any_endpoint=self.any_endpoint) if file else None


@dataclass(frozen=True)
class Played:
    """What came of a sitting. `usage` is of this sitting, the ledger's tokens and cost are of all of them."""

    progress: Progress
    usage: Usage
    ledger: Ledger
    seconds: float


class Patience(Protocol):
    """How long and how often a call is tried: of a RunSpec, or of a benchmark's."""

    @property
    def timeout(self) -> float: ...
    @property
    def attempts(self) -> int: ...


@dataclass
class Models:
    """Opens the models of a run, each under the same retries, budget, meter and recording. Close it in the end."""

    spec: Patience
    ledger: Ledger
    usage: Usage = field(default_factory=Usage)
    recording: Recording | None = None
    _open: list[LLM] = field(default_factory=list)

    def open(self, name: str, base_url: str | None = None, given: LLM | None = None) -> LLM:
        """The model called `name`, or the one `given` in its place."""
        from simulator.models import identity

        replays = self.recording is not None and not self.recording.record
        who = Identity(given.name) if given else identity(name, base_url)
        llm = self._answering(who, name, base_url, given)
        self._open.append(llm)
        retried = Retried(Budgeted(Metered(llm, self.usage), self.ledger), self.spec.attempts)
        retried.sleep = _at_once if replays else self.ledger.sleep
        return retried

    def _answering(self, who: Identity, name: str, base_url: str | None, given: LLM | None) -> LLM:
        from simulator.models import open_llm

        if self.recording is not None and not self.recording.record:
            return Replayed(self.recording, who)
        bare = given or open_llm(name, base_url, self.spec.timeout)
        return Recorded(bare, self.recording, who) if self.recording else bare

    async def close(self) -> None:
        for llm in self._open:
            await llm.close()
        self.ledger.close()
        if self.recording:
            self.recording.close()


def located(name: str) -> tuple[str, str | None]:
    """ "openai:my-model@http://127.0.0.1:8000/v1" as model and endpoint; None for the provider's own."""
    model, _, url = name.partition("@")
    return model, url or None


async def _at_once(seconds: float) -> None:
    """Instead of a wait between attempts, where nobody is there to wait for."""


def sit(
    spec: RunSpec, corpus: Path, out: Path, asks: tuple[Ask, ...], sitting: Sitting, llm: LLM | None = None
) -> Played:
    """Simulates with progress shown. `llm` instead of the model that `spec` names: a fake, or one already open."""
    ledger = Ledger(out, sitting.limits, sitting.prices)
    models = Models(spec, ledger, recording=sitting.recording())
    store = MemoryStore.open(corpus)
    began = time.monotonic()
    try:
        progress = asyncio.run(_sit(spec, store, out, asks, models, llm, sitting))
    finally:
        store.close()
    return Played(progress, models.usage, ledger, time.monotonic() - began)


async def _sit(  # noqa: PLR0913 - the parts of one sitting
    spec: RunSpec,
    store: MemoryStore,
    out: Path,
    asks: Sequence[Ask],
    models: Models,
    llm: LLM | None,
    sitting: Sitting,
) -> Progress:
    try:
        whole = settled(spec)
        model = models.open(whole.model, whole.base_url, llm)
        others = {name: models.open(*located(name)) for name in model_names(whole)}
        with stoppable(), _stream(sitting.events) as write, Live(stderr=sitting.events == "-") as live:
            grow = Growing(live, partial(_like, store)) if sitting.tree else ignore
            live.above = grow.shown if isinstance(grow, Growing) else None

            def emit(event: Event) -> None:
                write(event)
                grow(event)

            seen, read = watch(live, models.usage, spec.mode), tasks.load("impact").read
            return await simulate(
                spec, store, model, asks, out, seen, emit, models.ledger.prices, models=others, score=read
            )
    finally:
        await models.close()


@contextmanager
def _stream(target: str) -> Iterator[Emit]:
    if not target:
        yield ignore
    elif target == "-":
        yield writer(sys.stdout.buffer)
    else:
        with Path(target).open("ab") as file:
            yield writer(file)


def _like(store: MemoryStore, author: str, before: int, text: str) -> float | None:
    """How like the author's own earlier messages a text is."""
    return likeness(
        text, [m.bare.words for m in store.history(author, before=before, strangers=True).messages[-LATEST:]]
    )
