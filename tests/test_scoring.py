"""Scoring: one row for every target and system, failures kept, the same bytes every time."""

import asyncio
import math
from dataclasses import replace

import pytest
from small_world import NEW, OLD, SmallCorpus, SmallStore, said, small_store, turn

from evaluation.baselines import of_kind
from evaluation.metrics import of_kind as of_the_kind
from evaluation.scoring import MODEL, Cell, Scored, dump, load, probability, score, table
from memory.errors import BadInput, UnknownName

TURNS = [
    turn("reply", "says my doctor"),
    turn("sentiment", "positive"),
    turn("impact", "about 4"),
    turn("reply", None, "t1_x"),
    turn("sentiment", "maybe", "t1_x"),
    turn("impact", "many", "t1_x"),
]


def scored(*turns, store: SmallStore | None = None) -> list[Scored]:
    return asyncio.run(score(turns or TURNS, store or small_store()))


def row(rows: list[Scored], task: str, slot: str, system: str = MODEL) -> Scored:
    [found] = [r for r in rows if (r.task, r.slot, r.system) == (task, slot, system)]
    return found


def cell(rows: list[Scored], task: str, system: str = MODEL) -> Cell:
    [found] = [c for c in table(rows) if (c.task, c.system) == (task, system)]
    return found


def test_the_model_and_every_baseline_answer_the_same_targets() -> None:
    rows = scored()
    systems = {task: {r.system for r in rows if r.task == task} for task in ("sentiment", "impact", "generation")}
    for task, kind in (("sentiment", "label"), ("impact", "number"), ("generation", "text")):
        assert systems[task] == {MODEL, *(f"baseline:{b.name}" for b in of_kind(kind))}
        for system in systems[task]:
            assert [r.slot for r in rows if (r.task, r.system) == (task, system)] == ["t1_x", "t1_z"]


def test_a_right_answer_is_measured_with_its_stamp() -> None:
    rows = scored()
    assert row(rows, "sentiment", "t1_z").metrics == {"correct": 1.0, "brier": 0.0}
    impact = row(rows, "impact", "t1_z")
    assert impact.metrics["abs_error"] == 2.0 and 0 < impact.metrics["slog_error"] < 1
    reply = row(rows, "generation", "t1_z")
    assert {name: reply.metrics[name] for name in ("rouge1", "rougeL", "sbert")} == {
        "rouge1": 1.0,
        "rougeL": 1.0,
        "sbert": 1.0,
    }
    assert reply.stamps.keys() == reply.metrics.keys() and reply.stamps["sbert"].endswith("words:64")


def test_failed_answers_keep_their_rows_and_get_the_declared_stand_in() -> None:
    rows = scored()
    label, number, text = (row(rows, task, "t1_x") for task in ("sentiment", "impact", "generation"))
    assert (label.value, label.failure, label.metrics) == (None, "unparseable", {"correct": 0.0, "brier": 1.0})
    assert (number.value, number.failure, number.fill) == (None, "unparseable", 2.0)  # median of the comments 3 0 2
    assert number.metrics["abs_error"] == 3.0
    assert (text.value, text.failure, text.reason) == (None, "transport", "no connection")
    assert text.metrics["length"] < 0 and not any(v for name, v in text.metrics.items() if name != "length")


def test_every_cell_counts_asked_scored_and_failed() -> None:
    for task in ("sentiment", "impact", "generation"):
        found = cell(scored(), task)
        assert (found.asked, found.scored, found.failed, found.users) == (2, 1, 1, 1)
        assert found.asked == found.scored + found.failed == found.scored + sum(found.failures.values())


def test_cells_hold_the_metrics_of_their_task() -> None:
    rows = scored()
    sentiment = cell(rows, "sentiment").metrics
    assert sentiment.keys() == {m.name for m in of_the_kind("label")}
    assert [sentiment[name] for name in ("accuracy", "macro_f1", "mcc")] == pytest.approx([0.5] * 3)
    assert cell(rows, "impact").metrics["mae"] == pytest.approx(2.5)
    assert cell(rows, "impact").metrics["rmse"] == pytest.approx(math.sqrt((2**2 + 3**2) / 2))
    assert cell(rows, "impact", "baseline:one").metrics["mae"] == pytest.approx(3.5)
    assert math.isnan(cell(rows, "impact", "baseline:one").metrics["spearman"])
    assert cell(rows, "generation").metrics["rouge1"] == pytest.approx(0.5)


def test_a_baseline_says_how_much_less_the_model_errs_than_it() -> None:
    rows = scored(turn("impact", "4"), turn("sentiment", "positive"))
    mae = cell(rows, "impact", "baseline:one").metrics["mae"]
    assert cell(rows, "impact", "baseline:one").skill == pytest.approx(1 - cell(rows, "impact").metrics["mae"] / mae)
    assert math.isnan(cell(rows, "impact").skill) and cell(rows, "sentiment", "baseline:majority").skill == 1.0


def test_an_unread_answer_is_sure_and_wrong_whatever_is_true() -> None:
    rows = scored(turn("sentiment", "maybe", "t1_x"), turn("sentiment", "maybe", "t1_z"))
    assert {probability(r) == float(r.truth == "negative") for r in rows if r.system == MODEL} == {True}
    assert cell(rows, "sentiment").metrics["brier"] == 1.0


