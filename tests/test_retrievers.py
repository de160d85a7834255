import asyncio
import math
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from memory import policy, ranking, retrievers, scoring
from memory.embed import Bag
from memory.errors import BadInput, UnknownName
from memory.message import Message
from memory.messages import Messages
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
    assert [(r.message.id, r.score) for r in found] == [("m2", -98), ("m1", -99)]
    assert [r.terms for r in found] == [{"recency": -98, "recency_rank": 1}, {"recency": -99, "recency_rank": 2}]


def test_recency_rises_with_time() -> None:
    scores = {r.message.time: r.score for r in recall("recency:k=9", Said(["a"] * 9))}
    assert sorted(scores, key=scores.__getitem__) == sorted(scores)


def test_full_history_keeps_the_newest_that_fit() -> None:
    history = Said(["one", "two two two two", "three", "four"])
    assert ids(recall("full_history:max_tokens=0", history)) == ["m3", "m2", "m1", "m0"]
    assert ids(recall("full_history:max_tokens=3", history)) == ["m3", "m2", "m0"]


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
    assert [r.terms["dense_rank"] for r in found] == [1, 2, 3]
    assert all(r.terms["dense"] == r.score for r in found)


def test_dense_recalls_nothing_below_its_floor() -> None:
    assert ids(recall("dense:floor=0.5", Said(["red bike", "blue car", "bike"]), "bike")) == ["m2", "m0"]


def test_bm25_against_numbers_worked_by_hand() -> None:
    # 3 messages of 2, 1 and 3 words, mean 2. "bike" stands in 2, "red" in 1 of them.
    found = recall("bm25:k1=1.5,b=0.75", Said(["Red bike", "car", "bike, bike BIKE"]), "the red bike")
    bike, red = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    first = (bike + red) * 2.5 / (1 + 1.5)
    third = bike * 3 * 2.5 / (3 + 1.5 * (0.25 + 0.75 * 1.5))
    assert ids(found) == ["m0", "m2"]  # "car" shares no word
    assert [r.score for r in found] == pytest.approx([first, third])
    assert [r.terms for r in found] == [{"bm25": r.score, "bm25_rank": n} for n, r in enumerate(found, 1)]


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


def test_equal_values_share_the_best_of_their_ranks() -> None:
    assert ranking.ranks(np.array([0.5, 0.9, 0.5, 0.1])).tolist() == [2, 1, 2, 4]


def test_a_budget_passes_over_what_does_not_fit_and_takes_what_does() -> None:
    history = Said(["chain", "chain " * 40, "chain oil oil oil oil oil"])
    assert ids(recall("bm25", history, "chain")) == ["m1", "m0", "m2"]
    assert ids(recall("bm25:max_tokens=10", history, "chain")) == ["m0", "m2"]
    assert ids(recall("bm25:max_tokens=2", history, "chain")) == ["m0"]


def test_rrf_against_ranks_fused_by_hand() -> None:
    one, other = np.array([9.0, 8.0, 7.0, -np.inf]), np.array([1.0, 2.0, 3.0, 4.0])
    fused = scoring.rrf([one, other], 60, 3)
    assert fused == pytest.approx([1 / 61, 1 / 62 + 1 / 63, 1 / 63 + 1 / 62, 1 / 61])
    assert scoring.rrf([one, other], 60, 1) == pytest.approx([1 / 61, -np.inf, -np.inf, 1 / 61])
    assert scoring.rrf([one, other], 1, 3)[1] == pytest.approx(1 / 3 + 1 / 4)


def test_hybrid_rrf_names_both_arms_with_their_ranks() -> None:
    history = Said(["bike", "car car", "bike bike blue red"])
    [best, *_] = recall("hybrid_rrf:k=3", history, "bike")
    assert best.message.id == "m0"
    assert (best.terms["dense_rank"], best.terms["bm25_rank"]) == (1, 1)
    assert best.score == pytest.approx(2 / 61)
    car = next(r for r in recall("hybrid_rrf:k=3", history, "bike") if r.message.id == "m1")
    assert "bm25" not in car.terms and car.score == pytest.approx(1 / 63)


def test_mmr_against_choices_made_by_hand() -> None:
    # b is nearly a again; c is less near to the query, but new.
    relevance = np.array([0.9, 0.8, 0.5])
    similar = np.array([[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]])
    assert scoring.mmr(relevance, similar, 3, 0.5) == [
        (0, pytest.approx(0.45)),
        (2, pytest.approx(0.5 * 0.5 - 0.5 * 0.1)),
        (1, pytest.approx(0.5 * 0.8 - 0.5 * 0.9)),
    ]
    assert [at for at, _ in scoring.mmr(relevance, similar, 3, 1.0)] == [0, 1, 2]


