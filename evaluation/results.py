"""From a run folder to its results: scores.ndjson, report.html and transcript.md, all made again from the log alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.options import of_asks
from evaluation.played import played
from evaluation.report import write_report
from evaluation.rows import dump
from evaluation.scoring import Cell, score, table
from evaluation.transcript import transcript
from memory.errors import BadInput, Missing, UnknownName
from memory.store import MemoryStore
from simulator import runlog
from simulator.records import Turn

SCORES = "scores.ndjson"
TRANSCRIPT = "transcript.md"


@dataclass(frozen=True)
class Results:
    """What was made, and the table that stands in the report."""

    report: Path
    transcript: Path
    scores: Path
    cells: list[Cell]


def open_store(run: Path, manifest: dict[str, Any], corpus: Path | None = None) -> MemoryStore:
    """The corpus that the run was made from, where the manifest says or at `corpus`.

    Raises: Missing where it is gone, BadInput where it holds other data now.
    """
    folder = corpus or (run / manifest["corpus"]).resolve()
    try:
        store = MemoryStore.open(folder)
    except Missing as error:
        raise Missing(f"{error}; or say where the corpus of {run} is with --corpus") from None
    wanted = manifest["decides"]["data_hash"]
    if store.corpus.data_hash != wanted:
        found = store.corpus.data_hash
        store.close()
        raise BadInput(
            f"{folder} holds other data ({found[:12]}) than {run} was made from ({wanted[:12]}); "
            "name the right corpus with --corpus"
        )
    return store


def make(run: Path, corpus: Path | None = None) -> Results:
    """Scores all turns of a run and writes the three files into its folder. No model is called."""
    manifest, turns = runlog.read(run)
    if not turns:
        raise BadInput(f"{run} has no finished turn yet; go on with: personaconv simulate")
    store = open_store(run, manifest, corpus)
    try:
        scored = asyncio.run(score(turns, store, of_asks(manifest["decides"]["asks"])))
        cells = table(scored)
        dump(scored, run / SCORES)
        report = write_report(run, manifest, turns, scored, cells, store)
        (run / TRANSCRIPT).write_text(_transcripts(turns, store), encoding="utf-8")
    finally:
        store.close()
    return Results(report, run / TRANSCRIPT, run / SCORES, cells)


def transcripts(run: Path, corpus: Path | None = None, thread: str | None = None) -> str:
    """The threads of a run as text, real and simulated. Raises UnknownName for a thread it did not play."""
    manifest, turns = runlog.read(run)
    played = dict.fromkeys(turn.slot.thread for turn in turns)
    if thread is not None and thread not in played:
        raise UnknownName("thread of this run", thread, played)
    store = open_store(run, manifest, corpus)
    try:
        return _transcripts([turn for turn in turns if thread in (None, turn.slot.thread)], store)
    finally:
        store.close()


def _transcripts(turns: Sequence[Turn], store: MemoryStore) -> str:
    threads: dict[str, list[Turn]] = {}
    for turn in turns:
        threads.setdefault(turn.slot.thread, []).append(turn)
    known = played(turns, store)
    return "\n\n".join(transcript(known[id], own) for id, own in threads.items())
