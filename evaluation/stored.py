"""The stored scores of a run: rows in scores.ndjson, tables in results.json. Made from the turns, without a model; the
same turns and corpus give the same bytes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from evaluation import analysis, judging
from evaluation.analysis.judges import judged
from evaluation.options import of_asks
from evaluation.rendering.data import from_json, to_json, undefined
from evaluation.rows import Scored, dump, load
from evaluation.scoring import Cell, score, table
from evaluation.sheet import Sheet
from evaluation.tasks import Options
from evaluation.verdict import standings, verdict
from evaluation.views.calibration import calibration
from evaluation.views.cost import cost
from evaluation.views.failures import failures
from evaluation.views.scatter import scatter
from evaluation.views.slices import slices
from evaluation.views.systems import systems
from memory.errors import BadInput
from simulator import asked, ends
from simulator.asked import Answered
from simulator.ends import End
from simulator.records import Turn

if TYPE_CHECKING:
    from memory.store import MemoryStore

SCORES = "scores.ndjson"
RESULTS = "results.json"
FORMAT = 2

Ends = Mapping[tuple[str, int], End]


@dataclass(frozen=True)
class Scores:
    """`verdicts`: of each run and mode, one sentence. `sheets`: every table, the main ones first."""

    rows: list[Scored]
    cells: list[Cell]
    sheets: list[Sheet]
    verdicts: list[dict[str, str]]


async def scored(
    turns: Sequence[Turn],
    store: MemoryStore,
    options: Mapping[str, Options] | None = None,
    ended: Ends | None = None,
    answered: Sequence[Answered] = (),
) -> Scores:
    """All turns scored, beside their baselines, and all tables made of that. `options`: as score() takes them; `ended`:
    of simulator.ends.read; `answered`: of simulator.asked.read. Writes nothing."""
    rows = await score(turns, store, options)
    cells = table(rows)
    sheets = [*_before(rows, cells), *analysis.sheets(rows, turns, store, ended), *_after(turns, answered, rows, cells)]
    return Scores(rows, cells, sheets, _verdicts(cells, rows))


def make(run: Path, manifest: dict[str, Any], turns: Sequence[Turn], store: MemoryStore) -> Scores:
    """scored(), with what judges said of the run, written into its folder as two files, each whole or not at all."""
    found = asyncio.run(scored(turns, store, of_asks(manifest["decides"]["asks"]), ends.read(run), asked.read(run)))
    calls = judging.read(run)
    if calls:
        found = replace(found, sheets=[*found.sheets, judged(calls)])
    dump(found.rows, run / SCORES)
    about = {**_source(run, turns, store), "run": turns[0].run, "verdicts": found.verdicts, "cells": found.cells}
    draft = run / f"{RESULTS}.new"
    draft.write_text(to_json(found.sheets, about), encoding="ascii")
    draft.replace(run / RESULTS)
    return found


def read(run: Path, turns: Sequence[Turn], store: MemoryStore) -> Scores | None:
    """The stored scores; None where there are none, or they were made from other turns or another form of results."""
    if not ((run / SCORES).exists() and (run / RESULTS).exists()):
        return None
    try:
        sheets, about = from_json((run / RESULTS).read_text(encoding="ascii"), run / RESULTS)
        source = _source(run, turns, store)
        if {key: about.get(key) for key in source} != source:
            return None
        cells = msgspec.convert(undefined(about["cells"]), list[Cell])
        rows = load(run / SCORES)
    except (BadInput, UnicodeDecodeError, msgspec.ValidationError):  # of an earlier version, or damaged: made again
        return None
    return Scores(rows, cells, sheets, about["verdicts"])


def _before(rows: Sequence[Scored], cells: Sequence[Cell]) -> Iterator[Sheet]:
    yield from systems(cells)
    yield from (sheet for sheet in (calibration(rows), scatter(rows)) if sheet)


def _after(
    turns: Sequence[Turn], answered: Sequence[Answered], rows: Sequence[Scored], cells: Sequence[Cell]
) -> Iterator[Sheet]:
    yield from slices(rows, cells, "place")
    yield from slices(rows, cells, "user")
    yield cost(turns, answered)
    yield failures(rows)


def _verdicts(cells: Sequence[Cell], rows: Sequence[Scored]) -> list[dict[str, str]]:
    found = standings(cells, rows)
    keys = dict.fromkeys((s.run, s.mode) for s in found)
    return [
        {"run": run, "mode": mode, "verdict": verdict([s for s in found if (s.run, s.mode) == (run, mode)])}
        for run, mode in keys
    ]


def _source(run: Path, turns: Sequence[Turn], store: MemoryStore) -> dict[str, Any]:
    """What decides the scores: the turns, in any order of finishing, the corpus, and what judges said."""
    encode = msgspec.json.Encoder().encode
    said = (run / judging.FILE).read_bytes() if (run / judging.FILE).exists() else b""
    digest = sha256(b"\n".join(sorted(encode(turn) for turn in turns)) + said).hexdigest()
    return {"format": FORMAT, "log": digest, "data_hash": str(store.corpus.data_hash)}
