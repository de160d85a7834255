"""Measures of a ranking, against values worked by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.ranking import ndcg, recalled_all, recalled_any, reciprocal_rank

HITS = [False, True, False, True]  # of three relevant messages two came back


def test_any_and_all_look_at_the_first_k() -> None:
    assert [recalled_any(HITS, k) for k in (1, 2, 9)] == [0, 1, 1]
    assert [recalled_all(HITS, 2, k) for k in (1, 3, 4)] == [0, 0, 1]
    assert recalled_all(HITS, 3, 9) == 0
    assert recalled_any([], 5) == recalled_all([], 1, 5) == 0


def test_ndcg_has_the_standard_discount() -> None:
    found = 1 / math.log2(3) + 1 / math.log2(5)
    best = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert ndcg(HITS, 3, 4) == pytest.approx(found / best)
    assert ndcg(HITS, 3, 1) == 0
    assert ndcg([False, True], 1, 2) == pytest.approx(0.630930, abs=1e-6)
    assert ndcg([True], 1, 1) > ndcg([False, True], 1, 2), "LongMemEval's discount gives both 1"


def test_the_first_relevant_rank_counts_alone() -> None:
    assert reciprocal_rank(HITS, 4) == 0.5
    assert reciprocal_rank(HITS, 1) == reciprocal_rank([], 4) == 0


@given(st.lists(st.booleans(), max_size=12), st.integers(0, 5), st.integers(1, 12))
def test_all_stay_between_none_and_a_perfect_order(hits: list[bool], missed: int, k: int) -> None:
    relevant = sum(hits) + missed
    if relevant:
        perfect = sorted(hits, reverse=True)
        assert 0 <= ndcg(hits, relevant, k) <= ndcg(perfect, relevant, k) <= 1 + 1e-12
        assert recalled_all(hits, relevant, k) <= recalled_any(hits, k) or not any(hits[:k])
        assert reciprocal_rank(hits, k) <= recalled_any(hits, k)
