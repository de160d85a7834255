"""Can simulated replies be told from real ones at all? A classifier that never saw the person it judges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaluation.analysis.lines import replies, said, silent, true, where
from evaluation.metrics import METRICS, Answers
from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Sheet, Value
from evaluation.stats import Interval, resampled
from evaluation.stats.intervals import Floats, coded
from evaluation.weighted import weighted

FOLDS = 5
PEOPLE = 5  # below whom there are no folds of people
MOST = 1_000  # replies that are looked at, drawn by seed
FEATURES = 5_000
TOLD = 6  # features named for each side
NAME, TITLE = "separability", "Can simulated replies be told from real ones?"
ABOUT = (
    f"AUC of logistic regression over the real and the simulated text of the same slots, in {FOLDS} folds of people: "
    "nobody is judged by a classifier that has seen them. 0.5: cannot be told apart; 1: always. Words and characters "
    f"are TF-IDF of characters 2-4 within words (at most {FEATURES}, in two texts or more); length is the number of "
    "words alone. Scores are ranked within each fold."
)
COLUMNS = (
    Column("by", "Told by"),
    Column("slots", "Slots", "one real and one simulated text each", 0),
    Column("people", "People", "", 0),
    Column("auc", "AUC", "0.5 is ideal", higher=False),
    Column("simulated", "Most simulated", "the features that speak most for it"),
    Column("real", "Most real", "the features that speak most for it"),
)
LABELS = ("simulated", "real")


def separability(rows: Sequence[Scored], seed: int = 0) -> Sheet:
    """Of one run. The same for a seed."""
    lines = [r for r in replies(rows) if said(r) and true(r)]
    people = {r.user for r in lines}
    if len(people) < PEOPLE:
        return silent(
            NAME, TITLE, f"{ABOUT} Not here: {PEOPLE} people with real replies are needed, {len(people)} found."
        )
    if len(lines) > MOST:
        lines = [lines[n] for n in sorted(np.random.default_rng(seed).permutation(len(lines))[:MOST])]
    texts = [*map(said, lines), *map(true, lines)]
    users = [r.user for r in lines] * 2
    table: list[tuple[Value, ...]] = []
    for by, (scores, most, least) in (
        ("words and characters", _words(texts, users)),
        ("length", _lengths(texts, users)),
    ):
        table.append((by, len(lines), len({*users}), _auc(scores, users), most, least))
    found = tuple(where(lines, task=lines[0].task, system=MODEL) for _ in table)
    return Sheet(NAME, TITLE, ABOUT, COLUMNS, tuple(table), found)


def _words(texts: Sequence[str], users: Sequence[str]) -> tuple[Floats, str, str]:
    from sklearn.feature_extraction.text import TfidfVectorizer  # type: ignore[import-untyped]

    words = TfidfVectorizer(
        analyzer="char_wb", ngram_range=(2, 4), lowercase=False, sublinear_tf=True, max_features=FEATURES, min_df=2
    )
    features = words.fit_transform(texts)  # weights by how often, of all texts: no label is looked at
    scores, weights = _scores(features, users)
    names, order = words.get_feature_names_out(), np.argsort(weights, kind="stable")
    most = (repr(str(names[n])) for n in order[::-1][:TOLD])
    return scores, " ".join(most), " ".join(repr(str(names[n])) for n in order[:TOLD])


def _lengths(texts: Sequence[str], users: Sequence[str]) -> tuple[Floats, str, str]:
    words = np.log1p([[float(len(text.split()))] for text in texts])
    scores, weights = _scores(words - words.mean(), users)
    longer = "longer", "shorter"
    return (scores, *(longer if weights[0] > 0 else longer[::-1]))


def _scores(features: object, users: Sequence[str]) -> tuple[Floats, Floats]:
    """For each text how far above the fold's others it looks simulated (rank, 0 to 1), and the mean weights."""
    from scipy.stats import rankdata  # type: ignore[import-untyped]
    from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

    fold = coded(users)[0] % FOLDS
    is_simulated = np.arange(len(users)) < len(users) // 2
    scores, weights = np.zeros(len(users)), []
    for n in range(FOLDS):
        judged = fold == n
        model = LogisticRegression(solver="liblinear", random_state=0)
        model.fit(features[~judged], is_simulated[~judged])  # type: ignore[index]
        scores[judged] = rankdata(model.decision_function(features[judged])) / judged.sum()  # type: ignore[index]
        weights.append(model.coef_[0])
    mean: Floats = np.mean(weights, axis=0)
    return scores, mean


def _auc(scores: Floats, users: Sequence[str]) -> Interval:
    column = next(m for m in METRICS if m.name == "auc")
    half = len(users) // 2
    truth = [LABELS[0]] * half + [LABELS[1]] * half
    people, names = coded(users)
    of, draws, items = weighted(column, Answers(truth, truth, LABELS, scores.tolist()), people)
    return resampled(of, len(names), items=items, draws=draws).within(0.0, 1.0)
