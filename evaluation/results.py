"""From a run folder to its results: stored scores, report and transcript, all made again from the log alone."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation import stored
from evaluation.comparing import compare
from evaluation.costs import written
from evaluation.gain import arms, costs, decomposition, slices
from evaluation.played import played
from evaluation.rendering.files import write_tables
from evaluation.rendering.text import print_sheet
from evaluation.report.page import Against, Other, write_report
from evaluation.running import show_cells
from evaluation.scoring import Cell
from evaluation.sheet import Sheet
from evaluation.sides import flat, side
from evaluation.stored import RESULTS, SCORES, Scores
from evaluation.transcript import transcript
from evaluation.views.systems import MAIN
from memory.errors import BadInput, Missing, UnknownName
from memory.store import MemoryStore
from simulator import runlog
from simulator.interventions import changes
from simulator.records import Turn

TRANSCRIPT = "transcript.md"
PRINTED = 40  # rows of a table beyond which it is in the files alone
LARGE = 5_000_000  # bytes of a report that every phone opens well: 10,000 answers with their baselines and prompts
ENCODED = 120  # texts that MiniLM encodes in a second on two cores
LONG = 500  # new texts from which it is said before


@dataclass(frozen=True)
class Results:
    """What was made, and the table that stands in the report."""

    report: Path
    transcript: Path
    scores: Path
    tables: Path
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


def score_run(run: Path, corpus: Path | None = None) -> Scores:
    """Makes, or makes again, all scores and tables of a run from its stored turns. No model is called."""
    manifest, turns = _turns(run)
    store = open_store(run, manifest, corpus)
    try:
        return _made(run, manifest, turns, store)
    finally:
        store.close()


def make(run: Path, corpus: Path | None = None, against: Sequence[Path] = ()) -> Results:
    """Writes report and transcript into the run folder, from the stored scores; where there are none, or they are older
    than the log, they are made first. `against`: other runs to compare with, side by side; where they differ in memory
    alone, with the gain in its parts. No model is called.

    Raises: BadInput where two of the runs are one, or they share no item.
    """
    with ExitStack() as opened:
        found: list[Other] = []
        for folder in (run, *against):
            manifest, turns, store, scores = _scored(folder, corpus)
            opened.callback(store.close)
            if any(other.manifest["run"] == manifest["run"] for other in found):
                raise BadInput(f"{folder} is a run that is there already ({manifest['run']}); name another one")
            found.append(Other(manifest, turns, scores, store, folder.resolve().name))
        first, *others = found
        sheets = _compared((run, *against), found) if others else []
        beside = Against(others, sheets)
        report = write_report(run, first.manifest, first.turns, first.scores, first.store, beside)
        (run / TRANSCRIPT).write_text(_transcripts(first.turns, first.store, first.manifest), encoding="utf-8")
    return Results(report, run / TRANSCRIPT, run / SCORES, run / RESULTS, first.scores.cells)


def _compared(folders: Sequence[Path], runs: Sequence[Other]) -> list[Sheet]:
    """The later runs against the first, and what memory gains where they differ in it."""
    alone = len({run.name for run in runs}) == len(runs)
    sides = [
        side(run.name if alone else str(folder), run.scores.rows, flat(run.manifest.get("decides", {})))
        for folder, run in zip(folders, runs, strict=True)
    ]
    gain = arms(sides)
    parts = [decomposition(gain), slices(gain), costs(gain, written(folders))] if gain else []
    return [*compare(sides, common=True).sheets, *parts]


def _scored(run: Path, corpus: Path | None) -> tuple[dict[str, Any], list[Turn], MemoryStore, Scores]:
    """Manifest, turns, the open corpus, and the scores: stored, or made."""
    manifest, turns = _turns(run)
    store = open_store(run, manifest, corpus)
    try:
        return manifest, turns, store, stored.read(run, turns, store) or _made(run, manifest, turns, store)
    except BaseException:
        store.close()
        raise


def show_scores(run: Path, corpus: Path | None, tables: Path | None) -> None:
    """What `personaconv score` does and prints."""
    found = score_run(run, corpus)
    show_cells(found.cells)
    for sheet in found.sheets:
        if not sheet.name.startswith(MAIN) and 0 < len(sheet.rows) <= PRINTED:
            print_sheet(sheet)
    written = write_tables(found.rows, found.sheets, run / RESULTS, tables) if tables else []
    for file in (run / SCORES, run / RESULTS, *written):
        print(file)


def show_report(run: Path, corpus: Path | None, against: Sequence[Path]) -> None:
    """What `personaconv report` does and prints."""
    made = make(run, corpus, against)
    show_cells(made.cells)
    for file in (made.report, made.transcript, made.scores, made.tables):
        print(file)
    if large := largeness(made.report):
        print(large)


def largeness(report: Path, most: int = LARGE) -> str:
    """What to know of a report of more than `most` bytes, "" for others: nothing is ever left out of one."""
    size = report.stat().st_size
    if size <= most:
        return ""
    return (
        f"{report} has {size / 1e6:.1f} MB, all rows, threads and prompts in it: a phone may be slow with more than "
        f"{most / 1e6:g}; for less, report fewer runs at once, or play without --keep-prompts"
    )


def encoding(turns: Sequence[Turn], embedder: str) -> str:
    """What to know before turns are scored whose replies take a while to encode, "" for others."""
    new = len({turn.words for turn in turns if turn.ask == "reply" and turn.words})
    if new < LONG or embedder.startswith(("bag", "none")):
        return ""
    about = f", about {new / ENCODED:.0f} s" if embedder.startswith("minilm") else ""
    return f"{new:,} replies are encoded first, for SBERT and MAUVE{about}"


def _made(run: Path, manifest: dict[str, Any], turns: Sequence[Turn], store: MemoryStore) -> Scores:
    """Scored now, and said before where it takes a while."""
    if told := encoding(turns, store.embedder):
        print(told, file=sys.stderr)
    return stored.make(run, manifest, turns, store)


def _turns(run: Path) -> tuple[dict[str, Any], list[Turn]]:
    manifest, turns = runlog.read(run)
    if not turns:
        raise BadInput(f"{run} has no finished turn yet; go on with: personaconv simulate")
    return manifest, turns


def transcripts(run: Path, corpus: Path | None = None, thread: str | None = None) -> str:
    """The threads of a run as text, real and simulated. Raises UnknownName for a thread it did not play."""
    manifest, turns = runlog.read(run)
    played = dict.fromkeys(turn.slot.thread for turn in turns)
    if thread is not None and thread not in played:
        raise UnknownName("thread of this run", thread, played)
    store = open_store(run, manifest, corpus)
    try:
        return _transcripts([turn for turn in turns if thread in (None, turn.slot.thread)], store, manifest)
    finally:
        store.close()


BRANCH = "This run is a branch of another: both arms stand side by side in its report, report.html.\n"


def _transcripts(turns: Sequence[Turn], store: MemoryStore, manifest: dict[str, Any]) -> str:
    threads: dict[str, list[Turn]] = {}
    for turn in turns:
        threads.setdefault(turn.slot.thread, []).append(turn)
    known, spec = played(turns, store), manifest.get("decides", {}).get("spec", {})
    told = [BRANCH] if any(turn.mode == "branch" for turn in turns) else []
    return "\n\n".join([*told, *(transcript(known[id], own, changes(spec, id)) for id, own in threads.items())])
