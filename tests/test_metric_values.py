"""Metrics beside values worked out by hand, and beside the reference packages on random pairs of awkward texts."""

import math
from itertools import combinations
from random import Random
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata, spearmanr
from sklearn import metrics as sk

from evaluation.metrics import METRICS, labels, numbers, texts

P, N = LABELS = ("positive", "negative")
CAT = "the cat sat on the mat", "the cat lay on the mat"


def near(value: float) -> object:
    return pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("metric", "truth", "guess", "value"),
    [
        (texts.bleu, *CAT, 0.37991784),
        (texts.bleu, "hello there", "hello there", 1.0),
        (texts.bleu_nltk, *CAT, 0.254066),
        (texts.bleu_nltk, "hello there", "hello there", 0.316228),
        (texts.chrf, *CAT, 0.61088666),
        (texts.meteor, "hello", "hello", 0.5),
        (texts.meteor, "a b", "a b", 0.9375),
        (texts.meteor, "a b c", "a b c", 0.981481),
        (texts.meteor, "a b c d", "a b c d", 0.992188),
        (texts.meteor, "the cat sat on the mat", "the cat sat on the mat", 0.997685),
        (texts.meteor, "the cat sat on the mat", "the cat was sat on the mat", 0.965392),
        (texts.meteor, "the cat sat on the mat", "on the mat sat the cat", 0.5),
        (texts.meteor, "i bought a new car", "i purchased a new automobile", 0.511111),
        (texts.meteor, "large dog", "big dog", 0.25),
        (texts.meteor, "hi", "", 0.0),
        (texts.meteor, "the cat", "The Cat", 0.9375),
        (texts.rouge1_unicode, "你好 😀", "你好 😀", 1.0),
        (texts.rouge1_unicode, "!!!", "!!!", 1.0),
        (texts.rouge1_unicode, *CAT, 5 / 6),
        (texts.length, "one two three", "one", math.log(2 / 4)),
        (texts.length, "one", "one", 0.0),
        (texts.length, "one two three", "", math.log(1 / 4)),
    ],
)
def test_texts_give_the_values_worked_out_by_hand(metric, truth: str, guess: str, value: float) -> None:
    assert metric(truth, guess) == near(value)


@pytest.mark.skipif(texts.wordnet_name() != "no WordNet", reason="this machine has WordNet, so synonyms count")
@pytest.mark.parametrize(
    ("truth", "guess", "value"),
    [("my kid is sick", "my child is sick", 0.638889), ("he got a car", "he got a auto", 0.736111)],
)
def test_meteor_without_wordnet_knows_no_synonyms(truth: str, guess: str, value: float) -> None:
    assert texts.meteor(truth, guess) == near(value)


def test_the_stamp_of_meteor_says_whether_wordnet_was_there() -> None:
    [stamp] = [m.stamp() for m in METRICS if m.name == "meteor"]
    assert stamp.endswith("WordNet") or "WordNet 3" in stamp


def test_averages_of_f1_and_balanced_accuracy_see_through_a_constant_guess() -> None:
    truth, guess = [P] * 9 + [N], [P] * 10
    assert labels.f1(truth, guess, LABELS, "first") == near(0.947368)
    assert labels.f1(truth, guess, LABELS, "macro") == near(0.473684)
    assert labels.f1(truth, guess, LABELS, "weighted") == near(0.9 * 0.947368)
    assert labels.balanced_accuracy(truth, guess) == near(0.5)


def test_probabilities_give_the_values_worked_out_by_hand() -> None:
    truth, p = [N, N, P, P], [0.1, 0.4, 0.35, 0.8]
    assert labels.auc(truth, p, LABELS) == near(0.75)
    assert math.fsum(labels.brier(t, v, LABELS) for t, v in zip(truth, p, strict=True)) / 4 == near(0.158125)


def test_auc_of_one_label_is_unknown_and_says_nothing() -> None:
    assert math.isnan(labels.auc([P, P], [0.1, 0.9], LABELS))


@pytest.mark.parametrize(
    ("bins", "mass", "value"), [(10, False, 0.4), (5, False, 4 / 15), (3, True, 0.25), (1, False, 7 / 60)]
)
def test_calibration_error_depends_on_its_bins_as_worked_out_by_hand(bins: int, mass: bool, value: float) -> None:
    sure, right = [0.55, 0.65, 0.75, 0.85, 0.95, 0.95], [True, False, True, True, True, False]
    assert labels.ece(sure, right, bins, mass) == near(value)


def test_confidence_is_that_of_the_likelier_side() -> None:
    assert labels.confidence([P, P, N], [0.9, 0.2, 0.2], LABELS) == ([0.9, 0.8, 0.8], [True, False, True])


