"""Does a memory help? What the benchmark and examples/compare_memories.py print of it: the gain in its parts, by length
of history, what it costs, and the controls, which fail it all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from evaluation.canary import Retake, again
from evaluation.costs import written
from evaluation.gain import arms, costs, decomposition, slices
from evaluation.leaks import controls, duplicated, sample, without
from evaluation.rendering.text import print_sheet
from evaluation.sheet import Sheet
from evaluation.shuffles import reads
from evaluation.sides import Side
from memory.store import MemoryStore

BY_REFERENCE = (
    "No controls: the reference shows what is later than an answer, by the switches later_shown and scores_shown; the "
    "corrected protocol has them."
)


def show_gain(
    sides: Sequence[Side], store: MemoryStore | None, folders: Sequence[Path], retake: Retake = again
) -> None:
    """Prints the four; nothing where no two sides differ in memory alone. `store`: None for cells of the reference,
    which have no memory to control. `folders`: of the runs, or of the benchmark. `retake`: how a call is taken again,
    for the canary. Raises Leak."""
    found = arms(sides)
    if not found:
        return
    if store is None:
        _print(decomposition(found), costs(found))
        print(BY_REFERENCE)
        return
    took = asyncio.run(reads(found, sample(found, store), store))
    _print(decomposition(found), slices(found), costs(found, written(folders), took))
    if alike := duplicated(found, store):
        bare = decomposition(without(found, alike))
        _print(replace(bare, title=f"The same without {len(alike)} items whose answer was nearly recalled", about=""))
    for control in asyncio.run(controls(found, store, retake=retake)):
        print(f"{control.name}: {control.found}")


def _print(*sheets: Sheet) -> None:
    for sheet in sheets:
        print_sheet(sheet)
        if sheet.about:
            print(sheet.about)
