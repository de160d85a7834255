"""Metrics against hand-made numbers, exact values of the libraries, and properties that must hold for any input."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation import metrics

P, N = "positive", "negative"
LABELS = (P, N)


def near(value: float) -> object:
    return pytest.approx(value, abs=1e-6)


def signs(bits: str) -> list[str | None]:
    return [{"1": P, "0": N, "?": None}[bit] for bit in bits]


def true_signs(bits: str) -> list[str]:
    return [P if bit == "1" else N for bit in bits]


@pytest.mark.parametrize(
    ("truth", "guess", "rouge1", "rouge_l"),
    [
        ("the cat lay on the mat", "the cat sat on the mat", 5 / 6, 5 / 6),
        ("the cat sat on the mat", "on the mat sat the cat", 1.0, 0.5),
        ("he runs", "he was running", 0.8, 0.8),
        ("a b", "a a a a", 1 / 3, 1 / 3),
        ("", "", 0.0, 0.0),
        ("!!!", "!!!", 0.0, 0.0),
        ("你好", "你好", 0.0, 0.0),
        ("hello", "hello", 1.0, 1.0),
    ],
)
def test_rouge_gives_the_values_worked_out_by_hand(truth: str, guess: str, rouge1: float, rouge_l: float) -> None:
    assert metrics.rouge(truth, guess) == (near(rouge1), near(rouge_l))


def test_rouge_takes_the_stem_where_the_plain_word_would_give_half() -> None:
    assert metrics.rouge("he runs", "he was running")[0] == near(0.8)


def test_a_text_of_twenty_thousand_characters_is_cut_where_the_stamp_says() -> None:
    long = "word " * 4_000
    assert metrics.rouge(long, long + "other " * 4_000) == (near(1.0), near(1.0))
    assert str(metrics.TEXT_LIMIT) in next(m for m in metrics.METRICS if m.name == "rougeL").stamp()


def test_classification_gives_the_values_worked_out_by_hand() -> None:
    truth, guess = true_signs("11100010"), signs("11001010")
    assert metrics.accuracy(truth, guess) == near(0.75)
    assert metrics.macro_f1(truth, guess, LABELS) == near(0.75)
    assert metrics.mcc(truth, guess) == near(0.5)


def test_the_constant_guess_on_nine_to_one_is_seen_through() -> None:
    truth, guess = true_signs("1111111110"), signs("1111111111")
    assert metrics.accuracy(truth, guess) == near(0.9)
    assert metrics.macro_f1(truth, guess, LABELS) == near(0.473684)
    assert metrics.mcc(truth, guess) == 0.0


def test_one_unread_answer_of_four_is_a_third_class_that_is_never_right() -> None:
    truth, guess = true_signs("1100"), signs("10?0")
    assert metrics.accuracy(truth, guess) == near(0.5)
    assert metrics.macro_f1(truth, guess, LABELS) == near(0.583333)
    assert metrics.mcc(truth, guess) == near(0.223607)


def test_mcc_alone_can_gain_by_refusing_one_class_as_its_docstring_warns() -> None:
    truth = true_signs("1100")
    assert metrics.mcc(truth, signs("1111")) == 0.0
    assert metrics.mcc(truth, signs("11??")) > 0.0
    assert "refusing" in (metrics.mcc.__doc__ or "")


@pytest.mark.parametrize("guess", ["1111", "????", "0000"])
def test_one_class_only_is_zero_mcc_without_a_warning(guess: str) -> None:
    assert metrics.mcc(true_signs("1111"), signs(guess)) == 0.0


def test_score_errors_give_the_values_worked_out_by_hand() -> None:
    truth, guess = [1.0, 2, 3, 100], [1.0, 2, 5, 10]
    assert metrics.mae(truth, guess) == near(23.0)
    assert metrics.rmse(truth, guess) == near(45.011110)
    assert metrics.spearman(truth, guess) == near(1.0)
    assert metrics.spearman([1, 1, 2, 3], [1, 2, 2, 4]) == near(0.833333)
    assert metrics.mae([1, 2, 3, 10], [4] * 4) == near(3.0)
    assert metrics.mae([1, 2, 3, 10], [2.5] * 4) == near(2.5)
    assert metrics.rmse([1, 2, 3, 10], [4] * 4) == near(3.535534)


def test_rank_correlation_of_a_constant_is_unknown_not_zero_and_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert math.isnan(metrics.spearman([1, 2, 3], [1, 1, 1]))
        assert math.isnan(metrics.spearman([2, 2], [1, 2]))
        assert math.isnan(metrics.spearman([1], [1]))


def test_no_items_give_nan_everywhere() -> None:
    found = (metrics.accuracy([], []), metrics.macro_f1([], [], LABELS), metrics.mcc([], []), metrics.mae([], []))
    assert all(math.isnan(v) for v in (*found, metrics.rmse([], []), metrics.spearman([], [])))


def test_cosine_is_one_for_itself_zero_for_nothing_and_never_beyond_one() -> None:
    rows = np.array([[3, 4], [1, 0], [0, 0]], np.float32)
    other = np.array([[3, 4], [0, 2], [1, 1]], np.float32)
    assert metrics.cosine(rows, other).tolist() == [near(1.0), 0.0, 0.0]
    assert metrics.cosine(rows, -rows).min() >= -1.0


def test_a_stamp_names_version_and_resources_and_the_embedder_for_vectors() -> None:
    stamps = {m.name: m.stamp("bag:1") for m in metrics.METRICS}
    assert stamps["rouge1"].startswith("rouge-score 0.")
    assert stamps["sbert"].endswith("bag:1")
    assert all("bag" not in stamp for name, stamp in stamps.items() if name != "sbert")


answers = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from([*LABELS, None])), min_size=1, max_size=30)


@settings(max_examples=60, deadline=None)
@given(answers, st.sampled_from(LABELS), st.randoms())
def test_a_failed_answer_never_raises_accuracy_or_f1_and_order_changes_nothing(rows, added, random) -> None:
    def values(items):
        truth, guess = [t for t, _ in items], [g for _, g in items]
        return metrics.accuracy(truth, guess), metrics.macro_f1(truth, guess, LABELS), metrics.mcc(truth, guess)

    before, after = values(rows), values([*rows, (added, None)])
    assert after[0] <= before[0] and after[1] <= before[1] + 1e-12
    shuffled = random.sample(rows, len(rows))
    assert values(shuffled) == pytest.approx(before)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_rouge_is_symmetric_and_between_zero_and_one_for_any_text(a: str, b: str) -> None:
    assert metrics.rouge(a, b) == pytest.approx(metrics.rouge(b, a))
    assert all(0.0 <= v <= 1.0 for v in metrics.rouge(a, b))
    assert all(v in (0.0, pytest.approx(1.0)) for v in metrics.rouge(a, a))


@settings(max_examples=60, deadline=None)
@given(st.text("abcdefgnisy ,.'", max_size=300), st.text("abcdefgnisy ,.'", max_size=300))
def test_stemming_each_word_once_changes_no_value(a: str, b: str) -> None:
    from rouge_score import rouge_scorer

    plain = rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=True).score(a, b)
    assert metrics.rouge(a, b) == (plain["rouge1"].fmeasure, plain["rougeL"].fmeasure)
