"""Habits of simulated speakers: do they repeat themselves, copy their memories, keep to what their prompt showed?"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from evaluation.analysis.beside import About, Key, Measure, beside
from evaluation.analysis.lines import replies, said, threads, true
from evaluation.likeness import threes
from evaluation.rows import Scored
from evaluation.sheet import Sheet
from memory.errors import UnknownName
from memory.recall import Vectors

if TYPE_CHECKING:
    from memory.store import MemoryStore

LONGEST = 2_000  # characters of a text in which copies are looked for
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

COPYING = About(
    "copying", "Verbatim copies of memories",
    "Longest run of characters that a message shares with one of the memories its own prompt showed, over its length "
    f"(the first {LONGEST} characters, case folded). Copying the memory is no imitation: above the real value it is a "
    "leak.",
    False,
)  # fmt: skip


def copying(rows: Sequence[Scored], store: MemoryStore) -> Sheet:
    """Of one run, by turns since the last real message; replies whose prompts showed no memory are not measured."""
    found: dict[Key, tuple[float, float]] = {}
    texts: dict[str, str | None] = {}
    for row in replies(rows):
        for name in row.recalled:
            if name not in texts:
                texts[name] = _words(name, row.time, store)
        shown = [text for name in row.recalled if (text := texts[name])]
        if said(row) and shown:
            found[row.key] = copied(said(row), shown), copied(true(row), shown) if true(row) else math.nan
    return beside(COPYING, found, rows)


def copied(text: str, shown: Sequence[str]) -> float:
    """The longest common substring of `text` with any of `shown`, over its length: 1 for a part of one of them."""
    line = text[:LONGEST].casefold().strip()
    held = [other[:LONGEST].casefold() for other in shown]
    low, high = 0, len(line)
    while low < high:  # if a run of n is shared, so is one of n - 1
        n = (low + high + 1) // 2
        runs = {line[at : at + n] for at in range(len(line) - n + 1)}
        if any(other[at : at + n] in runs for other in held for at in range(len(other) - n + 1)):
            low = n
        else:
            high = n - 1
    return low / len(line) if line else math.nan


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
                    words = _words(name, row.time, store)
                    vectors[name] = threes(words) if words else None
                vector = vectors[name]
                if vector is not None:
                    shown.setdefault(row.user, {})[name] = vector
        means = {user: np.mean(list(memories.values()), axis=0) for user, memories in shown.items()}
        for row in thread:
            if said(row) and row.user in means and len(means) > 1:
                real = _nearer(true(row), row.user, means) if true(row) else math.nan
                found[row.key] = _nearer(said(row), row.user, means), real
    return found


def _words(name: str, before: int, store: MemoryStore) -> str | None:
    """None for a note that a memory made, for what is no longer in the corpus, and for what was not earlier."""
    try:
        message = store.corpus.message(name)
    except UnknownName:
        return None
    return message.bare.words if message.time < before else None


def _nearer(text: str, user: str, means: Mapping[str, Vectors]) -> float:
    line = threes(text)
    own = float(line @ means[user])
    others = [float(line @ mean) for name, mean in means.items() if name != user]
    return sum((own > other) + 0.5 * (own == other) for other in others) / len(others)