def test_mmr_takes_a_duplicate_last() -> None:
    history = Said(["red bike", "red bike", "red car", "bike"])
    assert ids(recall("mmr:k=2", history, "red bike"))[0] == "m1"
    assert ids(recall("mmr:k=4,lambda_mult=0.4", history, "red bike"))[-1] == "m0"
    assert ids(recall("mmr:k=2,lambda_mult=1", history, "red bike")) == ["m1", "m0"]


def test_a_score_halves_when_a_half_life_has_passed() -> None:
    history = Said(["bike"] * 3)
    day = scoring.DAY
    history.messages = [replace(m, time=n * 30 * day) for n, m in enumerate(history.messages)]
    history.before = 90 * day
    found = recall("decay_half_life:half_life_days=30", history, "bike")
    assert [(r.message.id, r.score) for r in found] == [("m2", 0.5), ("m1", 0.25), ("m0", 0.125)]
    assert [r.terms["decay"] for r in found] == [0.5, 0.25, 0.125]
    with pytest.raises(BadInput, match="half_life_days=0"):
        recall("decay_half_life:half_life_days=0", history, "bike")


def test_what_is_unlike_the_query_does_not_gain_by_age() -> None:
    assert np.all(np.diff(scoring.half_life(np.array([0, 5, 50, 10**9]), 1)) <= 0)
    found = recall("decay_half_life:k=20", Said([f"word{n}" for n in range(20)]), "something else")
    assert all(r.score >= 0 for r in found)


def test_generative_agents_against_scores_worked_by_hand() -> None:
    history = Said(["chain", "saddle", "chain saddle"])
    history.messages = [replace(m, time=n * scoring.HOUR) for n, m in enumerate(history.messages)]
    history.before = 3 * scoring.HOUR
    # Ages 3, 2 and 1 h: 0.5 ** 3, 0.5 ** 2, 0.5 scale to 0, 1/3, 1. Cosines 1, 0 and sqrt(1/2) are scaled already.
    found = recall("generative_agents:decay=0.5", history, "chain")
    scores = {r.message.id: r.score for r in found}
    assert scores == pytest.approx({"m2": 1 + 0.5 + 0.5**0.5, "m0": 0 + 0.5 + 1, "m1": 1 / 3 + 0.5 + 0}, abs=1e-5)
    assert {r.message.id: r.terms["recency_rank"] for r in found} == {"m2": 1, "m1": 2, "m0": 3}
    weighted = recall("generative_agents:decay=0.5,recency=0,importance=0,relevance=3", history, "chain")
    assert [r.score for r in weighted] == pytest.approx([3, 3 * 0.5**0.5, 0], abs=1e-5)


def test_the_inverted_form_of_generative_agents_prefers_the_oldest_and_the_papers_the_newest() -> None:
    history = Said(["same"] * 4)
    assert ids(recall("generative_agents", history, "same")) == ["m3", "m2", "m1", "m0"]
    found = recall("generative_agents:form=inverted,decay=0.5", history, "same")
    assert ids(found) == ["m0", "m1", "m2", "m3"]
    # decay ** 1 ... decay ** 4, scaled
    assert [r.terms["recency"] for r in found] == pytest.approx([1, 3 / 7, 1 / 7, 0])
    with pytest.raises(UnknownName, match="form of generative_agents"):
        recall("generative_agents:form=other", history)
    with pytest.raises(BadInput, match=r"decay=1\.5"):
        recall("generative_agents:decay=1.5", history)


def test_a_message_that_several_queries_find_wins() -> None:
    history = Said(["brakes", "chain", "brakes chain"])
    assert ids(recall("multi_query:k=1", history, "chain. Nothing. brakes")) == ["m2"]


def test_quoted_lines_are_nobodys_own_words() -> None:
    history = Said(["> chain\n> chain\nbrakes", "chain and brakes", "> chain"])
    assert ids(recall("bm25", history, "chain")) == ["m1"]
    assert scoring.overlap("> chain\nbrakes", "brakes") == 1
    # "brakes" alone fits into the budget
    assert ids(recall("recency:max_tokens=2", Said(["> a long quotation of somebody else\nbrakes"]))) == ["m0"]


def test_many_messages_are_read_in_one_go() -> None:
    history = Said(["x"] * 60)
    read: list[list[int]] = []

    class Watched:
        def rows(self, rows: list[int]) -> tuple[Message, ...]:
            read.append(rows)
            return tuple(said[row] for row in rows)

    said, history.messages = history.messages, Messages(Watched(), np.arange(60))  # type: ignore[assignment]
    assert [i for i, _ in ranking.top(history, np.arange(60), 50)] == list(range(59, 9, -1))
    assert read[0] == [10], "the least of them: whether others of its second are as good"
    assert len(read) == 2 and sorted(read[1]) == list(range(10, 60))
