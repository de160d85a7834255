"""Metrics over weighted people say what the metric itself says of the answers drawn, and intervals of cells hold."""

from __future__ import annotations

import asyncio
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_world import small_store, turn

from evaluation.metrics import METRICS, Answers, Metric, of_kind
from evaluation.running import show_cells
from evaluation.scoring import score, table
from evaluation.spread import WAYS, Intervals
from evaluation.stats import interval, resampled, wilson
from evaluation.weighted import BY_CALL, mean, weighted
from simulator.records import Turn

LABELS = ("positive", "negative")
WHOLE = [metric for metric in METRICS if metric.whole]
COUNTS = st.lists(st.integers(0, 3), min_size=3, max_size=3).filter(any)
LABEL = st.tuples(
    st.sampled_from(LABELS), st.sampled_from((*LABELS, None)), st.sampled_from((0.0, 0.2, 0.5, 0.55, 1.0))
)
NUMBER = st.tuples(st.integers(-2, 4), st.integers(-2, 4), st.just(0.0))


def answers(metric: Metric, rows: list[tuple[object, object, float]]) -> Answers:
    labels = LABELS if metric.kind == "label" else ()
    return Answers([r[0] for r in rows], [r[1] for r in rows], labels, [r[2] for r in rows])


@pytest.mark.parametrize("metric", WHOLE, ids=lambda m: m.name)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_draw_has_the_value_of_the_answers_drawn(metric: Metric, data: st.DataObject) -> None:
    row = LABEL if metric.kind == "label" else NUMBER
    rows = data.draw(st.lists(row, min_size=3, max_size=9))
    people = np.array(
        [0, 1, 2, *data.draw(st.lists(st.integers(0, 2), min_size=len(rows) - 3, max_size=len(rows) - 3))]
    )
    counts = data.draw(COUNTS)
    statistic, _, _ = weighted(metric, answers(metric, rows), people)
    drawn = [r for r, person in zip(rows, people, strict=True) for _ in range(counts[person])]
    assert metric.whole is not None
    want = metric.whole(answers(metric, drawn))
    found = statistic(np.array([[1.0, 1.0, 1.0], [float(n) for n in counts]]))
    assert found.shape == (2,)
    assert found[1] == pytest.approx(want, abs=1e-9, nan_ok=True)


def test_every_kind_of_metric_is_made_of_sums_or_of_sorted_items_but_for_kendalls_tau() -> None:
    one = {"label": ("positive", "negative", 0.5), "number": (1, 2, 0.0)}
    draws = {m.name: weighted(m, answers(m, [one[m.kind]]), np.array([0]))[1] for m in WHOLE}
    assert [name for name, n in draws.items() if n == BY_CALL] == ["kendall"]


def turns() -> list[Turn]:
    return [turn("impact", "6"), turn("impact", "-1", "t1_x"), turn("impact", "1", "t1_y")]


def test_every_metric_of_a_cell_has_an_interval_with_its_value_inside() -> None:
    for cell in table(asyncio.run(score(turns(), small_store()))):
        assert list(cell.intervals) == list(cell.metrics) and list(cell.people_intervals) == list(cell.people)
        for name, value in cell.metrics.items():
            found = cell.intervals[name]
            assert found.mean == pytest.approx(value, nan_ok=True)
            assert (found.n, found.groups) == (cell.asked, cell.users)
            assert math.isnan(found.low) or found.low <= value <= found.high
            assert cell.intervals[name] is found  # computed once
        for name, value in cell.people.items():
            assert cell.people_intervals[name].mean == pytest.approx(value)


class Row:
    """A scored row as Intervals look at it."""

    def __init__(self, user: str, thread: str, value: float) -> None:
        self.user, self.thread, self.metrics = user, thread, {"correct": value, "abs_error": value}


def of(rows: list[Row], name: str) -> Intervals:
    kind = "label" if name == "accuracy" else "number"
    return Intervals(of_kind(kind), rows, lambda found: Answers([], []))  # type: ignore[arg-type]


def test_a_share_of_all_or_nothing_is_wilsons_with_a_person_as_one_trial() -> None:
    none = of([Row(f"u{n % 30}", "t", 0.0) for n in range(60)], "accuracy")["accuracy"]
    assert (none.mean, none.low) == (0.0, 0.0) and none.high == pytest.approx(0.113513, abs=1e-6)
    every = of([Row(f"u{n}", "t", 1.0) for n in range(5)], "accuracy")["accuracy"]
    assert (every.low, every.high) == wilson(5, 5) and str(every) == "1.000 [0.566, 1.000]"
    assert str(of([Row(f"u{n}", "t", 2.0) for n in range(5)], "mae")["mae"]) == "2.000 [2.000, 2.000]"  # all equal


def test_threads_count_beside_people_where_both_repeat_and_there_are_enough_of_them() -> None:
    dice = np.random.default_rng(5)
    shift = dice.normal(size=WAYS)
    rows = [Row(f"u{u}", f"t{t}", float(shift[t] + dice.normal())) for u in range(40) for t in range(WAYS)]
    values, users = [r.metrics["abs_error"] for r in rows], [r.user for r in rows]
    by_user, both = interval(values, users), of(rows, "mae")["mae"]
    assert both.se > 3 * by_user.se
    few = [row for row in rows if row.thread != "t0"]
    assert of(few, "mae")["mae"].se == interval([r.metrics["abs_error"] for r in few], [r.user for r in few]).se


def test_below_thirty_people_a_resample_is_widened_and_one_person_or_no_change_is_unknown() -> None:
    dice = np.random.default_rng(1)
    values, people = dice.normal(size=8), np.arange(8) // 2
    found = resampled(mean(values, people), 4)
    assert found.se == pytest.approx(interval(values.tolist(), [str(p) for p in people]).se, rel=0.05)
    assert found.high - found.mean > 3 * found.se  # t with 3 degrees
    assert math.isnan(resampled(mean(values, people * 0), 1).low)
    assert math.isnan(resampled(mean(values * 0, people), 4).low)


def test_the_console_shows_every_value_with_its_interval_and_how_many_people_it_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_cells(table(asyncio.run(score(turns(), small_store()))))
    [head] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("system")]
    assert head.split()[:5] == ["system", "asked", "scored", "failed", "users"] and "mae, mean of users" in head
    rows = [Row(f"u{n}", "t", float(n)) for n in range(3)]
    assert f"{of(rows, 'mae')['mae']:.1f}" == "1.0 [0.0, 3.5]"