def test_a_stated_share_is_the_probability_of_a_majority() -> None:
    [found] = [r for r in scored(turn("sentiment", "positive")) if r.system == "baseline:majority"]
    assert 0.5 < probability(found) == found.detail["p"] < 1


def test_the_mean_over_people_weighs_each_person_once() -> None:
    rows = scored(turn("impact", "6"), turn("impact", "-1", "t1_x"), turn("impact", "1", "t1_y"))
    found = cell(rows, "impact")
    assert found.metrics["mae"] == pytest.approx(4 / 3) and found.people["mae"] == pytest.approx(2.0)
    assert "rmse" not in found.people


def test_a_message_with_an_unknown_score_is_no_target_and_is_counted() -> None:
    hidden = NEW.plus(replace(NEW["t1_z"], score=None))
    rows = scored(store=SmallStore(SmallCorpus(OLD, hidden)))
    assert [r.system for r in rows if r.task == "impact" and r.slot == "t1_z"] == [MODEL]
    assert row(rows, "impact", "t1_z").metrics == {}
    found = cell(rows, "impact")
    assert (found.asked, found.unknown) == (1, 1)
    assert cell(rows, "generation").asked == 2


def test_a_cell_without_any_target_is_nan_not_zero() -> None:
    hidden = NEW.plus(replace(NEW["t1_z"], score=None))
    rows = scored(turn("impact", "3"), turn("sentiment", "positive"), store=SmallStore(SmallCorpus(OLD, hidden)))
    for task in ("impact", "sentiment"):
        found = cell(rows, task)
        assert found.asked == 0 and found.unknown == 1
        assert all(math.isnan(value) for value in found.metrics.values())


def test_fallbacks_of_baselines_are_counted() -> None:
    newcomer = said("t1_new", "t3_new", "t1_z", "dan", 135, "hello", 1)
    store = SmallStore(SmallCorpus(OLD, NEW.plus(newcomer)))
    rows = scored(turn("reply", "hi", "t1_new", NEW.plus(newcomer)), store=store)
    assert cell(rows, "generation", "baseline:own_last").fallback == 1
    assert cell(rows, "generation", "baseline:parent_copy").fallback == 0


def test_a_rollouts_probe_is_measured_against_the_true_counterpart() -> None:
    rows = scored(turn("sentiment", "positive", mode="rollout", judged="simulated", distance=3))
    found = row(rows, "sentiment", "t1_z")
    assert (found.mode, found.judged, found.distance, found.truth) == ("rollout", "simulated", 3, "positive")


def test_repeats_runs_and_modes_stand_apart() -> None:
    rows = scored(turn("impact", "1"), turn("impact", "2", repeat=1), turn("impact", "3", run="run2"))
    assert [(c.run, c.asked) for c in table(rows) if c.system == MODEL] == [("run1", 2), ("run2", 1)]


def test_scoring_twice_in_any_order_gives_the_same_bytes(tmp_path) -> None:
    dump(scored(*TURNS), tmp_path / "one")
    dump(scored(*reversed(TURNS)), tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    assert load(tmp_path / "one") == scored()
    assert not list(tmp_path.glob("*.new"))


def test_a_row_carries_what_explains_it(tmp_path) -> None:
    found = row(scored(), "generation", "t1_z")
    assert (found.model, found.retriever, found.prompt_hash, found.recalled) == (
        "fake:scripted",
        "recency:k=1",
        "abcd",
        ("t1_c",),
    )
    assert (found.tokens_in, found.tokens_out, found.cached, found.seconds) == (100, 5, 60, 0.5)
    assert (found.user, found.place, found.thread, found.time, found.history) == ("ann", "place", "t3_new", 130, 2)


def test_untrusted_text_survives_the_file(tmp_path) -> None:
    odd = "\ud800 \u2028 \x1b[31m </script>\n"
    dump(scored(turn("reply", odd)), tmp_path / "rows")
    assert row(load(tmp_path / "rows"), "generation", "t1_z").answer == odd


def test_a_broken_line_is_named(tmp_path) -> None:
    dump(scored(), tmp_path / "rows")
    with (tmp_path / "rows").open("a") as stream:
        stream.write('{"run": "half')
    lines = len(scored()) + 1
    with pytest.raises(BadInput, match=f"line {lines} is no scored row"):
        load(tmp_path / "rows")


def test_two_versions_of_a_metric_never_share_a_column() -> None:
    rows = scored(turn("reply", "a"), turn("reply", "b", "t1_x"))
    old = replace(row(rows, "generation", "t1_x"), stamps={"rouge1": "rouge-score 0.0.1", "rougeL": "x", "sbert": "y"})
    with pytest.raises(BadInput, match=r"ROUGE-1 of task generation was made in two ways"):
        table([old, row(rows, "generation", "t1_z")])


def test_an_unknown_ask_or_thread_is_named() -> None:
    with pytest.raises(UnknownName, match="unknown ask of a turn 'mood': choose from impact, reply, sentiment"):
        scored(turn("mood", "x"))
    with pytest.raises(UnknownName, match="thread"):
        scored(store=SmallStore(SmallCorpus(OLD)))


def test_no_turns_give_no_rows_and_no_cells() -> None:
    assert asyncio.run(score([], small_store())) == []
    assert table([]) == []


def test_the_table_lists_the_model_first_then_baselines_in_their_order() -> None:
    systems = [c.system for c in table(scored()) if c.task == "generation"]
    assert systems == [MODEL, *(f"baseline:{b.name}" for b in of_kind("text"))]
