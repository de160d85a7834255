"""Habits of simulated speakers: whether they repeat themselves, and whether they keep to what their prompt showed."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evaluation.analysis.beside import About, Key, Measure, beside
from evaluation.analysis.lines import said, threads, true
from evaluation.likeness import threes
from evaluation.rows import Scored
from evaluation.sheet import Sheet
from memory.errors import UnknownName
from memory.recall import Vectors

if TYPE_CHECKING:
    from memory.store import MemoryStore

GRAM = 4  # words in a row that count as repeated together
REPETITION = About(
    "repetition", f"Repetition: {GRAM}-grams of words that the speaker has used before in the thread",
    f"Share of a message's runs of {GRAM} words that are in earlier ones of the same speaker; real messages against "
    "real ones.", False,
)  # fmt: skip
CONSISTENCY = About(
    "prompt-to-line", "Consistency of the lines with their prompts",
    "Probability that a line is nearer to the memories its speaker's prompts showed in the thread than to those shown "
    "to another speaker there (mean cosine of counts of three neighbouring characters, ties half); 0.5 is chance. A "
    "deterministic stand-in for a judge's prompt-to-line consistency (2511.00222): blind to meaning and contradiction.",
    True,
)  # fmt: skip


def repetition(rows: Sequence[Scored]) -> Sheet:
    """Of one run, by turns since the last real message."""
    found: dict[Key, tuple[float, float]] = {}
    for thread in threads(rows).values():
        used: dict[tuple[str, Callable[[Scored], str]], set[tuple[str, ...]]] = {}
        for row in thread:
            simulated, real = (_known(of(row), used.setdefault((row.user, of), set())) for of in (said, true))
            if not math.isnan(simulated):
                found[row.key] = simulated, real
    return beside(REPETITION, found, rows)


def _known(text: str, earlier: set[tuple[str, ...]]) -> float:
    """The share of the text's grams that are in `earlier`, which takes them in; nan for a text without any."""
    words = re.findall(r"\w+", text.casefold())
    grams = list(zip(*(words[n:] for n in range(GRAM)), strict=False))
    share = sum(gram in earlier for gram in grams) / len(grams) if grams else math.nan
    earlier.update(grams)
    return share


def consistency(rows: Sequence[Scored], store: MemoryStore) -> Sheet:
    """Of one run, by turns since the last real message."""
    return beside(CONSISTENCY, _consistent(rows, store), rows)


def _consistent(rows: Sequence[Scored], store: MemoryStore) -> Measure:
    found: dict[Key, tuple[float, float]] = {}
    vectors: dict[str, Vectors | None] = {}
    for thread in threads(rows).values():
        shown: dict[str, dict[str, Vectors]] = {}
        for row in thread:
            for name in row.recalled:
                if name not in vectors:
                    vectors[name] = _memory(name, row.time, store)
                vector = vectors[name]
                if vector is not None:
                    shown.setdefault(row.user, {})[name] = vector
        means = {user: np.mean(list(memories.values()), axis=0) for user, memories in shown.items()}
        for row in thread:
            if said(row) and row.user in means and len(means) > 1:
                real = _nearer(true(row), row.user, means) if true(row) else math.nan
                found[row.key] = _nearer(said(row), row.user, means), real
    return found


def _memory(name: str, before: int, store: MemoryStore) -> Vectors | None:
    """None for a note that a memory made, for what is no longer in the corpus, and for what was not earlier."""
    try:
        message = store.corpus.message(name)
    except UnknownName:
        return None
    return threes(message.bare.words) if message.time < before else None


def _nearer(text: str, user: str, means: Mapping[str, Vectors]) -> float:
    line = threes(text)
    own = float(line @ means[user])
    others = [float(line @ mean) for name, mean in means.items() if name != user]
    return sum((own > other) + 0.5 * (own == other) for other in others) / len(others)
