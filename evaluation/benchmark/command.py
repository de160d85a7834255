"""personaconv bench: runs a benchmark, tells what it would run, what can be named and what was selected."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from evaluation.benchmark import tables
from evaluation.benchmark.domains import DOMAINS, LABELS
from evaluation.benchmark.grid import CELLS, PAPER
from evaluation.benchmark.items import TASKS, TaskName
from evaluation.benchmark.playing import Source, play, rows
from evaluation.benchmark.published import SOURCE, published
from evaluation.benchmark.sources import open_source
from evaluation.benchmark.spec import BenchSpec, Job
from evaluation.benchmark.switches import Switches
from evaluation.canary import Kept
from evaluation.console import Live, failed, show
from evaluation.helping import show_gain
from evaluation.planned import lines
from evaluation.playing import Models, Sitting
from evaluation.sides import cells
from memory.errors import BadInput
from simulator.budget import Ledger
from simulator.llm import LLM
from simulator.prices import Prices, cost
from simulator.run import Progress
from simulator.wrappers import Usage

ROWS = "rows.ndjson"
SAMPLED = 5  # items of a cell whose prompts are made for an estimate


def bench(
    spec: BenchSpec,
    out: Path,
    open_llm: Callable[[str], LLM] | None = None,
    show_published: bool = False,
    like: Path | None = None,
    sitting: Sitting | None = None,
) -> Progress:
    """Runs what is missing in `out`, writes rows.ndjson there and prints the tables. `open_llm`: models by name.
    `like`: an earlier run, from which it is told what this one can find. `sitting`: what is recorded or replayed, and
    which budgets hold. Raises: Leak, where a control of the memories is not passed."""
    live = Live()
    source = open_source(spec, live)
    meters: dict[str, Usage] = {}
    try:
        with live:
            for line in _power(spec, source, like):
                live.say(line)
            progress = asyncio.run(_played(spec, source, out, open_llm, sitting or Sitting(), meters, live))
        found = asyncio.run(rows(spec, source, out))
        _write(out / ROWS, found)
        print_tables(found, show_published)
        try:
            show_gain(cells(found), source.store, [out], source.again)
        finally:  # what it took is told of memories that are not passed, too
            print(_spent(spec, progress, meters))
            print(out / ROWS)
            if progress.stopped:
                print(f"stopped: {progress.stopped}")
    finally:
        source.close()
    return progress


async def _played(  # noqa: PLR0913 - the parts of one sitting
    spec: BenchSpec,
    source: Source,
    out: Path,
    given: Callable[[str], LLM] | None,
    sitting: Sitting,
    meters: dict[str, Usage],
    live: Live,
) -> Progress:
    """Plays with every model under the same recording and the same ledger, which lies in `out`.

    Raises: BadInput for a budget of money over models of different prices."""
    texts = {spec.prices.get(name, "") for name in spec.models}
    if sitting.limits.cost is not None and len(texts) > 1:
        raise BadInput("a budget of money needs one price for all models: --price")
    ledger = Ledger(out, sitting.limits, Prices.of(texts.pop()) if len(texts) == 1 and texts != {""} else None)
    recording, opened = sitting.recording(), list[Models]()

    def open_one(name: str) -> LLM:
        models = Models(spec, ledger, recording=recording)
        opened.append(models)
        meters[name] = models.usage
        return models.open(name, spec.base_url, given(name) if given else None)

    try:
        return await play(spec, source, out, open_one, _watch(live, spec, meters))
    finally:
        for models in opened:
            await models.close()
        ledger.close()


def dry_run(spec: BenchSpec, like: Path | None = None) -> None:
    """Prints what would be asked: calls, input tokens and cost of each cell, from the prompts of its first items."""
    live = Live()
    source = open_source(spec, live)
    try:
        with live:
            for job in spec.jobs():
                source.questions(job)
            for line in _power(spec, source, like):
                live.say(line)
        table = [_estimate(spec, source, job) for job in spec.jobs()]
    finally:
        source.close()
    show(
        "What would be asked; nothing was",
        ["cell", "calls", "tokens in, about", "tokens out, at most", "cost, at most"],
        [(job.name, f"{calls:,}", f"{used.tokens_in:,}", f"{used.tokens_out:,}", _money(spec, job.model, used))
         for job, calls, used in table],
        right=["calls", "tokens in, about", "tokens out, at most", "cost, at most"],
    )  # fmt: skip
    print(f"{sum(calls for _, calls, _ in table):,} calls in {len(table)} cells")


def _power(spec: BenchSpec, source: Source, like: Path | None) -> Iterator[str]:
    """What the items of a cell can find; they are of as many people, but for some of the reference's."""
    items = {question.id[:2] for question in source.questions(next(spec.jobs()))}
    return lines(len(items), len(items), like)


def describe(spec: BenchSpec) -> None:
    """Prints what the spec selects: how many items of which community, and why posts were left."""
    live = Live()
    source = open_source(spec, live)
    try:
        with live:
            found = source.counts()
        show("What is selected", ["setting", "task", "what", "posts or items"], found, right=["posts or items"])
        jobs = [(job.name, sum(q.calls for q in source.questions(job))) for job in spec.jobs()]
    finally:
        source.close()
    show("Cells", ["cell", "calls"], jobs, right=["calls"])


