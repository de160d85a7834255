"""The verdict goes by paired differences that count people, never by values alone."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from evaluation.rows import MODEL, Scored
from evaluation.scoring import table
from evaluation.verdict import Standing, number, standings, verdict

CHANCE = "baseline:chance"


def row(n: int, system: str, user: str, right: bool, failure: str | None = None) -> Scored:
    truth = "positive" if n % 2 else "negative"
    said = None if failure else truth if right else "negative" if n % 2 else "positive"
    values = {"correct": float(right), "brier": float(not right)}
    return Scored(
        run="r", mode="replay", task="sentiment", kind="label", thread=f"t{n}", slot=f"s{n}", repeat=0, system=system,
        user=user, place="p", parent="", time=n, distance=0, history=0, truth=truth, value=said, failure=failure,
        metrics=values, hindsight=system.endswith("hindsight"),
    )  # fmt: skip


def rows(system: str, right: Sequence[bool]) -> list[Scored]:
    """Four answers a person, two of each truth."""
    return [row(n, system, f"u{n // 4}", ok) for n, ok in enumerate(right)]


def numbers(system: str, errors: Sequence[float]) -> list[Scored]:
    return [
        replace(
            row(n, system, f"u{n}", True), task="impact", kind="number", truth=0.0, value=error,
            metrics={"abs_error": error, "slog_error": error},
        )
        for n, error in enumerate(errors)
    ]  # fmt: skip


def only(found: list[Scored]) -> Standing:
    [standing] = standings(table(found), found)
    return standing


GOOD, HALF = [n % 9 != 0 for n in range(40)], [n // 2 % 2 == 0 for n in range(40)]


def test_a_model_is_ahead_where_the_interval_of_the_difference_leaves_out_0() -> None:
    found = only(rows(MODEL, GOOD) + rows(CHANCE, HALF))
    assert found.gap is not None and 0 < found.gap.low < found.gap.mean < found.gap.high and found.gap.groups == 10
    assert (found.sign, found.wins, found.columns) == (1, 3, 3)
    assert verdict([found]) == (
        "Yes: the model beats the best trivial baseline on 1 of 1 task; ahead on sentiment (MCC"
        f" {found.model.metrics['mcc']:.3f}, +{found.gap.mean:.3f} [+{found.gap.low:.3f}, +{found.gap.high:.3f}]"
        " against chance)."
    )


def test_a_model_is_behind_the_other_way_round() -> None:
    found = only(rows(MODEL, HALF) + rows(CHANCE, GOOD))
    assert found.sign == -1 and verdict([found]).startswith("No: the model beats the best trivial baseline on 0 of 1")


def test_a_better_value_of_few_people_is_undecided() -> None:
    found = only(rows(MODEL, GOOD[:12]) + rows(CHANCE, HALF[:12]))
    assert found.gap is not None and found.gap.mean > 0.3 and found.sign == 0
    opening = "Undecided: with 3 people, nothing tells the model from the best trivial baseline; undecided on sentiment"
    assert verdict([found]).startswith(opening)


def test_lower_errors_are_ahead() -> None:
    found = only(numbers(MODEL, [1.0, 2.0, 1.5, 1.0, 2.0]) + numbers("baseline:one", [4.0, 4.0, 5.0, 5.5, 4.5]))
    assert found.sign == 1 and "ahead on impact (MAE 1.500, −3.100 [−" in verdict([found])


@pytest.mark.parametrize("people", [1, 2])
def test_equal_differences_and_a_single_person_decide_nothing(people: int) -> None:
    ours, theirs = numbers(MODEL, [1.0] * people), numbers("baseline:one", [3.0] * people)
    assert only(ours + theirs).sign == 0 and "n/a" not in verdict([only(ours + theirs)])


def test_without_the_same_answers_there_is_no_difference() -> None:
    found = only(rows(MODEL, GOOD) + rows(CHANCE, HALF)[:-1])
    assert (found.gap, found.sign) == (None, 0) and "chance 0." in verdict([found])
    assert only(rows(MODEL, GOOD)).sign == 0


def test_what_sees_more_is_never_the_best() -> None:
    found = only(rows(MODEL, GOOD) + rows(CHANCE, HALF) + rows("baseline:hindsight", [True] * 40))
    assert found.sign == 1 and found.best is not None and found.best.system == CHANCE


@pytest.mark.parametrize(("right", "sign"), [(14, 0), (20, 1)])
def test_a_model_that_failed_is_not_ahead_by_mcc_alone(right: int, sign: int) -> None:
    """It fails on one class only, so its MCC is above a constant guess's, even where its accuracy is below."""
    failed = [n % 2 == 0 and n < 32 for n in range(40)]
    ours = [row(n, MODEL, f"u{n}", n % 2 == 0 or n < 2 * right, "empty" if failed[n] else None) for n in range(40)]
    found = only(
        [replace(r, metrics={"correct": float(not r.failure and r.value == r.truth), "brier": 0.5}) for r in ours]
        + [row(n, CHANCE, f"u{n}", n % 2 == 1) for n in range(40)]
    )
    assert found.gap is not None and found.gap.low > 0 and found.sign == sign
    assert (", 16 failed)" in verdict([found])) == (sign == 0)


def test_tasks_are_told_in_groups_and_none_is_nothing() -> None:
    ahead = only(rows(MODEL, GOOD) + rows(CHANCE, HALF))
    behind = replace(ahead, task="impact", sign=-1)
    said = verdict([ahead, behind, replace(ahead, task="generation", sign=0)])
    assert said.startswith("Partly: the model beats the best trivial baseline on 1 of 3 tasks; ahead on sentiment (")
    assert said.index("undecided on generation (") < said.index("behind on impact (")
    assert verdict([]).startswith("Nothing to judge: no answer")


def test_numbers_have_a_real_minus_and_nan_is_not_a_number() -> None:
    assert (number(-0.12345), number(float("nan"))) == ("−0.123", "n/a")