def test_numbers_give_the_values_worked_out_by_hand() -> None:
    truth, guess = [1.0, 2, 3, 100], [1.0, 2, 5, 10]
    assert numbers.median_ae(truth, guess) == near(1.0)
    slog = [(numbers.slog(t), numbers.slog(g)) for t, g in zip(truth, guess, strict=True)]
    assert numbers.mae(*zip(*slog, strict=True)) == near(0.655673)
    assert numbers.rmse(*zip(*slog, strict=True)) == near(1.126997)
    assert numbers.slog(-3) == -numbers.slog(3) and numbers.slog(0) == 0
    assert numbers.kendall([1, 1, 2, 3], [1, 2, 2, 4]) == near(0.8)
    assert math.isnan(numbers.kendall([1, 2], [1, 1]))


def test_skill_is_one_for_perfect_zero_for_as_good_and_unknown_beside_no_error() -> None:
    assert (numbers.skill(0, 2), numbers.skill(2, 2), numbers.skill(4, 2)) == (1, 0, -1)
    assert math.isnan(numbers.skill(1, 0))


def test_coverage_counts_the_ends_of_an_interval() -> None:
    assert numbers.coverage([1, 2, 3, 9], [1, 0, 4, 0], [1, 2, 9, 8]) == 0.5
    assert math.isnan(numbers.coverage([], [], []))


def test_the_expected_best_of_k_is_the_mean_over_all_choices_of_k() -> None:
    values = [0.1, 0.7, 0.4, 0.4, 0.0]
    for k in range(1, 6):
        by_hand = [max(chosen) for chosen in combinations(values, k)]
        assert numbers.expected_max(values, k) == near(sum(by_hand) / len(by_hand))
    assert numbers.expected_max([1, 1, 0, 0, 0], 2) == near(1 - math.comb(3, 2) / math.comb(5, 2))  # pass@k
    assert math.isnan(numbers.expected_max(values, 6)) and math.isnan(numbers.expected_max([], 0))


WORDS = [
    "the",
    "a",
    "cat",
    "dog's",
    "running",
    "Tea,",
    "ran!",
    "你好",
    "😀",
    "👍🏽",
    "שלום",
    "مرحبا",
    "it's",
    "3.14",
    "(ok)",
]
WORDS += ["http://x.y/z", "...", "\u2028", "\t", "naïve", ""]


def pairs(count: int) -> list[tuple[str, str]]:
    """Random pairs of the kinds that break metrics: empty, blank, emoji, CJK, right to left, signs, long ones."""
    random = Random(11)

    def drawn() -> str:
        return " ".join(random.choices(WORDS, k=random.randint(0, 12)))

    long = "word " * 4000
    awkward = [("", ""), ("", "a"), (" \n", "\t"), ("😀" * 50, "😀" * 40), (long, long), (long, long[::-1])]
    return [*awkward, *((drawn(), drawn()) for _ in range(count - len(awkward)))]


def test_overlaps_agree_with_the_reference_packages_on_five_hundred_random_pairs() -> None:
    from nltk.tokenize import TreebankWordTokenizer
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu
    from nltk.translate.meteor_score import single_meteor_score
    from rouge_score import rouge_scorer
    from sacrebleu import sentence_bleu as sacre_bleu
    from sacrebleu import sentence_chrf

    class NoWordNet:
        def synsets(self, word: str) -> list[object]:
            return []

    rouge, split = rouge_scorer.RougeScorer(["rouge1", "rougeL"], use_stemmer=True), TreebankWordTokenizer().tokenize
    for truth, guess in pairs(500):
        found = texts.overlaps(truth, guess)
        a, b = truth[: texts.TEXT_LIMIT], guess[: texts.TEXT_LIMIT]
        theirs = rouge.score(a, b) if len(a) < 4000 else None
        if theirs:
            assert (found["rouge1"], found["rougeL"]) == (theirs["rouge1"].fmeasure, theirs["rougeL"].fmeasure)
        assert found["chrf"] * 100 == near(sentence_chrf(b, [a]).score)
        assert found["bleu"] * 100 == near(sacre_bleu(b, [a]).score)
        if split(b):
            nltk = sentence_bleu([split(a)], split(b), smoothing_function=SmoothingFunction().method1)
            assert found["bleu_nltk"] == near(nltk)
        if split(a) and split(b) and texts.wordnet_name() == "no WordNet":
            assert found["meteor"] == near(single_meteor_score(split(a), split(b), wordnet=NoWordNet()))
        assert all(math.isfinite(v) for v in found.values())
        assert all(0 <= v <= 1 + 1e-9 for name, v in found.items() if name != "length")


AVERAGES: tuple[Literal["first", "macro", "weighted"], ...] = ("first", "macro", "weighted")
Drawn = tuple[list[str], list[str | None], list[float]]


