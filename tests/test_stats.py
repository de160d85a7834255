"""Clustered errors against values worked by hand, and what every interval must keep."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats as reference

from evaluation.stats import (
    Plan,
    benjamini_hochberg,
    bootstrap,
    cliffs_delta,
    clustered_se,
    correlation,
    d_z,
    design_effect,
    holm,
    icc,
    interval,
    mcnemar,
    needed,
    odds_ratio,
    sign_flip,
    wilson,
)
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


def test_below_a_hundred_groups_students_t_is_used_and_from_there_the_normal() -> None:
    few = interval(BITS, GROUPS)
    assert few.high - few.mean == pytest.approx(reference.t.ppf(0.975, 3) * few.se)
    many = interval([*range(100)], [str(n) for n in range(100)])
    assert many.high - many.mean == pytest.approx(reference.norm.ppf(0.975) * many.se)
    assert (few.n, few.groups, many.groups) == (10, 4, 100)
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


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
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


def test_wilson_mcnemar_and_the_corrections_have_the_values_worked_by_hand() -> None:
    assert wilson(9, 10) == pytest.approx((0.59585, 0.982124), abs=1e-6)
    assert wilson(0, 30) == pytest.approx((0.0, 0.113513), abs=1e-6)
    with pytest.raises(BadInput, match="11 of 10 is no share"):
        wilson(11, 10)
    assert mcnemar(8, 2) == pytest.approx(0.109375)
    discordant = [(5, 0), (6, 0), (10, 2), (15, 5), (30, 15)]
    assert [mcnemar(*pair) for pair in discordant] == pytest.approx([0.0625, 0.03125, 0.0386, 0.0414, 0.0357], abs=5e-5)
    assert mcnemar(0, 0) == 1.0
    p = [0.001, 0.012, 0.03, 0.04, 0.2]
    assert holm(p) == pytest.approx([0.005, 0.048, 0.09, 0.09, 0.2])
    assert benjamini_hochberg(p) == pytest.approx([0.005, 0.03, 0.05, 0.05, 0.2])
    assert holm([p[3], math.nan, *p[:3], p[4]]) == pytest.approx([0.09, math.nan, 0.005, 0.048, 0.09, 0.2], nan_ok=True)


def test_flipping_signs_by_person_is_exact_for_few_and_close_to_it_for_many() -> None:
    difference = [int(a) - int(b) for a, b in zip("1101101110", "1001001100", strict=True)]
    assert sign_flip(difference, ALONE) == pytest.approx(0.25)
    assert sign_flip([0, 0], ["a", "b"]) == 1.0
    many = [1] * 15 + [-1] * 5
    alone = [str(n) for n in range(20)]
    assert sign_flip(many, alone) == pytest.approx(mcnemar(15, 5), abs=0.006)  # the same test, drawn
    assert sign_flip(many, alone, seed=1) == sign_flip(many, alone, seed=1)
    assert sign_flip([1.0] * 40, [str(n) for n in range(40)]) == pytest.approx(1 / 10_001)  # never 0
    assert sign_flip([1.0] * 40, ["a"] * 20 + ["b"] * 20) == 0.5  # two people: no more can be said


def test_effects_have_the_values_worked_by_hand() -> None:
    assert cliffs_delta([1, 2, 3], [2, 3, 4]) == pytest.approx(-0.555556, abs=1e-6)
    assert cliffs_delta([2], [1]) == 1.0 and math.isnan(cliffs_delta([], [1]))
    assert d_z([1, 2, 3]) == 2.0 and math.isnan(d_z([1, 1]))
    assert (odds_ratio(8, 2), odds_ratio(3, 0)) == (4.0, math.inf) and math.isnan(odds_ratio(0, 0))
    assert correlation([1, 2, 3], [2, 4, 6]) == pytest.approx(1.0) and math.isnan(correlation([1, 1], [1, 2]))


@pytest.mark.parametrize(
    ("n", "half", "unpaired", "paired"),
    [(100, 0.075, 0.152, 0.108), (250, 0.048, 0.096, 0.068), (500, 0.034, 0.068, 0.048), (1000, 0.024, 0.048, 0.034),
     (6000, 0.010, 0.020, 0.014)],
)  # fmt: skip
def test_a_plan_finds_what_the_published_table_says(n: int, half: float, unpaired: float, paired: float) -> None:
    sd = math.sqrt(0.82 * 0.18)
    plan = Plan(n, n, sd)
    assert (plan.half_width, plan.detectable) == pytest.approx((half, unpaired), abs=5e-4)
    assert Plan(n, n, sd, correlation=0.5).detectable == pytest.approx(paired, abs=5e-4)


def test_items_of_one_person_are_worth_less_by_the_design_effect() -> None:
    assert needed(0.03, 1 / 9) == 969
    assert (design_effect(5, 0.2), design_effect(20, 0.2)) == pytest.approx((1.8, 4.8))
    assert Plan(400, 20, 1.0, 0.2).half_width == pytest.approx(Plan(400, 400, 1.0).half_width * 2.19, abs=1e-3)
    dice = np.random.default_rng(2)
    drawn = dice.normal(scale=math.sqrt(0.2), size=(2000, 1)) + dice.normal(scale=math.sqrt(0.8), size=(2000, 10))
    assert icc(drawn.ravel().tolist(), [str(n // 10) for n in range(20_000)]) == pytest.approx(0.2, abs=0.02)
    assert math.isnan(icc([1, 2], ["a", "b"])) and icc([0, 1, 0, 1], ["a", "a", "b", "b"]) == 0.0


def test_two_groupings_count_together_and_never_less_than_the_first() -> None:
    values = [1.0, 2.0, 3.0, 5.0, 4.0, 9.0]
    users, threads = list("aabbcc"), list("xyxyxy")
    error = np.asarray(values) - np.mean(values)
    a = 3 / 2 * sum(error[[2 * n, 2 * n + 1]].sum() ** 2 for n in range(3))
    b = 2 / 1 * sum(error[n::2].sum() ** 2 for n in range(2))
    both = 6 / 5 * sum(error**2)
    assert clustered_se(values, users, across=threads) == pytest.approx(math.sqrt(max(a + b - both, a)) / 6)
    assert clustered_se(values, users, across=ALONE[:6]) == pytest.approx(clustered_se(values, users))
    assert interval(values, users, across=threads).high - 4 == pytest.approx(
        reference.t.ppf(0.975, 1) * clustered_se(values, users, across=threads)
    )


def test_95_percent_intervals_hold_the_truth_95_times_of_100_only_when_people_are_counted() -> None:
    """40 people, 10 items each, ICC 0.2; bench/coverage.py does it with more draws and for other statistics."""
    dice, held, naive, tries = np.random.default_rng(11), 0, 0, 400
    people = [str(n // 10) for n in range(400)]
    for _ in range(tries):
        drawn = dice.normal(scale=math.sqrt(0.2), size=(40, 1)) + dice.normal(scale=math.sqrt(0.8), size=(40, 10))
        found = interval(drawn.ravel().tolist(), people)
        held += found.low <= 0 <= found.high
        naive += abs(drawn.mean()) <= 1.96 * drawn.std(ddof=1) / 20
    assert 0.92 < held / tries < 0.98
    assert naive / tries < 0.85