def list_names() -> None:
    """Prints what a spec can name."""
    show("Tasks", ["task"], [(task,) for task in TASKS])
    named = {cell: name for name, cell in PAPER.items()}
    grid = [(cell.name, cell.memory, cell.conversation, named.get(cell, "")) for cell in CELLS.values()]
    show("Settings of the corrected protocol", ["setting", "memory", "conversation", "the paper's name"], grid)
    said = {name: " ".join((info.description or "").split()) for name, info in Switches.model_fields.items()}
    show("Switches of the reference protocol, on as it is there", ["switch", "what it does"], said.items())
    show("Communities of the benchmark", ["community", *LABELS], [(name, *DOMAINS[name]) for name in DOMAINS])


def print_tables(found: Sequence[dict[str, Any]], show_published: bool = False) -> None:
    """For each task: the first columns over all items, then the further ones and the skill beside each baseline, the
    first by community, and the published rows."""
    made = tables.lines(found)
    for task in [t for t in TASKS if any(line.task == t for line in made)]:
        own = [line for line in made if line.task == task]
        _print(f"{task}, all items", [line for line in own if not line.place])
        _print(f"{task}, further measures", [line.further for line in own if line.more and not line.place])
        cells, rows = tables.skills(own)
        if cells and rows:
            show(f"{task}, skill: 1 - error / the baseline's", ["beside", *cells], rows, right=cells)
        _print(f"{task}, by community", [line for line in own if line.place])
        if show_published:
            _print_published(task)


def _print(title: str, those: Sequence[tables.Line]) -> None:
    if not those:
        return
    names = list(dict.fromkeys(name for line in those for name in line.values))
    about = [name for name, has in (("community", any(line.place for line in those)),
                                    ("read and counted", any(line.note for line in those))) if has]  # fmt: skip
    columns = ["cell", *about, "asked", "failed", *names]
    table = []
    for line in those:
        told = {"community": line.place, "read and counted": line.note}
        cell = " ".join(part for part in line.cell if part)
        values = [line.shown(name) for name in names]
        table.append([cell, *(told[name] for name in about), line.asked, line.failed, *values])
    show(title, columns, table, right=["asked", "failed", *names])


def _print_published(task: TaskName) -> None:
    those = list(published(task))
    names = list(dict.fromkeys(name for row in those for name in row.values))
    table = [
        [row.setting, row.model, *(tables.shown(row.values.get(n)) for n in names), "; ".join(row.marks)]
        for row in those
    ]
    show(f"{task}, as published ({SOURCE}); not to be compared with ours", ["setting", "model", *names, "marks"], table)


def _watch(live: Live, spec: BenchSpec, meters: dict[str, Usage]) -> Callable[[Progress, Job], None]:
    began = time.monotonic()

    def seen(progress: Progress, job: Job) -> None:
        usage = meters[job.model]
        made = progress.calls_done - progress.found
        note = f"{job.name}: {usage.tokens_in + usage.tokens_out:,} tokens"
        note += f", {made / max(0.001, time.monotonic() - began):.1f} calls/s"
        spent = _money(spec, job.model, usage)
        note += f", cost {spent}" if spent else ""
        note += f", {failed(progress)}" if progress.failed else ""
        live("bench", progress.calls_done, progress.calls, note)

    return seen


def _money(spec: BenchSpec, model: str, usage: Usage) -> str:
    """What the tokens cost, "" where nobody said the model's prices."""
    if model not in spec.prices:
        return ""
    spent = cost(usage, Prices.of(spec.prices[model]))
    return "" if spent is None else f"{spent:.4f}"


def _spent(spec: BenchSpec, progress: Progress, meters: dict[str, Usage]) -> str:
    made = progress.calls_done - progress.found
    lines = [f"{progress.threads} cells, {made} calls made, {progress.found} found in the logs, {failed(progress)}"]
    for name, used in meters.items():
        spent = _money(spec, name, used)
        lines.append(
            f"{name}: {used.tokens_in:,} tokens in, {used.cached:,} of them cached, {used.tokens_out:,} out"
            + (f", cost {spent}" if spent else "")
        )
    return "\n".join(lines)


class _Counting:
    """A model that only counts what it is asked: input exactly as tokens of o200k, output as much as is allowed."""

    name = "dry-run"

    def __init__(self) -> None:
        self.usage = Usage()

    async def __call__(self, request: Any) -> Any:
        from memory.tokens import count
        from simulator.llm import Completion

        self.usage.calls += 1
        self.usage.tokens_in += sum(count(text) for _, text in request.messages)
        self.usage.tokens_out += request.max_tokens
        return Completion("positive")

    async def close(self) -> None:
        pass


def _estimate(spec: BenchSpec, source: Source, job: Job) -> tuple[Job, int, Usage]:
    """(cell, calls, tokens), scaled up from SAMPLED items spread over the cell."""
    questions = source.questions(job)
    step = max(1, len(questions) // SAMPLED)
    sample = questions[::step][:SAMPLED]
    llm, log = _Counting(), Kept()

    async def ask() -> None:
        for question in sample:
            await question.ask(llm, log, "dry-run")

    asyncio.run(ask())
    calls = sum(q.calls for q in questions)
    scale = calls / max(1, sum(q.calls for q in sample))
    used = Usage(calls, 0, round(llm.usage.tokens_in * scale), round(llm.usage.tokens_out * scale))
    return job, calls, used


def _write(path: Path, found: Sequence[dict[str, Any]]) -> None:
    """Replaces the file as a whole, or not at all."""
    draft = path.with_name(path.name + ".new")
    draft.write_text(
        "".join(json.dumps(row, sort_keys=True, allow_nan=False) + "\n" for row in found), encoding="ascii"
    )
    os.replace(draft, path)
