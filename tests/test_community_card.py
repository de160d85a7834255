"""People without enough messages of their own speak with a card of their community, declared and counted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evaluation.running import asks
from memory.errors import BadInput, UnknownName
from memory.store import MemoryStore
from simulator import runlog
from simulator.casting import Anybody
from simulator.handmade import Card
from simulator.manifest import RunSpec
from simulator.persona import Cards, Opened, Persona
from simulator.records import Turn
from simulator.run import Progress, simulate
from simulator.testing import Scripted, distinct
from tests.club import PEOPLE, rows
from tests.dumps import START, comment, imported, post

DAY = 86_400
OPENED = Opened("t3_8", "bikes", START + 8 * DAY)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    folder = tmp_path_factory.mktemp("few")
    once = comment("once", "8", author="fay", time=8 * DAY + 500, body="Two words.")
    elsewhere = post("far", "gus", 4 * DAY, subreddit="cars", selftext="VROOM " * 30)
    imported(folder, *rows(), once, elsewhere, comment("near", "far", author="ann", time=4 * DAY + 9, subreddit="cars"))
    found = MemoryStore.open(folder / "corpus")
    yield found
    found.close()


def play(store: MemoryStore, run: Path, **spec: Any) -> tuple[Progress, list[Turn]]:
    wanted = RunSpec.of({"model": "fake:scripted", "retriever": "recency:k=2", "keep_prompts": True, **spec})
    other = {"fake:other": Scripted(distinct)}
    progress = asyncio.run(simulate(wanted, store, Scripted(distinct), asks(["none"]), run, models=other))
    return progress, [turn for turn in runlog.turns(run) if turn.ask == "reply"]


def card(store: MemoryStore, user: str, opened: Opened = OPENED, **cards: Any) -> Persona:
    return Cards(community=store.corpus, **cards).of(Anybody(store).history(user, before=opened.time + 600), "", opened)


@pytest.mark.parametrize("mode", ["replay", "rollout"])
def test_a_beginner_speaks_with_the_community_s_card_and_others_with_their_own(
    store: MemoryStore, tmp_path: Path, mode: str
) -> None:
    progress, turns = play(store, tmp_path, mode=mode, threads=("t3_8",))
    assert {turn.slot.author: turn.persona for turn in turns} == {"fay": "community", **dict.fromkeys(PEOPLE, "own")}
    assert progress.personas == {"own": 7, "community": 1}
    [fay] = (turn for turn in turns if turn.persona == "community")
    assert "Usually about" in str(fay.prompt) and "Writes in: bikes." in str(fay.prompt)
    assert play(store, tmp_path, mode=mode, threads=("t3_8",))[0].personas == progress.personas  # found in the log


def cards(*names: str) -> dict[str, Card]:
    return {name: Card(name=name, about="Rides in the rain.") for name in names}


def test_people_whom_the_corpus_does_not_know_take_part_with_a_card_by_hand(store: MemoryStore, tmp_path: Path) -> None:
    opening = {"place": "bikes", "author": "newcomer", "topic": "grease"}
    spec: dict[str, Any] = {"mode": "free", "openings": (opening,), "people": ("stranger", "ann", "newcomer")}
    spec["personas"] = cards("stranger", "newcomer")
    progress, turns = play(store, tmp_path, **spec, scheduler="round_robin:turns=1", retriever="swap_user:k=2")
    found = {turn.slot.author: turn.persona for turn in turns}
    assert found == {"stranger": "hand", "ann": "own", "newcomer": "hand"}
    assert progress.personas == {"hand": 2, "own": 1} and not progress.failed
    [opened] = (turn for turn in runlog.turns(tmp_path) if turn.ask == "post")
    assert opened.persona == "hand"


@pytest.mark.parametrize(
    "spec",
    [
        {"people": ("ann", "bbo")},
        {"models": {"bbo": "fake:other"}},
        {"interventions": ({"do": "swap", "at": 1, "person": "ann", "by": "bbo"},)},
        {"interventions": ({"do": "swap", "at": 1, "person": "bbo", "by": "ann"},)},
        {"interventions": ({"do": "memory", "at": 1, "person": "bbo", "retriever": "none"},)},
        {"mode": "free", "openings": ({"place": "bikes", "author": "bbo", "text": "Hm?"},)},
    ],
)
def test_a_name_that_is_mistyped_is_not_played_as_a_stranger(
    store: MemoryStore, tmp_path: Path, spec: dict[str, Any]
) -> None:
    said = "unknown person without a card written by hand 'bbo': choose from ann, bob, cat, dan, eve, fay, gus"
    with pytest.raises(UnknownName, match=said):
        play(store, tmp_path / "run", **spec)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("retriever", ["dense", "neighbour", "oracle", "random_other", "swap_user", "full_history"])
def test_any_memory_serves_somebody_unknown(store: MemoryStore, tmp_path: Path, retriever: str) -> None:
    spec: dict[str, Any] = {
        "mode": "free",
        "openings": ({"place": "bikes", "author": "ann", "text": "Hm?"},),
        "people": ("stranger",),
    }
    spec["personas"] = cards("stranger")
    progress, [turn] = play(store, tmp_path, **spec, scheduler="round_robin:turns=1", retriever=retriever)
    assert turn.words and not progress.failed


def test_whoever_is_named_as_the_opening_s_author_may_answer_in_it(store: MemoryStore, tmp_path: Path) -> None:
    spec: dict[str, Any] = {
        "mode": "free",
        "openings": ({"place": "bikes", "author": "newcomer", "text": "Hm?"},),
        "people": 3,
    }
    spec["personas"] = cards("newcomer")
    _, turns = play(store, tmp_path, **spec, scheduler="round_robin:turns=1")
    assert "newcomer" in {turn.slot.author for turn in turns}


def test_the_declared_number_decides_whose_card_it_is(store: MemoryStore, tmp_path: Path) -> None:
    progress, _ = play(store, tmp_path, threads=("t3_8",), enough=1000)
    assert progress.personas == {"community": 8}
    with pytest.raises(BadInput, match="enough = 2"):
        RunSpec.of({"enough": 2})


def test_a_community_s_card_is_of_others_there_before_the_thread_opened(store: MemoryStore) -> None:
    early = Opened("t3_8", "bikes", START + 2 * DAY)
    asked: list[dict[str, Any]] = []

    class Spy:
        def others(self, **about: Any) -> list[Any]:
            found = store.corpus.others(**about)
            asked.append({**about, "found": found})
            return found

    Cards(community=Spy(), seed=3).of(Anybody(store).history("fay", before=early.time + 60), "", early)
    [about] = asked
    assert about["found"] and all(m.time < early.time and m.place == "bikes" for m in about["found"])
    assert about["before"] == early.time and about["author"] == "fay" and about["outside"] == "t3_8"


def test_the_same_seed_lends_the_same_card_and_nobody_s_is_lent_where_there_is_none(store: MemoryStore) -> None:
    assert card(store, "fay", seed=1) == card(store, "fay", seed=1) != Persona()
    assert card(store, "fay", Opened("t3_8", "cars", START + 5 * DAY)) == Persona()  # two messages are no habit
    assert card(store, "fay", Opened("t3_8", "unknown", START + 5 * DAY)) == Persona()
    lonely = Cards().of(Anybody(store).history("fay", before=OPENED.time), "", OPENED)
    assert lonely == Persona()


def test_a_run_without_cards_lends_none(store: MemoryStore, tmp_path: Path) -> None:
    _, turns = play(store, tmp_path, threads=("t3_8",), card=False)
    assert {turn.persona for turn in turns} == {"none"}
