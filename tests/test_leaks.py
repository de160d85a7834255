"""The controls of a comparison of memories: honest ones pass, and each kind of cheat fails its own."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest

import memory.retrievers
from bench.turns import dump
from evaluation import leaks
from evaluation.canary import LATER, canaries, planted_canaries
from evaluation.gain import Arms, arms
from evaluation.rows import Scored
from evaluation.shuffles import alone, time_shuffle, user_shuffle
from evaluation.sides import side
from memory import policy
from memory.doors import needs
from memory.errors import Leak
from memory.importing import import_corpus
from memory.message import Message
from memory.planted import planted
from memory.recall import History, Recalled
from memory.store import MemoryStore
from tests.test_comparing import number

MODELLESS = tuple(n for n in policy.names(memory.retrievers) if "ask" not in needs(policy.load(memory.retrievers, n)))


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    """Ten people, enough for the shuffles to tell."""
    folder = tmp_path_factory.mktemp("ten")
    dump(folder / "dump.ndjson", people=10, replies=9)
    import_corpus([folder / "dump.ndjson"], folder / "corpus", embedder="bag", keep_names=True)
    found = MemoryStore.open(folder / "corpus")
    yield found
    found.close()


def calls(store: MemoryStore) -> list[Scored]:
    found = []
    for person in store.corpus.people():
        past = store.history(person, before=2**62).messages
        for m in [m for m in past if m.parent][-5:-1]:
            found.append(replace(number(0, 0.0, 1.0, person), thread=m.thread, slot=m.id, time=m.time, model="m"))
    return found


def compared(rows: list[Scored], *names: str) -> list[Arms]:
    return arms([side(name, [replace(row, retriever=name) for row in rows]) for name in ("none", *names)])


def test_what_is_planted_is_read_from_its_moment_on_and_the_corpus_stays_as_it_is(ten: MemoryStore) -> None:
    row = calls(ten)[0]
    messages = canaries(row, ten)
    assert {m.time - row.time for m in messages} == {0, *LATER} and len({m.author for m in messages}) == 2
    vectors = asyncio.run(ten.embed([m.words for m in messages]))
    files = {file: file.stat().st_mtime_ns for file in ten.corpus.path.rglob("*")}
    with planted(ten, messages, vectors) as future:
        plain = [m.id for m in ten.history(row.user, before=row.time).messages]
        assert [m.id for m in future.history(row.user, before=row.time).messages] == plain
        later = future.history(row.user, before=2**62)
        own = [m for m in messages if m.author == row.user]
        assert [m for m in later.messages if m.id.startswith("t1_canary")] == own
        at = [m.id for m in later.messages].index(own[0].id)
        assert later.vectors[at] @ vectors[messages.index(own[0])] == pytest.approx(1, abs=1e-3)
        assert future.corpus.thread(row.thread).messages != ten.corpus.thread(row.thread).messages
        assert len(future.corpus.all["row"]) == len(ten.corpus.all["row"]) + len(messages)
    assert {file: file.stat().st_mtime_ns for file in ten.corpus.path.rglob("*")} == files


def test_no_packaged_memory_sees_a_planted_message(ten: MemoryStore) -> None:
    every = [replace(row, retriever="") for row in calls(ten)]
    found = compared(every, *MODELLESS, "hyde", "profile_summary", "reflection")
    assert asyncio.run(planted_canaries(found, every[:2], ten)) == 2


@pytest.mark.parametrize(("cheat", "why"), [
    ("Latest", r"canary: tests.leaky:Latest \(m\) recalled a message planted after its moment, for the answer t1_"),
    ("Renamed", r"canary: a message planted later stands in a prompt of tests.leaky:Renamed \(m\)"),
    ("Counting", r"canary: prompts of tests.leaky:Counting \(m\) for the answer t1_\w+ change with what is planted"),
])  # fmt: skip
def test_a_memory_that_looks_past_its_door_fails_the_canary(ten: MemoryStore, cheat: str, why: str) -> None:
    rows = calls(ten)
    with pytest.raises(Leak, match=why):
        asyncio.run(leaks.controls(compared(rows, f"tests.leaky:{cheat}"), ten))


def test_a_permuted_past_is_chosen_from_by_its_moments_alone(ten: MemoryStore) -> None:
    rows = calls(ten)
    found = compared(rows, *MODELLESS)
    passed = asyncio.run(time_shuffle(found, rows[::8], ten))
    assert f"other ids changed no choice, {5 * len(list(alone(found)))} recalls" in passed
    with pytest.raises(Leak, match=r"time-shuffle: tests.leaky:Ordered chooses otherwise for t1_\w+ when permuted"):
        asyncio.run(time_shuffle(compared(rows, "tests.leaky:Ordered"), rows, ten))


def test_the_latest_of_permuted_moments_is_late_by_chance_alone(ten: MemoryStore) -> None:
    true = {m.id: m.time for person in ten.corpus.people() for m in ten.history(person, before=2**62).messages}

    @dataclass(frozen=True)
    class Remembers:
        async def __call__(self, history: History, query: str) -> list[Recalled]:
            return [Recalled(max(history.messages, key=lambda m: true[m.id]), 0.0)]

    rows = calls(ten)
    assert "off the middle of the true past" in asyncio.run(time_shuffle([], rows, ten))
    with pytest.raises(Leak, match=r"time-shuffle: with moments permuted, recency still brings messages from 1\.00"):
        asyncio.run(time_shuffle([], rows, ten, latest=Remembers()))
    few = asyncio.run(time_shuffle([], rows[:5], ten))
    assert few.startswith("too few people with a past to tell by")


def test_given_somebody_elses_past_a_memory_brings_nothing_else(ten: MemoryStore) -> None:
    rows = calls(ten)
    honest = [n for n in MODELLESS if n not in ("none", "oracle") and not needs(policy.load(memory.retrievers, n))]
    passed = asyncio.run(user_shuffle(compared(rows, *honest), rows[::8], ten))
    assert f"own words came back alone, {5 * len(honest)} recalls" in passed
    with pytest.raises(Leak, match=r"user-shuffle: given somebody else's past, tests.leaky:Knowing brings messages"):
        asyncio.run(user_shuffle(compared(rows, "tests.leaky:Knowing"), rows, ten))


def test_lots_of_permuted_people_gain_nothing_and_what_knows_who_was_meant_fails(ten: MemoryStore) -> None:
    rows = calls(ten)
    assert "likeness left of being oneself" in asyncio.run(user_shuffle([], rows, ten))

    @dataclass(frozen=True)
    class Knows:
        async def __call__(self, history: History, query: str) -> list[Recalled]:
            [meant] = [row for row in rows if row.time == history.before][:1]
            return [Recalled(ten.corpus.message(meant.slot), 0.0)]

    with pytest.raises(Leak, match="user-shuffle: with ids of people permuted, a gain of"):
        asyncio.run(user_shuffle([], rows, ten, lot=Knows()))


def test_where_a_model_was_asked_with_a_matched_others_words_they_gain_nothing_over_anybodys() -> None:
    def arm(setting: str, policy: str, error: float) -> object:
        rows = [
            replace(number(n, 0.0, error + n % 3 / 10, f"u{n // 2}"), model="m", retriever=policy) for n in range(40)
        ]
        config = {"setting": setting, "policy": policy, "model": "m", "seed": "0"}
        return replace(side(f"{setting} {policy}", rows), config=config)

    def of(error: float) -> list[Arms]:
        cells = [("none/tree", "", 9.0), ("own/tree", "random_other", 5.0), ("other/tree", "random_own", error)]
        return arms([arm(*cell) for cell in cells])  # type: ignore[misc]

    [group] = of(5.0)
    assert group.permuted is not None and group.sides["random_other"].config["setting"] == "other/tree"
    assert "impact MAE 0.000" in asyncio.run(user_shuffle(of(5.0), [], None))  # type: ignore[arg-type]
    assert "impact MAE 1.000" in asyncio.run(user_shuffle(of(6.0), [], None))  # type: ignore[arg-type]
    with pytest.raises(Leak, match=r"user-shuffle: a matched other's words gain 1\.000 MAE of impact over anybody's"):
        asyncio.run(user_shuffle(of(4.0), [], None))  # type: ignore[arg-type]


def test_a_message_of_somebody_the_corpus_lost_is_no_call(ten: MemoryStore) -> None:
    assert canaries(replace(calls(ten)[0], slot="t1_gone"), ten) == []
    assert isinstance(canaries(calls(ten)[0], ten)[0], Message)
