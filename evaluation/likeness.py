"""How like a person's own writing a text is, at a glance: letters in threes, no model. A live display, not a result.

Source: character n-grams are the usual features (Stamatatos 2009, A survey of modern authorship attribution methods).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory.recall import Vectors

LATEST = 50  # messages of a person that are looked at
FEW = 4  # below this nothing is said: three others say little about what is usual
WIDTH = 4093  # a prime: three bytes are taken modulo it


def likeness(text: str, own: Sequence[str]) -> float | None:
    """The share of the latest of `own` that are less like the others of them than `text` is: 0.5 is usual, 0 to 1.

    None below FEW messages.
    """
    rows = np.stack([threes(words) for words in [text, *own[-LATEST:]]])
    if len(rows) <= FEW:
        return None
    text_row, own_rows = rows[0], rows[1:]
    rest = own_rows.sum(axis=0) - own_rows
    usual = (own_rows * rest).sum(axis=1) / np.maximum(np.linalg.norm(rest, axis=1), 1e-9)
    whole = own_rows.sum(axis=0)
    here = float(text_row @ whole) / max(float(np.linalg.norm(whole)), 1e-9)
    return float(np.mean((usual < here) + 0.5 * (usual == here)))


def threes(text: str) -> Vectors:
    """Counts of three neighbouring bytes of the folded text, of length 1."""
    codes = np.frombuffer(f" {text.casefold()} ".encode("utf-8", "replace"), np.uint8).astype(np.int64)
    counts = np.bincount((codes[:-2] * 65_536 + codes[1:-1] * 256 + codes[2:]) % WIDTH, minlength=WIDTH)
    row = np.sqrt(counts)  # one word said often is not the whole of a style
    unit: Vectors = (row / max(float(np.linalg.norm(row)), 1e-9)).astype(np.float32)
    return unit
