"""Token match: BERTScore's formula over the packaged MiniLM, beside values known from elsewhere."""

import numpy as np
import pytest

from evaluation.metrics import METRICS
from evaluation.options import split
from evaluation.token_match import match, opened
from memory.errors import BadInput


def test_pairs_have_the_values_measured_before() -> None:
    said = ["the cat", "i purchased a new automobile", "", "i bought a new car"]
    true = ["The Cat", "i bought a new car", "hi", "quantum field theory is difficult"]
    same, like, empty, unlike = opened("minilm")(said, true)
    assert same == pytest.approx(1.0, abs=1e-3) and like == pytest.approx(0.916, abs=2e-3)
    assert empty == 0.0 and unlike < 0.3


def test_f_is_that_of_the_nearest_on_both_sides() -> None:
    one, other = np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32)[:1]
    assert match(one, other) == pytest.approx(2 * 1 * (1 / 3) / (1 + 1 / 3))
    true = np.array([[1, 0], [0, 1]], np.float32)
    said = np.array([[0.6, 0.8], [1, 0], [0, -1]], np.float32)
    precision, recall = (0.8 + 1 + 0) / 3, (1 + 0.8) / 2
    assert match(true, said) == pytest.approx(2 * precision * recall / (precision + recall))
    assert match(one, one) == 1.0 and match(one, -other) == 0.0 and match(one, one[:0]) == 0.0


def test_it_is_an_option_with_a_name_of_its_own() -> None:
    assert split("generation:token_match=minilm") == ("generation", {"token_match": "minilm"})
    with pytest.raises(BadInput, match="token_match is one of minilm"):
        split("generation:token_match=bert")
    assert [m.optional for m in METRICS if m.name == "token_match"] == [True]
