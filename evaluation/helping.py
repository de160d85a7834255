"""Does a memory help? What the benchmark and examples/compare_memories.py print of it: the gain in its parts, by length
of history, what it costs, and the controls, which fail it all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from evaluation.gain import arms, costs, decomposition, slices
from evaluation.leaks import controls
from evaluation.rendering.text import print_sheet
from evaluation.sides import Side
from memory.store import MemoryStore


def show_gain(sides: Sequence[Side], store: MemoryStore) -> None:
    """Prints the four; nothing where no two sides differ in memory alone. Raises Leak."""
    found = arms(sides)
    if not found:
        return
    for sheet in (decomposition(found), slices(found), costs(found)):
        print_sheet(sheet)
        print(sheet.about)
    for control in asyncio.run(controls(found, store)):
        print(f"{control.name}: {control.found}")
