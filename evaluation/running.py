"""What the command and the examples share: a run with its progress shown, a table printed, the policies listed."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import memory.retrievers
import simulator.schedulers
from evaluation import tasks
from evaluation.console import Live, show
from evaluation.metrics import headline
from evaluation.options import opted, split
from evaluation.playing import Sitting, sit
from memory import policy
from simulator.llm import LLM
from simulator.manifest import RunSpec
from simulator.records import Ask
from simulator.run import Progress
from simulator.wrappers import Usage

if TYPE_CHECKING:
    from evaluation.scoring import Cell

_SENTENCE_END = re.compile(r"\.\s+(?=[A-Z])")  # "et al. 2023" goes on
PROBES = ("sentiment", "impact")
ONE_LINE = 100  # tokens


def asks(probes: Sequence[str] | None = None, model: str = "", templates: str | None = None) -> tuple[Ask, ...]:
    """The reply and the named probes (default: all), in the order of asking. "none": the reply alone.

    Of the embedded `model` a reply is one line of at most ONE_LINE tokens: it seldom ends by itself, and a message
    that is not at its end is a failed turn (23 of 30 replies were)."""
    wanted = PROBES if not probes else () if list(probes) == ["none"] else tuple(probes)
    named = dict(split(probe) for probe in wanted)
    folder = Path(templates) if templates else None
    found = [
        opted(tasks.ask(name, folder), named.get(name, {}))
        for name in ("generation", *(n for n in named if n != "generation"))
    ]
    if model == "embedded":
        found[0] = dataclasses.replace(found[0], stop=("\n",), max_tokens=ONE_LINE)
    return tuple(found)


def import_sample(out: Path, embedder: str = "minilm") -> Path:
    """The shipped sample as a corpus in `out`, made with progress shown where it is not there yet. Returns `out`.

    Its names are pseudonyms already; kept as they are, the corpus has the same data hash on every machine.
    """
    from evaluation.steps import Steps
    from memory.importing import import_corpus
    from memory.sample import paths
    from memory.state import MANIFEST

    if not (out / MANIFEST).exists():
        with Live() as live:
            import_corpus(paths(), out, embedder=embedder, keep_names=True, progress=Steps(live))
    return out


def play(
    spec: RunSpec, corpus: Path, out: Path, probes: Sequence[str] | None = None, llm: LLM | None = None
) -> tuple[Progress, Usage]:
    """Simulates with progress shown. `llm` instead of the model that `spec` names: a fake, or one already open."""
    played = sit(spec, corpus, out, asks(probes, spec.model), Sitting(), llm)
    return played.progress, played.usage


def show_cells(cells: Sequence[Cell]) -> None:
    """Prints model and baselines of each task in one table: n asked, scored, failed, users; every value with its 95 %
    interval, over answers and, where it is a mean, over users."""
    for mode, task in dict.fromkeys((cell.mode, cell.task) for cell in cells):
        own = [cell for cell in cells if (cell.mode, cell.task) == (mode, task)]
        names = [column.name for column in headline(own[0].kind)]
        mean = next(column.name for column in headline(own[0].kind) if column.item)
        rows = [
            (
                *(cell.system, cell.asked, cell.scored, cell.failed, cell.users),
                *(cell.intervals[name] for name in names),
                cell.people_intervals[mean],
            )
            for cell in own
        ]
        columns = ["system", "asked", "scored", "failed", "users", *names, f"{mean}, mean of users"]
        show(f"{task}, {mode}; in brackets 95 % intervals that count users", columns, rows, right=columns[1:])


POLICY_COLUMNS = ("kind", "name", "options", "model calls, write / read", "what it does", "source")


def policy_rows() -> Iterator[tuple[str, str, str, str, str, str]]:
    """POLICY_COLUMNS of every policy in the folders; the options with their defaults."""
    for kind, folder in (("retriever", memory.retrievers), ("scheduler", simulator.schedulers)):
        for name in policy.names(folder):
            module = import_module(f"{folder.__name__}.{name}")
            calls = getattr(module.Policy, "calls", "0 / 0") if kind == "retriever" else ""
            yield kind, name, _options(module.Policy), calls, _first_sentence(module), _source(module)
    for name in tasks.names():
        module = import_module(f"{tasks.__name__}.{name}")
        yield "task", name, "", "", _first_sentence(module), _source(module)


def _options(kind: Any) -> str:
    return ", ".join(f"{f.name}={f.default}" for f in dataclasses.fields(kind))


def _first_sentence(module: Any) -> str:
    return _SENTENCE_END.split(str(module.__doc__ or "").strip().splitlines()[0])[0].removesuffix(".")


def _source(module: Any) -> str:
    """The sentence of the docstring that names where a policy comes from, "" where there is none."""
    told = " ".join(str(module.__doc__ or "").partition("Source: ")[2].split())
    return _SENTENCE_END.split(told)[0].removesuffix(".")
