"""The command `personaconv judge`: asks a judge model about a run, keeps its answers there, prints the table."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from evaluation.simulating import BaseURL
from memory.errors import BadInput

if TYPE_CHECKING:
    from evaluation.judging import Pair
    from evaluation.playing import Models
    from evaluation.sheet import Sheet
    from simulator.llm import LLM

Order = Literal["simulated", "real"]
ORDERS: tuple[Order, ...] = ("simulated", "real")  # whose words are text A
TENTH = 10  # every so manieth pair is asked about once more: temperature 0 is no promise of the same answer


def judge(  # noqa: PLR0913 - the options of a command are its parameters
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    model: Annotated[str, typer.Option(help="The judge; better of another family than the model that wrote.")],
    base_url: BaseURL = None,
    pairs: Annotated[
        int, typer.Option(min=1, help="Most pairs, drawn by seed; two calls each, a tenth once more.")
    ] = 100,
    seed: Annotated[int, typer.Option(help="Decides which pairs, and goes with every call.")] = 0,
    concurrency: Annotated[int, typer.Option(min=1, help="Calls at once.")] = 1,
    labels: Annotated[Path | None, typer.Option(help="Hand-marked pairs, JSON lines: thread, slot, choice.")] = None,
    record: Annotated[Path | None, typer.Option(help="Add every call to this recording.")] = None,
    replay: Annotated[Path | None, typer.Option(help="Answer from this recording alone; no model is asked.")] = None,
    corpus: Annotated[Path | None, typer.Option(help="Where the corpus is, if it moved.")] = None,
) -> None:
    """Ask a model which of two texts a person wrote, the simulated or the real one, in both orders."""
    from evaluation.analysis.judges import judged
    from evaluation.console import show
    from evaluation.judging import labels as marks
    from evaluation.judging import read
    from evaluation.playing import Models, Sitting
    from simulator.budget import Ledger
    from simulator.manifest import RunSpec
    from simulator.runlog import manifest

    manifest(run)  # a folder that is no run is left as it is
    marked = marks(labels) if labels else None
    models = Models(RunSpec(), Ledger(run), recording=Sitting(record=record, replay=replay).recording())
    asyncio.run(_sitting(run, models, models.open(model, base_url), corpus, (pairs, seed, concurrency)))
    sheet = judged(read(run), marked)
    show(sheet.title, ["", *(str(n) for n, _ in enumerate(sheet.rows, 1))], transposed(sheet))
    spent = models.usage
    print(f"{spent.calls} calls, {spent.failed} failed, {spent.tokens_in:,} tokens in, {spent.tokens_out:,} out")


def transposed(sheet: Sheet) -> Iterator[list[str]]:
    """A line for each column of a sheet that has few rows and many columns."""
    for n, column in enumerate(sheet.columns):
        places = f".{column.places}f"
        values = (row[n] for row in sheet.rows)
        yield [
            column.title,
            *("-" if v is None else str(v) if isinstance(v, str | int) else format(v, places) for v in values),
        ]


async def _sitting(run: Path, models: Models, llm: LLM, corpus: Path | None, how: tuple[int, int, int]) -> None:
    try:
        await judge_run(run, llm, corpus, *how)
    finally:
        await models.close()


async def judge_run(
    run: Path, llm: LLM, corpus: Path | None = None, most: int = 100, seed: int = 0, concurrency: int = 1
) -> int:
    """Asks about at most `most` pairs of a run in both orders, about a tenth of them twice; what is in its judgements
    is not asked again. How many calls were made.

    Raises: BadInput for a run without a pair. ModelError, a fatal one; all judgements before it are kept.
    """
    from evaluation.judging import append, judge, key, opened, pairs, read
    from evaluation.results import open_store
    from simulator import runlog
    from simulator.run import together

    manifest, turns = runlog.read(run)
    store = open_store(run, manifest, corpus)
    try:
        found = pairs(turns, store, most, seed)
    finally:
        store.close()
    if not found:
        raise BadInput(
            f"{run} has no reply that a judge could compare: with words, on a slot whose real words are known, by "
            "somebody with earlier messages"
        )
    done = {one.key for one in read(run)}
    asked = 0
    file = opened(run)

    async def worker(queue: Iterator[tuple[Pair, Order, int]]) -> None:
        nonlocal asked
        for pair, first, again in queue:
            append(file, await judge(pair, first, llm, seed, again))
            asked += 1

    try:
        sample = [(pair, 0) for pair in found] + [(pair, 1) for pair in found[::TENTH]]
        calls = [(pair, first, again) for pair, again in sample for first in ORDERS]
        queue = iter([call for call in calls if key(*call[:2], llm.name, seed, call[2]) not in done])
        await together([worker(queue) for _ in range(concurrency)])
    finally:
        os.close(file)
    return asked
