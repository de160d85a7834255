import asyncio
import math
from dataclasses import dataclass, field

import numpy as np
import pytest

from memory import policy, ranking, retrievers
from memory.embed import Bag
from memory.message import Message
from memory.recall import Recalled


@dataclass
class Said:
    """A history of made-up texts, one a second."""

    texts: list[str]
    user: str = "ann"
    before: int = 100
    messages: list[Message] = field(init=False)

    def __post_init__(self) -> None:
        self.messages = [Message(f"m{t}", "t", "t", self.user, t, text) for t, text in enumerate(self.texts)]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def vectors(self) -> np.ndarray:
        return Bag()(self.texts)

    async def embed(self, texts: list[str]) -> np.ndarray:
        return Bag()(texts)


def recall(spec: str, history: Said, query: str = "") -> list[Recalled]:
    return asyncio.run(policy.load(retrievers, spec)(history, query))


def ids(found: list[Recalled]) -> list[str]:
    return [r.message.id for r in found]


def test_none_remembers_nothing() -> None:
    assert recall("none", Said(["a"])) == []


def test_recency_gives_the_newest_with_their_age() -> None:
    found = recall("recency:k=2", Said(["a", "b", "c"]))
    assert [(r.message.id, r.score, r.terms) for r in found] == [("m2", -98, {"age_s": 98}), ("m1", -99, {"age_s": 99})]


def test_random_own_is_a_fair_lot_drawn_by_seed_user_moment_and_query() -> None:
    history = Said(["a", "b", "c", "d"])
    drawn = [ids(recall(f"random_own:k=1,seed={seed}", history)) for seed in range(400)]
    assert all(60 < drawn.count([f"m{n}"]) < 140 for n in range(4))
    base = ids(recall("random_own:k=4", history))
    assert base == ids(recall("random_own:k=4", history))
    others = [recall("random_own:k=4", Said(["a", "b", "c", "d"], user=f"u{n}")) for n in range(9)]
    others += [recall("random_own:k=4", Said(["a", "b", "c", "d"], before=100 + n)) for n in range(1, 9)]
    others += [recall("random_own:k=4", history, f"query {n}") for n in range(9)]
    assert sum(ids(o) != base for o in others) > 15


def test_dense_scores_are_cosines() -> None:
    found = recall("dense", Said(["red bike", "blue car", "bike"]), "bike")
    assert ids(found) == ["m2", "m0", "m1"]
    assert [r.score for r in found] == pytest.approx([1, math.sqrt(0.5), 0], abs=1e-5)
    assert found[0].terms == {"cosine": found[0].score}


def test_bm25_against_numbers_worked_by_hand() -> None:
    # 3 messages of 2, 1 and 3 words, mean 2. "bike" stands in 2, "red" in 1 of them.
    found = recall("bm25:k1=1.5,b=0.75", Said(["Red bike", "car", "bike, bike BIKE"]), "the red bike")
    bike, red = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    first = {"bike": bike * 2.5 / (1 + 1.5), "red": red * 2.5 / (1 + 1.5)}
    third = {"bike": bike * 3 * 2.5 / (3 + 1.5 * (0.25 + 0.75 * 1.5))}
    assert ids(found) == ["m0", "m2"]  # "car" shares no word
    assert [r.terms for r in found] == [pytest.approx(first), pytest.approx(third)]
    assert [r.score for r in found] == pytest.approx([sum(first.values()), sum(third.values())])


def test_bm25_without_length_norm_or_saturation_counts_rare_words() -> None:
    found = recall("bm25:k1=0,b=0", Said(["a a a a", "a b", "a"]), "a b")
    assert ids(found) == ["m1", "m2", "m0"]


def test_equal_scores_come_newest_first() -> None:
    for spec in ("dense", "bm25"):
        assert ids(recall(f"{spec}:k=2", Said(["same words"] * 4), "same words")) == ["m3", "m2"]


def test_ranking_reads_only_the_best_and_what_could_take_the_last_place() -> None:
    history = Said(["x"] * 60)
    read: list[int] = []

    class Watched(list[Message]):
        def __getitem__(self, at):  # type: ignore[no-untyped-def]
            read.append(at)
            return super().__getitem__(at)

    history.messages = Watched(history.messages)
    found = ranking.top(history, np.array([0.1, 0.5, *[0.3] * 50, *[0.2] * 8]), 3)
    assert [i for i, _ in found] == [1, 51, 50]
    assert set(read) == {1, 49, 50, 51}
