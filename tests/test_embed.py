import subprocess
import sys

import numpy as np
import pytest

from memory.embed import Bag, MiniLM, open_embedder, spare_cores
from memory.errors import Missing, UnknownName

TEXTS = [
    "How do I stop my brakes from squealing in the rain?",
    "Squealing brakes are usually dirty rims; clean them with alcohol.",
    "The conlang has seven vowels and no grammatical gender.",
    "Je pense que cette question est hors sujet.",
    "ok",
    "",
    "long " * 400,
]


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


def test_the_bag_is_the_same_in_every_process_and_of_unit_length() -> None:
    code = "from memory.embed import Bag; print(Bag()(['a bike, A chain', '']).tobytes().hex())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert other == Bag()(["a bike, A chain", ""]).tobytes().hex()
    assert np.allclose(np.linalg.norm(Bag()(TEXTS), axis=1), 1)
    assert Bag()(["chain wax", "CHAIN... wax!"])[0] @ Bag()(["wax chain"])[0] == pytest.approx(1)
    assert Bag()([]).shape == (0, 384)


def test_minilm_puts_what_means_the_same_near_and_other_things_far(minilm: MiniLM) -> None:
    vectors = minilm(TEXTS)
    assert (vectors.dtype, vectors.shape) == (np.float32, (len(TEXTS), 384))
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert vectors[0] @ vectors[1] > 0.6 > 0.2 > vectors[0] @ vectors[2]
    assert minilm([]).shape == (0, 384)


def test_a_texts_vector_does_not_depend_on_its_company_or_on_threads(minilm: MiniLM) -> None:
    alone = np.concatenate([minilm([text]) for text in TEXTS])
    assert (alone == minilm(TEXTS)).all()
    assert (alone == MiniLM(threads=2)(TEXTS)).all()


def test_a_lone_surrogate_does_not_stop_an_embedder(minilm: MiniLM) -> None:
    assert minilm(["a \ud83d b"]).shape == Bag()(["a \ud83d b"]).shape == (1, 384)


def test_the_int8_model_says_what_the_float32_model_says(minilm: MiniLM) -> None:
    full = open_embedder("sentence-transformers:packaged")
    cosines = (minilm(TEXTS) * full(TEXTS)).sum(axis=1)
    assert cosines.mean() > 0.998 and cosines.min() > 0.99
    assert full.dim == 384 and full([]).shape == (0, 384)
    assert full.name.startswith("sentence-transformers:packaged@") and full.name != minilm.name
    with pytest.raises(Missing, match="none is downloaded at run time"):  # here: the import takes 10 s
        open_embedder("sentence-transformers:no/such-model")


def test_an_unknown_embedder_is_answered_with_the_names() -> None:
    with pytest.raises(UnknownName, match="unknown embedder 'magic': choose from bag, minilm, none, sentence-trans"):
        open_embedder("magic")
    with pytest.raises(UnknownName):
        open_embedder("sentence-transformers:")


def test_cores_to_spare_are_at_least_one() -> None:
    assert spare_cores() >= 1
