"""MAUVE on vectors: the frontier's known ends, true clusters found again, a floor that a perfect imitation meets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from replies import reply
from small_world import small_store

from evaluation.analysis.mauve import clusters, frontier, mauve, shares
from evaluation.stats import Interval

HISTOGRAMS = st.lists(st.integers(0, 20), min_size=6, max_size=6).filter(any)


def test_equal_histograms_give_1_and_disjoint_ones_c_times_beta() -> None:
    half = np.array([0.5, 0.5, 0, 0])
    assert frontier(half, half) == pytest.approx(1)
    exact = 5 * 120 * 24 / 3_628_800  # 5 B(6, 5): the integral of l^5 over d(1 - l)^5
    assert frontier(half, half[::-1]) == pytest.approx(exact, abs=2e-4)


@given(HISTOGRAMS, HISTOGRAMS)
def test_the_frontier_is_symmetric_and_between_0_and_1(a: list[int], b: list[int]) -> None:
    p, q = np.array(a) / sum(a), np.array(b) / sum(b)
    assert frontier(p, q) == pytest.approx(frontier(q, p)) and 0 < frontier(p, q) <= 1 + 1e-12
    assert frontier(p, p) == pytest.approx(1)


def test_shares_are_smoothed_by_half_a_text() -> None:
    assert shares([0, 0, 2], 3).tolist() == pytest.approx([2.5 / 4.5, 0.5 / 4.5, 1.5 / 4.5])


def test_true_clusters_are_found_again() -> None:
    dice = np.random.default_rng(0)
    centres = dice.normal(size=(6, 32)) * 20
    truth = dice.integers(6, size=300)
    found = clusters((centres[truth] + dice.normal(size=(300, 32)) * 0.1).astype(np.float32), 6, seed=0)
    assert len(set(zip(truth.tolist(), found.tolist(), strict=True))) == 6


def world(said: str, n: int = 120):
    real = ["red apple", "green pear", "old bicycle", "new chain", "deep sea"]
    return [
        reply(f"u{k % 8}", (real[(k * 7) % 5] if said == "like" else said) + f" {k % 9}", f"{real[k % 5]} {k % 9}", k)
        for k in range(n)
    ]


def test_a_perfect_imitation_meets_the_floor_and_one_phrase_for_all_does_not() -> None:
    like, phrase = (mauve(world(said), small_store()).rows[0] for said in ("like", "I agree"))
    names = [column.name for column in mauve(world("like"), small_store()).columns]
    of_like, of_phrase = (dict(zip(names, row, strict=True)) for row in (like, phrase))
    assert of_like["stamp"] == "own 1, MAUVE*, c 5, words:64" and of_like["clusters"] == 12
    floor, halves, far = of_like["floor"], of_like["halves"], of_phrase["mauve"]
    assert isinstance(floor, Interval) and isinstance(halves, Interval) and isinstance(far, float)
    assert halves.mean > floor.low and far < floor.low / 2


def test_it_carries_the_name_of_its_vectors_and_is_the_same_for_a_seed() -> None:
    rows, store = world("like"), small_store()
    assert mauve(rows, store).name == "mauve-words" and mauve(rows, store, 1) == mauve(rows, store, 1)


def test_few_replies_are_not_judged() -> None:
    assert mauve(world("like", 20), small_store()).rows == ()
