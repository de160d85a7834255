"""MAUVE of Pillutla et al. 2021 on sentence vectors instead of GPT-2's: its own name, stamp and scale.

Both sets of vectors are quantised together with k-means; the divergence frontier is that of the two histograms,
smoothed by half a text in each cluster, which is the MAUVE* of Pillutla et al. 2023 (JMLR).
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np

from evaluation.analysis.floor import Halves, Sample, halves
from evaluation.analysis.lines import replies, said, silent, true, where
from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Sheet
from evaluation.stats.intervals import Floats
from memory.recall import Vectors

if TYPE_CHECKING:
    from memory.store import MemoryStore

SCALE = 5.0  # c of the paper
MIXTURES = 25  # of its frontier, ends left out
KEPT = 0.9  # of the variance, before clusters are looked for
EACH = 10  # vectors for each cluster, as in the paper's code
MOST = 1_000  # replies that are looked at, drawn by seed: a new text costs MiniLM 20 ms
LEAST = 50  # replies below which a handful of clusters says nothing
NAME, TITLE = "mauve", "MAUVE* on sentence vectors"
ABOUT = (
    "1: the simulated replies lie where the real ones do; near 0: elsewhere. Vectors are the store's, not GPT-2's: "
    f"not to be compared with published values, nor across numbers of replies. One cluster for {EACH} texts, at most "
    f"{MOST} replies of a side. Halves and floor as in the distributions, at half the size."
)
COLUMNS = (
    Column("stamp", "Vectors", "that were used: two stamps never share a column"),
    Column("slots", "Slots", "one real and one simulated text each", 0),
    Column("people", "People", "", 0),
    Column("clusters", "Clusters", "", 0),
    Column("mauve", "MAUVE", "of all replies", higher=True),
    Column("halves", "Halves", "simulated half against the other half's real replies", higher=True),
    Column("floor", "Floor", "real half against real half"),
)


def mauve(rows: Sequence[Scored], store: MemoryStore, seed: int = 0) -> Sheet:
    """Of one run. The same for a seed. Vectors of texts that the store does not know are made: none is kept.

    Raises: Missing, where the corpus has vectors but their model is not here.
    """
    lines = [r for r in replies(rows) if said(r) and true(r)]
    name = f"{NAME}-{re.split('[^a-z]', store.embedder)[0]}"  # mauve-minilm
    if len(lines) < LEAST or store.embedder == "none":
        why = f"{LEAST} replies with real ones beside them are needed, and a corpus with vectors."
        return silent(name, TITLE, f"{ABOUT} Not here: {why}")
    if len(lines) > MOST:
        lines = [lines[n] for n in sorted(np.random.default_rng(seed).permutation(len(lines))[:MOST])]
    people, count = [r.user for r in lines], max(2, len(lines) // EACH)
    vectors = _vectors([*map(said, lines), *map(true, lines)], store)
    label = clusters(vectors, count, seed).tolist()
    simulated, real = Sample(label[: len(lines)], people), Sample(label[len(lines) :], people)
    apart: Halves | None = halves(simulated, real, lambda a, b: frontier(shares(a, count), shares(b, count)), seed)
    line = (
        f"own 1, MAUVE*, c {SCALE:g}, {store.embedder}",
        len(lines),
        len({*people}),
        count,
        frontier(shares(simulated.values, count), shares(real.values, count)),
        apart.simulated if apart else None,
        apart.floor if apart else None,
    )
    return Sheet(name, TITLE, ABOUT, COLUMNS, (line,), (where(lines, task=lines[0].task, system=MODEL),))


def _vectors(texts: list[str], store: MemoryStore) -> Vectors:
    """In a thread with a loop of its own, so that it may be called where a loop runs already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(store.embed(texts))).result()


def clusters(vectors: Vectors, count: int, seed: int) -> np.typing.NDArray[np.int32]:
    """For each row the number of its cluster: unit rows, as many principal axes as hold KEPT of the variance, k-means.

    Equal rows are in one cluster.
    """
    from sklearn.cluster import KMeans  # type: ignore[import-untyped]
    from sklearn.decomposition import PCA  # type: ignore[import-untyped]

    distinct, at = np.unique(np.asarray(vectors, np.float64), axis=0, return_inverse=True)
    weight = np.bincount(at.ravel()).astype(np.float64)
    if len(distinct) <= count:
        return at.ravel().astype(np.int32)
    reduced = PCA(n_components=KEPT, svd_solver="full").fit_transform(distinct) if len(distinct) > 2 else distinct
    found = KMeans(count, n_init=1, max_iter=100, random_state=seed).fit(reduced, sample_weight=weight)
    return np.asarray(found.labels_[at.ravel()], np.int32)


def shares(labels: Sequence[int], count: int) -> Floats:
    """The histogram over clusters, with half a text more in each (Krichevsky and Trofimov)."""
    held = np.bincount(np.asarray(labels, np.intp), minlength=count) + 0.5
    found: Floats = held / held.sum()
    return found


def frontier(p: Floats, q: Floats) -> float:
    """The area under the divergence frontier of two histograms: exp(-c KL(q, mixture)) over exp(-c KL(p, mixture)) for
    MIXTURES mixtures, with the corners (0, 1) and (1, 0). 1 for equal histograms, symmetric, above 0.

    Source: Pillutla et al. 2021, section 2; the mean of both ways of integrating.
    """
    part = np.linspace(1e-6, 1 - 1e-6, MIXTURES)[:, None]
    mixture = part * p + (1 - part) * q
    x = np.concatenate([[0.0], np.exp(-SCALE * _divergence(q, mixture)), [1.0]])
    y = np.concatenate([[1.0], np.exp(-SCALE * _divergence(p, mixture)), [0.0]])
    return float((_area(x, y) + _area(y, x)) / 2)


def _divergence(p: Floats, mixtures: Floats) -> Floats:
    """Kullback-Leibler of p to each mixture, in nats."""
    held = p > 0
    found: Floats = (p[held] * np.log(p[held] / mixtures[:, held])).sum(axis=1)
    return np.maximum(found, 0.0)


def _area(x: Floats, y: Floats) -> float:
    order = np.lexsort((-y, x))
    return math.fsum(np.diff(x[order]) * (y[order][1:] + y[order][:-1]) / 2)
