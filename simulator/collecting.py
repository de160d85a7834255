"""How often Python looks for unreachable cycles while threads are played: less often, and not among what is there."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

SELDOM = (5_000, 10, 5)  # Python's own are 700, 10, 10; larger ones save time and hold garbage (note 24)


@contextmanager
def seldom() -> Iterator[None]:
    """Until the block ends; then as before. Nothing changes where collecting is off."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(*SELDOM)
        gc.freeze()  # modules and the like: half of all that would be looked through
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
