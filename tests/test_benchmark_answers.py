"""Answers are read, and figures made, as the reference's own evaluators read and make them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from evaluation.benchmark.answers import impact, read, sentiment
from evaluation.benchmark.figures import best_of, classification, mean_of, regression, texts

FACTS: dict[str, Any] = json.loads((Path(__file__).parent / "parity" / "expected_evaluation.json").read_text())


@pytest.mark.parametrize("case", FACTS["sentiment_parsing"], ids=lambda c: c["output"])
def test_a_label_is_read_as_there(case: dict[str, Any]) -> None:
    assert sentiment(case["output"], "chat") == case["chat_evaluator"]
    assert sentiment(case["output"], "log") == case["log_evaluator"]


@pytest.mark.parametrize("case", FACTS["impact_parsing"], ids=lambda c: c["output"])
def test_a_number_is_read_as_there(case: dict[str, Any]) -> None:
    wanted = case["chat_evaluator"]
    found = impact(case["output"], "chat")
    assert str(found) == wanted if isinstance(wanted, str) else found == wanted
    assert (found is None) == (case["chat_error"] == "non_numerical_response")
    assert impact(case["output"], "log") == case["log_evaluator"]


@pytest.mark.parametrize("case", FACTS["classification_metrics"])
def test_both_f1_are_those_of_the_two_evaluators(case: dict[str, Any]) -> None:
    found = classification(case["true"], case["pred"], "left_out")
    chat = case["chat_evaluator"]
    assert [found[n] for n in ("accuracy", "f1_positive", "mcc")] == pytest.approx(
        [chat["accuracy"], chat["f1"], chat["mcc"]]
    )
    for log in case["log_evaluator"]:
        assert [found[n] for n in ("accuracy", "f1_weighted", "mcc", "count")] == pytest.approx(
            [log["accuracy"], log["f1_score"], log["mcc"], log["count"]]
        )


def test_errors_of_numbers_are_those_of_the_evaluators() -> None:
    facts = FACTS["regression_metrics"]
    found = regression(facts["true"], facts["pred"], "left_out")
    chat = facts["chat_evaluator"]
    assert [found[n] for n in ("mse", "rmse", "mae", "count")] == pytest.approx(
        [chat["mse"], chat["rmse"], chat["mae"], chat["samples"]]
    )


@pytest.mark.parametrize("case", FACTS["text_metrics"], ids=lambda c: c["candidate"])
def test_texts_score_as_there(case: dict[str, Any]) -> None:
    found = texts(case["reference"], case["candidate"])
    assert [found[n] for n in ("rouge1", "rougeL", "bleu")] == pytest.approx(
        [case["rouge1_f"], case["rougeL_f"], case["bleu_method1"]]
    )


def test_an_unreadable_answer_leaves_the_figures_there_and_counts_as_wrong_here() -> None:
    truth, said = ["positive", "negative", "positive", "positive"], ["positive", "negative", None, "positive"]
    there, here = classification(truth, said, "left_out"), classification(truth, said, "wrong")
    assert (there["accuracy"], there["count"]) == (1.0, 3.0)
    assert (here["accuracy"], here["count"]) == (0.75, 4.0)
    assert here["f1_positive"] == pytest.approx(0.8) and here["f1_weighted"] < 1 and here["mcc"] < 1
    assert regression([9, 9], [9.0, None], "left_out")["mae"] == 0
    assert regression([9, 9], [9.0, math.nan], "wrong")["mae"] == 4


def test_nothing_readable_gives_no_figure_rather_than_a_good_one() -> None:
    assert math.isnan(classification(["positive"], [None], "left_out")["accuracy"])
    assert math.isnan(regression([3], [None], "left_out")["rmse"])
    assert math.isnan(mean_of([None], "left_out")) and mean_of([None, 1.0], "wrong") == 0.5


def test_the_oracle_takes_the_best_of_its_answers_and_may_drop_a_zero() -> None:
    assert best_of([0.1, None, 0.4], drop_zero=True) == 0.4
    assert best_of([0.0, 0.0], drop_zero=True) is None and best_of([0.0, 0.0], drop_zero=False) == 0.0
    assert best_of([None], drop_zero=False) is None


def test_a_logged_error_is_no_text_but_a_chat_answer_may_say_so() -> None:
    assert read("generation", "Error: no quota", "log") is None and read("generation", "Error: no", "chat")
    assert read("generation", "<think>hm</think> Yes.", "log") == "Yes."
