"""Analyses of a run beyond its table: drift, voices, identity, distributions, shape. Each gives Sheets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluation.rows import Scored
    from evaluation.sheet import Sheet
    from memory.store import MemoryStore
    from simulator.ends import End
    from simulator.records import Turn


def sheets(
    scored: Sequence[Scored],
    turns: Sequence[Turn],
    store: MemoryStore,
    ends: Mapping[tuple[str, int], End] | None = None,
    seed: int = 0,
) -> tuple[Sheet, ...]:
    """Every analysis of every run in `scored`; one that cannot be made is a sheet without rows that says why.

    A replay beside a rollout of the same slots is its gold history, a run with swapped memories its control.
    `ends`: of simulator.ends.read, for the one run.
    Names end in " (run)" where there are several runs. No model is asked; the same rows and store give the same sheets.
    """
    from evaluation.analysis.lines import runs

    of_runs = runs(scored)
    found: list[Sheet] = []
    for (run, mode), rows in of_runs.items():
        others = [row for (run_of, _), more in of_runs.items() if run_of != run for row in more]
        for sheet in _of_run(rows, others, turns, store, seed):
            several = len(of_runs) > 1
            found.append(
                replace(sheet, name=f"{sheet.name} ({run})", title=f"{sheet.title}: {mode} {run}") if several else sheet
            )
    if ends is not None:
        from evaluation.analysis.stops import stops

        found.append(stops(ends))
    return tuple(found)


def _of_run(
    rows: Sequence[Scored], others: Sequence[Scored], turns: Sequence[Turn], store: MemoryStore, seed: int
) -> Iterator[Sheet]:
    from evaluation.analysis.attribution import attribution
    from evaluation.analysis.distribution import distributions
    from evaluation.analysis.drift import drift
    from evaluation.analysis.gain import gain
    from evaluation.analysis.habits import consistency, copying, repetition
    from evaluation.analysis.mauve import mauve
    from evaluation.analysis.merging import merging
    from evaluation.analysis.separability import separability
    from evaluation.analysis.shape import shapes
    from evaluation.analysis.stylometry import stylometry
    from evaluation.analysis.voice import style

    if rows[0].mode != "replay":
        yield from drift(rows, [row for row in others if row.mode == "replay"])
        yield from style(rows, store)
        yield merging(rows, seed)
        yield repetition(rows)
        yield consistency(rows, store)
        yield shapes(rows, turns, store, seed)
    yield attribution(rows, store, seed)
    yield separability(rows, seed)
    yield from stylometry(rows, store)
    yield copying(rows, store)
    yield from gain(rows, others)
    yield distributions(rows, turns, store, seed)
    yield mauve(rows, store, seed)
