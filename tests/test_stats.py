"""Clustered errors against values worked by hand, and what every interval must keep."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from evaluation.stats import bootstrap, clustered_se, interval
from memory.errors import BadInput

BITS = [1, 1, 1, 0, 0, 0, 1, 1, 0, 0]
GROUPS = list("aaabbbccdd")
ALONE = [str(n) for n in range(10)]


def test_clustered_errors_are_those_worked_by_hand() -> None:
    assert clustered_se(BITS, GROUPS, corrected=False) == pytest.approx(0.254951, abs=1e-6)
    assert clustered_se(BITS, GROUPS) == pytest.approx(0.294392, abs=1e-6)
    assert clustered_se(BITS, ALONE, corrected=False) == pytest.approx(0.158114, abs=1e-6)
    assert clustered_se(BITS, ALONE) == pytest.approx(0.166667, abs=1e-6)  # the naive one: ddof 1


def test_a_paired_difference_has_the_error_worked_by_hand() -> None:
    pairs = zip("1101101110", "1001001100", strict=True)
    difference = [int(a) - int(b) for a, b in pairs]
    found = interval(difference, ALONE)
    assert found.mean == pytest.approx(0.3)
    assert found.se == pytest.approx(0.152753, abs=1e-6)


def test_below_thirty_groups_students_t_is_used_and_from_there_the_normal() -> None:
    few = interval(BITS, GROUPS)
    assert few.high - few.mean == pytest.approx(reference.t.ppf(0.975, 3) * few.se)
    many = interval([*range(30)], [str(n) for n in range(30)])
    assert many.high - many.mean == pytest.approx(reference.norm.ppf(0.975) * many.se)
    assert (few.n, few.groups, many.groups) == (10, 4, 30)
    assert str(few) == "0.500 [-0.437, 1.437]"


def test_one_group_says_nothing_about_others() -> None:
    found = interval([1, 0], ["a", "a"])
    assert found.mean == 0.5 and math.isnan(found.se) and math.isnan(found.low)
    assert str(found) == "0.500"


def test_no_values_and_missing_groups_are_refused() -> None:
    for values, groups in (([], []), ([1.0], [])):
        with pytest.raises(BadInput, match="give one group a value"):
            interval(values, groups)
        with pytest.raises(BadInput, match="give one group a value"):
            bootstrap(values, groups, sum, seed=1)


def mean(items: list[float]) -> float:
    return float(np.mean(items))


def test_a_bootstrap_repeats_itself_bit_for_bit_and_follows_its_seed() -> None:
    first = bootstrap(BITS, GROUPS, mean, seed=3, draws=300)
    assert first == bootstrap(BITS, GROUPS, mean, seed=3, draws=300)
    assert len({bootstrap(BITS, GROUPS, mean, seed=s, draws=3) for s in range(9)}) > 3
    low, high = bootstrap(BITS, GROUPS, mean, seed=0, draws=4000)
    # Its spread is that of the uncorrected clustered error, 0.255: too narrow for four groups.
    spread = [mean_of for s in range(2000) for mean_of in bootstrap(BITS, GROUPS, mean, seed=s, draws=1)[:1]]
    assert np.std(spread) == pytest.approx(0.253, abs=0.015)
    assert 0 <= low < 0.5 < high <= 1


def test_a_bootstrap_leaves_out_draws_that_have_no_value() -> None:
    assert bootstrap([1.0, 1.0], ["a", "b"], lambda _: math.nan, seed=0, draws=5) == pytest.approx(
        (math.nan, math.nan), nan_ok=True
    )
    half = iter([math.nan, 1.0] * 10)
    assert bootstrap([1.0, 1.0], ["a", "b"], lambda _: next(half), seed=0, draws=20) == (1.0, 1.0)


@given(st.lists(st.tuples(st.floats(-5, 5), st.sampled_from("abcd")), min_size=2, max_size=30), st.randoms())
def test_the_order_of_items_changes_nothing_and_copied_groups_do_not_shrink_the_error(
    items: list[tuple[float, str]], dice: object
) -> None:
    values, groups = [v for v, _ in items], [g for _, g in items]
    mixed = items[:]
    dice.shuffle(mixed)  # type: ignore[attr-defined]
    plain = clustered_se(values, groups, corrected=False)
    assert plain == pytest.approx(clustered_se([v for v, _ in mixed], [g for _, g in mixed], corrected=False), abs=1e-9)
    assert plain == pytest.approx(clustered_se(values * 3, groups * 3, corrected=False), abs=1e-9)