def cells(count: int) -> dict[int, list[Drawn]]:
    """Random cells of 2 to 12 answers by their size: (truth, answer or None, P(positive)), with ties."""
    random, found = Random(5), dict[int, list[Drawn]]()
    for _ in range(count):
        n = random.randint(2, 12)
        truth, guess = random.choices(LABELS, k=n), random.choices([*LABELS, None], k=n)
        found.setdefault(n, []).append((truth, guess, [random.choice((0.1, 0.5, random.random())) for _ in truth]))
    return found


def test_labels_agree_with_scikit_learn_on_five_hundred_random_cells() -> None:
    """One call of the package takes all cells of a size, each a column: a call a cell takes ten times as long."""
    drawn = cells(500)
    assert sum(map(len, drawn.values())) == 500
    for n, group in drawn.items():
        true = np.array([[t == P for t in truth] for truth, _, _ in group]).T
        said = {label: np.array([[g == label for g in guess] for _, guess, _ in group]).T for label in LABELS}
        p = np.array([p for _, _, p in group]).T
        each = [sk.f1_score(t, s, average=None, zero_division=0) for t, s in ((true, said[P]), (~true, said[N]))]
        recalls = [sk.recall_score(t, s, average=None, zero_division=0) for t, s in ((true, said[P]), (~true, said[N]))]
        brier = sk.mean_squared_error(true.astype(float), p, multioutput="raw_values")
        shares = np.array([true.mean(axis=0), 1 - true.mean(axis=0)])
        for at, (truth, guess, stated) in enumerate(group):
            f1s, share = [f[at] for f in each], shares[:, at]
            wanted = {"first": f1s[0], "macro": sum(f1s) / 2, "weighted": float(np.dot(f1s, share))}
            average = AVERAGES[at % 3]  # one a cell: ours asks scikit-learn each time, which takes milliseconds
            assert labels.f1(truth, guess, LABELS, average) == near(wanted[average])
            balanced = np.mean([r[at] for r, s in zip(recalls, share, strict=True) if s > 0])
            assert labels.balanced_accuracy(truth, guess) == near(float(balanced))
            assert labels.accuracy(truth, guess) == near(sum(t == g for t, g in zip(truth, guess, strict=True)) / n)
            squares = [labels.brier(t, v, LABELS) for t, v in zip(truth, stated, strict=True)]
            assert math.fsum(squares) / n == near(brier[at])
            if len({*truth}) == 2:
                assert labels.mcc(truth, guess) == near(correlation(truth, guess))
                assert labels.auc(truth, stated, LABELS) == near(rank_auc(true[:, at], p[:, at]))


def correlation(truth: list[str], guess: list[str | None]) -> float:
    """Gorodkin's R_K worked out from its definition, the covariance of two indicator matrices."""
    a, b = (np.array([[v == c for c in (*LABELS, None)] for v in side], float) for side in (truth, guess))
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    scale = math.sqrt(float((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / scale if scale else 0.0


def rank_auc(first: Any, p: Any) -> float:
    """The area by Mann and Whitney's ranks, which scipy makes."""
    positive = int(first.sum())
    below = rankdata(p)[first].sum() - positive * (positive + 1) / 2
    return float(below / (positive * (len(first) - positive)))


def test_numbers_agree_with_scikit_learn_and_scipy_on_five_hundred_random_cells() -> None:
    random = Random(6)
    sizes = [random.randint(2, 12) for _ in range(500)]
    for n in sorted({*sizes}):
        a, b = np.random.default_rng(n).integers(-3, 10, (2, n, sizes.count(n))).astype(float)
        absolute = sk.mean_absolute_error(a, b, multioutput="raw_values")
        rooted = sk.root_mean_squared_error(a, b, multioutput="raw_values")
        middle = sk.median_absolute_error(a, b, multioutput="raw_values")
        for at in range(a.shape[1]):
            truth, guess = a[:, at].tolist(), b[:, at].tolist()
            assert numbers.mae(truth, guess) == near(absolute[at])
            assert numbers.rmse(truth, guess) == near(rooted[at])
            assert numbers.median_ae(truth, guess) == near(middle[at])
            if len({*truth}) > 1 and len({*guess}) > 1:
                assert numbers.spearman(truth, guess) == near(spearmanr(truth, guess).statistic)
                assert numbers.kendall(truth, guess) == near(kendalltau(truth, guess).statistic)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_no_answer_is_ever_worse_than_a_failed_one_and_all_values_are_finite(truth: str, guess: str) -> None:
    found, worst = texts.overlaps(truth, guess), texts.worst(truth)
    assert found.keys() == worst.keys()
    assert all(math.isfinite(v) and v >= worst[name] for name, v in found.items())
