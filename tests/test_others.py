"""Other people's messages and the truth: who is handed what, and that nothing of it is later than allowed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from dumps import START, comment, imported, post
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import policy, retrievers
from memory.doors import CorpusDoors, needs, truth
from memory.errors import BadInput, Missing, UnknownName
from memory.gathered import part
from memory.message import Message
from memory.others import CorpusOthers
from memory.recall import History, Recalled
from memory.store import MemoryStore, Past

OTHERS = [name for name in policy.names(retrievers) if "others" in needs(policy.load(retrievers, name))]


def rows() -> list[dict[str, Any]]:
    """ann writes in bikes; bob as much, cy a lot; dee elsewhere; a bot; one thread z that is being answered."""
    said = [comment(f"a{n}", "a", author="ann", time=10 * n, body=f"ann on chains {'x ' * n}") for n in range(1, 5)]
    said += [
        comment(f"b{n}", "a", author="bob", time=10 * n + 1, body=f"bob on chains {'x ' * n}") for n in range(1, 5)
    ]
    said += [comment(f"c{n}", "a", author="cy", time=n + 50, body=f"cy {n}") for n in range(20)]
    said += [comment("d1", "d", author="dee", time=2, body="dee on cars", subreddit="cars")]
    said += [comment("m1", "a", author="AutoModerator", time=3, body="read the rules")]
    said += [comment("z1", "z", author="bob", time=71, body="bob in z"), comment("z2", "z", author="cy", time=72)]
    return [post("a", "ann", 0), post("d", "dee", 1, subreddit="cars"), post("z", "bob", 70, "which chain?"), *said]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> MemoryStore:
    folder = tmp_path_factory.mktemp("others")
    imported(folder, *rows())
    return MemoryStore.open(folder / "corpus")


def others(store: MemoryStore, user: str = "ann", before: int = 100, outside: str = "t3_z") -> CorpusOthers:
    return CorpusOthers(store, store.history(user, before=START + before), outside)


def recall(
    store: MemoryStore, spec: str, user: str = "ann", before: int = 100, query: str = "chains"
) -> list[Recalled]:
    history = store.history(user, before=START + before)
    made = policy.load(retrievers, spec)
    return asyncio.run(CorpusDoors(store).recall(made, history, query, outside="t3_z"))


def ids(messages: list[Message]) -> list[str]:
    return [m.id for m in messages]


def test_the_newest_of_others_come_newest_first_from_the_same_community_and_other_threads(store: MemoryStore) -> None:
    assert ids(others(store).newest(3)) == ["t1_c19", "t1_c18", "t1_c17"]
    every = others(store).newest(1000)
    assert {m.author for m in every} == {"bob", "cy"}
    assert not any(m.thread == "t3_z" for m in every)
    assert {m.thread for m in others(store, outside="").newest(1000)} == {"t3_a", "t3_z"}


def test_a_lot_is_drawn_from_the_same_messages(store: MemoryStore) -> None:
    door = others(store)
    assert sorted(ids(door.drawn(1000, 3))) == sorted(ids(door.newest(1000)))
    assert ids(door.drawn(4, 3)) == ids(door.drawn(4, 3)) != ids(door.drawn(4, 4))


def test_the_community_is_the_threads_or_else_ones_own(store: MemoryStore) -> None:
    assert others(store, "dee").place == "bikes"
    assert others(store, "dee", outside="").place == "cars"
    assert others(store, "cy", before=1, outside="").newest(9) == []


def test_the_person_most_alike_wrote_about_as_much(store: MemoryStore) -> None:
    alike = others(store).alike()
    assert alike is not None and (alike.user, alike.before) == ("bob", START + 100)
    assert [m.thread for m in alike.messages] == ["t3_a"] * 4, "without the thread being answered"
    assert len(alike.vectors) == 4
    assert others(store, before=11).alike() is None


@given(st.sampled_from(["ann", "bob", "cy", "dee"]), st.integers(-1, 80), st.sampled_from(["", "t3_a", "t3_z"]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_door_opens_at_or_after_its_moment(store: MemoryStore, user: str, before: int, outside: str) -> None:
    door = others(store, user, before, outside)
    alike = door.alike()
    found = [*door.newest(1000), *door.drawn(1000, 1), *(alike.messages if alike else ())]
    assert all(m.time < START + before for m in found)
    assert not any(m.author in (user, None, "AutoModerator") for m in found)
    assert outside == "" or not any(m.thread == outside for m in found)


def test_random_other_matches_number_and_length(store: MemoryStore) -> None:
    own = sorted(len(m.words.split()) for m in store.history("ann", before=START + 100).messages if m.parent)
    found = recall(store, "random_other:k=1000")
    assert {r.message.author for r in found} <= {"bob", "cy"}
    assert len(found) == 5  # as many as ann has
    by_bob = sorted(len(r.message.words.split()) for r in found if r.message.author == "bob")
    assert by_bob == own
    assert all(r.terms["length"] == r.score for r in found)


def test_swap_user_is_the_same_policy_over_somebody_else(store: MemoryStore) -> None:
    found = recall(store, "swap_user:base=recency,k=2")
    assert [r.message.id for r in found] == ["t1_b4", "t1_b3"]
    with pytest.raises(BadInput, match="hyde needs more than a past"):
        recall(store, "swap_user:base=hyde")


def test_neighbour_has_the_modes_of_pgraphrag(store: MemoryStore) -> None:
    roles = {mode: recall(store, f"neighbour:mode={mode},k=50") for mode in ("user", "neighbor", "both")}
    assert {r.message.author for r in roles["user"]} == {"ann"}
    assert {r.message.author for r in roles["neighbor"]} == {"bob"}  # cy shares no word
    assert {(r.message.author, r.role) for r in roles["both"]} == {("ann", "own"), ("bob", "other")}
    with pytest.raises(UnknownName, match="mode of neighbour"):
        recall(store, "neighbour:mode=all")


def test_neighbour_helps_who_has_no_past(store: MemoryStore) -> None:
    found = recall(store, "neighbour", user="dee", before=100)
    assert found and all(r.role == "other" and r.message.place == "bikes" for r in found)


@pytest.mark.parametrize("spec", OTHERS)
def test_others_of_the_thread_being_answered_are_never_handed_out(store: MemoryStore, spec: str) -> None:
    k = "k=1000"
    assert not any(r.message.thread == "t3_z" and r.message.author != "ann" for r in recall(store, f"{spec}:{k}"))


def test_the_truth_is_what_was_answered_at_that_moment(store: MemoryStore) -> None:
    history = store.history("bob", before=START + 71)
    assert truth(store, history, "which chain?") == "bob in z"
    assert truth(store, store.history("bob", before=START + 69), "which chain?") is None


def test_of_two_answers_at_one_moment_the_one_to_the_query_is_the_truth(tmp_path: Path) -> None:
    said = [
        comment("1", "a", author="bob", time=5, body="to the post"),
        comment("2", "a", "t1_0", "bob", 5, body="to 0"),
    ]
    imported(tmp_path, post("a", "ann", 0, "which?"), comment("0", "a", author="cy", time=2, body="zero"), *said)
    store = MemoryStore.open(tmp_path / "corpus")
    history = store.history("bob", before=START + 5)
    assert truth(store, history, "which?") == "to the post"
    assert truth(store, history, "zero") == "to 0"


def test_oracle_takes_what_is_most_like_the_truth_and_says_when_there_is_none(store: MemoryStore) -> None:
    [best] = recall(store, "oracle:k=1", user="ann", before=40, query="whatever")  # ann's a4 has four x
    assert best.message.id == "t1_a3" and best.terms["overlap"] == best.score > 0.8
    with pytest.raises(BadInput, match="oracle has no true answer"):
        recall(store, "oracle", before=41)
    with pytest.raises(UnknownName, match="metric of oracle"):
        recall(store, "oracle:metric=luck")


def test_a_policy_that_needs_what_is_not_there_is_refused_with_a_sentence(store: MemoryStore) -> None:
    with pytest.raises(Missing, match="the policy hyde needs a model; name one with --model"):
        CorpusDoors(store).check(policy.load(retrievers, "hyde"))
    with pytest.raises(Missing, match="needs other people's messages"):
        CorpusDoors().check(policy.load(retrievers, "neighbour"))


def test_a_policy_is_handed_what_it_names_and_nothing_else(store: MemoryStore) -> None:
    class Curious:
        needs = ("others",)

        async def __call__(self, history: History, query: str, **given: Any) -> list[Recalled]:
            assert set(given) == {"others"}
            return []

    history = store.history("ann", before=START + 100)
    assert asyncio.run(CorpusDoors(store).recall(Curious(), history, "")) == []


def test_the_truth_is_found_whatever_part_of_a_past_is_asked(store: MemoryStore) -> None:
    history = store.history("bob", before=START + 71)
    assert truth(store, part(history, [0]), "which chain?") == "bob in z"


def test_a_part_of_a_past_keeps_its_times_and_vectors(store: MemoryStore) -> None:
    whole = store.history("cy", before=START + 100)
    some = part(whole, [0, *range(3, 15)])
    assert isinstance(some, Past) and len(some) == 13
    assert list(some.messages) == [whole.messages[0], *whole.messages[3:15]]
    assert some.times.tolist() == [m.time for m in some.messages]
    assert (some.vectors == whole.vectors[[0, *range(3, 15)]]).all()
