"""Drift: what stands at which distance, what is paired, and slopes with intervals that count people."""

import math

import numpy as np
import pytest
from replies import label, reply

from evaluation.analysis.drift import COST, GOLD, OWN, drift
from evaluation.analysis.estimates import slope, slopes
from evaluation.analysis.stops import stops
from evaluation.sheet import Sheet
from evaluation.stats import Interval
from simulator.ends import End


def lines(sheet: Sheet) -> list[dict[str, object]]:
    names = [column.name for column in sheet.columns]
    return [dict(zip(names, row, strict=True)) for row in sheet.rows]


def mean(value: object) -> float:
    assert isinstance(value, Interval)
    return value.mean


def text(user: str, number: int, rouge: float, **more: object):
    given = {"rouge1": rouge, "rougeL": rouge / 2, "sbert": 0.5}
    return reply(user, "words here", "true words", number, **{"metrics": given, **more})


ROLLED = [text(user, n, 0.5 - 0.1 * n + shift) for user, shift in (("ann", 0.0), ("bob", 0.1)) for n in (1, 2, 3, 4)]


def test_values_stand_at_their_turns_since_the_real_thread() -> None:
    table, _ = drift(ROLLED)
    found = lines(table)
    assert [(row["since"], row["until"], row["asked"], row["people"]) for row in found] == [
        (1, 1, 2, 2),
        (2, 2, 2, 2),
        (3, 4, 4, 2),
    ]
    assert [mean(row["rouge1"]) for row in found] == pytest.approx([0.45, 0.35, 0.2])
    assert table.where[2] == {
        "run": "r", "mode": "rollout", "task": "generation", "system": "model", "distance": "3-4",
    }  # fmt: skip


def test_own_minus_gold_pairs_the_same_slots() -> None:
    gold = [text(r.user, int(r.slot[3:]), 0.5, mode="replay", run="g", distance=1) for r in ROLLED[:4]]
    stranger = text("ann", 9, 0.9, mode="replay", run="g", distance=1)
    rolled = ROLLED[:4]
    table, cost, slopes = drift(rolled, [*gold, stranger])
    assert [mean(row["rouge1"]) for row in lines(cost)] == pytest.approx([-0.1, -0.2, -0.35])
    assert {row["system"] for row in lines(table)} == {OWN, GOLD}
    found = dict(zip([row["system"] for row in lines(table)], table.where, strict=True))
    assert found[GOLD] == {"run": "g", "mode": "replay", "task": "generation", "system": "model"}
    of_cost = [r for r in lines(slopes) if r["system"] == COST and r["metric"] == "ROUGE-1"]
    assert mean(of_cost[0]["slope"]) == pytest.approx(-0.1)


def test_failed_answers_are_counted_and_stay_in_the_value() -> None:
    failed = reply("ann", None, "true words", 2, metrics={"rouge1": 0.0, "rougeL": 0.0, "sbert": 0.0})
    table, _ = drift([text("ann", 1, 0.4), text("ann", 2, 0.4, slot="t1_b"), failed])
    row = lines(table)[1]
    assert (row["asked"], row["failed"], mean(row["rouge1"])) == (2, 1, 0.2)


def test_metrics_of_a_whole_cell_get_an_interval_too() -> None:
    people = [f"u{n}" for n in range(8)]
    rows = [
        label(user, (at + n) % 4 > 0, n, "positive" if (at + n) % 3 else "negative", slot=f"t1_{user}_{n}_{again}")
        for at, user in enumerate(people)
        for n in (1, 2, 3)
        for again in range(4)
    ]
    table, slopes = drift(rows)
    mcc = lines(table)[0]["mcc"]
    assert isinstance(mcc, Interval) and mcc.low < mcc.mean < mcc.high and mcc.groups == 8
    steep = next(row["slope"] for row in lines(slopes) if row["metric"] == "MCC")
    assert isinstance(steep, Interval) and steep.low < steep.high


def test_a_replay_says_in_one_line_why_it_has_no_drift() -> None:
    [sheet] = drift([text("ann", 1, 0.4)])
    assert sheet.rows == () and "two distances" in sheet.about


def test_a_slope_is_that_of_the_line_and_its_error_counts_people() -> None:
    exact = slope([1, 2, 3, 1, 2, 3], [5, 7, 9, 6, 8, 10], ["a"] * 3 + ["b"] * 3)
    assert (exact.mean, exact.n, exact.groups) == (pytest.approx(2), 6, 2)
    # By hand: x - 2 = -1 0 1 -1 0 1, y = 0 0 2 0 0 0, slope 0.5;
    # residuals times x - 2 add up to 1 and -1 by person.
    found = slope([1, 2, 3, 1, 2, 3], [0, 0, 2, 0, 0, 0], ["a"] * 3 + ["b"] * 3)
    assert found.mean == pytest.approx(0.5) and found.se == pytest.approx(math.sqrt(2 * (1 + 1)) / 4)
    assert math.isnan(slope([1, 1], [0, 1], ["a", "b"]).mean) and math.isnan(slope([1, 2], [0, 1], ["a", "a"]).se)


def test_doubling_every_answer_of_everybody_narrows_nothing() -> None:
    x, y, who = [1, 2, 3, 1, 2, 3], [0, 0, 2, 0, 1, 0], ["a"] * 3 + ["b"] * 3
    assert slope(x * 2, y * 2, who * 2).se == pytest.approx(slope(x, y, who).se)


def test_a_weighted_slope_leaves_out_what_is_undefined() -> None:
    x, ones = np.array([1.0, 2, 3]), np.ones((1, 3))
    assert slopes(x, np.array([[2.0, 4, 6]]), ones)[0] == pytest.approx(2)
    assert slopes(x, np.array([[2, math.nan, 6]]), ones)[0] == pytest.approx(2)
    assert np.isnan(slopes(x, np.array([[math.nan, math.nan, 6]]), ones)).all()


def test_early_ends_are_told_from_planned_ones() -> None:
    done = [End("a", n, "the scheduler has no further slot", 1, 4, 0) for n in range(29)]
    quiet = End("b", 0, "silence: nobody said anything in a round", 1, 1, 0)
    limit = End("c", 0, "limit: 5 turns were taken", 1, 5, 0)
    ends = {(f"{n}", 0): end for n, end in enumerate([*done, quiet, limit])}
    found = lines(stops(ends))
    assert [(row["early"], row["threads"]) for row in found] == [("no", 29), ("no", 1), ("yes", 1), ("yes", 1)]
    share = found[-1]["share"]
    assert isinstance(share, Interval) and share.mean == pytest.approx(1 / 31) and 0 < share.low < share.high < 0.2
    assert stops({}).rows == () and "handed in" in stops({}).about


def test_no_early_end_is_not_certainty() -> None:
    ends = {(f"{n}", 0): End("a", n, "the scheduler has no further slot", 1, 4, 0) for n in range(30)}
    share = lines(stops(ends))[-1]["share"]
    assert isinstance(share, Interval) and share.high == pytest.approx(0.113513, abs=1e-6)
