"""Tables that the report shows besides the analyses: what their rows count is what their links lead to."""

import pytest

from evaluation.rows import Scored
from evaluation.views.calibration import calibration
from evaluation.views.failures import failures
from evaluation.views.scatter import _rounded, _span, scatter


def row(**given) -> Scored:
    fixed = {"run": "r", "mode": "replay", "thread": "t", "slot": "s", "repeat": 0, "system": "model", "user": "ann"}
    return Scored(**{**fixed, "place": "p", "parent": "t", "time": 1, "distance": 1, "history": 2, **given})


@pytest.mark.parametrize("value", [0, 0.49, -0.3, 0.5, 3.49, 9, 9.49, 9.5, 10, 19.5, 20, 96, 99, 394, -1, -12, -96.5])
def test_a_number_is_within_the_span_of_the_point_it_stands_at(value: float) -> None:
    low, _, high = _span(_rounded(value)).partition(" to ")
    assert float(low) <= value <= float(high)
    assert abs(_rounded(value)) <= max(abs(value) + 0.5, 10)


def test_points_are_counted_with_unread_answers_at_their_stand_in() -> None:
    rows = [
        row(task="impact", kind="number", truth=3.0, value=96.0),
        row(task="impact", kind="number", truth=3.0, value=91.0),
        row(task="impact", kind="number", truth=3.0, value=None, fill=2.0, failure="empty"),
        row(task="impact", kind="number", truth=None, value=2.0),
    ]
    found = scatter(rows)
    assert found is not None and [line[1:] for line in found.rows] == [(3.0, 2.0, 1), (3.0, 90.0, 2)]
    assert found.where[1]["measured"] == "90 to 99.9999" and scatter([]) is None


def test_calibration_counts_each_bin_and_its_interval_stays_a_share() -> None:
    rows = [
        row(task="sentiment", kind="label", truth=truth, value="positive", detail={"p": p}, user=f"u{n}")
        for n, (p, truth) in enumerate([(0.0, "negative"), (0.1, "negative"), (0.75, "positive"), (0.8, "negative")])
    ]
    found = calibration(rows)
    assert found is not None
    assert [line[1:3] for line in found.rows] == [("0.0 to 0.1", 2), ("0.7 to 0.8", 2)]
    share = found.rows[1][4]
    assert share.mean == 0.5 and 0 <= share.low < 0.5 < share.high <= 1 and calibration([]) is None


def test_failures_are_counted_by_class_the_most_frequent_first() -> None:
    rows = [
        row(task="impact", kind="number", truth=1.0, failure=kind, reason=reason)
        for kind, reason in [("empty", ""), ("transport", "no connection"), ("transport", "gone"), (None, "")]
    ]
    found = failures(rows)
    assert [line[1:] for line in found.rows] == [("transport", 2, 0.5, "no connection"), ("empty", 1, 0.25, "")]
    assert found.where[0]["failure"] == "transport" and failures([]).rows == ()
