"""The corrected protocol: targets that no score chose, one frame in every cell, nothing later, a control for each."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

import memory.retrievers
from evaluation.benchmark.corrected import NOBODY, ask_item, asks, example
from evaluation.benchmark.grid import CELLS, PAPER, Cell, cells, view
from evaluation.benchmark.items import TASKS
from evaluation.benchmark.spec import BenchSpec
from evaluation.benchmark.targets import Target, choose
from evaluation.tasks import ask
from memory import policy
from memory.doors import CorpusDoors
from memory.errors import BadInput, UnknownName
from memory.store import MemoryStore
from simulator.prompt import Budget
from simulator.records import Turn
from simulator.testing import Scripted
from simulator.turn import Cast
from tests.dumps import imported

PEOPLE = [f"p{n}" for n in range(8)]
DAY = 86_400


def dump(scores: int = 0) -> list[dict[str, Any]]:
    """30 threads in two communities; every text is one word of its own. `scores` draws all scores anew."""
    dice, luck = Random(5), Random(scores)
    rows: list[dict[str, Any]] = []
    for n in range(30):
        place = ("life", "art")[n % 2]
        time = 1_600_000_000 + n * DAY
        post = {"id": f"x{n}", "subreddit": place, "author": dice.choice(PEOPLE), "created_utc": time}
        rows.append(post | {"title": f"title{n:03d}", "selftext": f"post{n:03d}", "score": luck.randint(-5, 9)})
        ids = [f"t3_x{n}"]
        for m in range(7):
            rows.append(
                {
                    "id": f"y{n}z{m}",
                    "link_id": ids[0],
                    "parent_id": dice.choice(ids),
                    "subreddit": place,
                    "author": dice.choice(PEOPLE),
                    "created_utc": time + 600 * (m + 1),
                    "body": f"said{n:02d}{m:02d}w",
                    "score": luck.randint(-5, 9),
                }
            )
            ids.append(f"t1_y{n}z{m}")
    return rows


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    folder = tmp_path_factory.mktemp("grid")
    imported(folder, *dump())
    found = MemoryStore.open(folder / "corpus")
    yield found
    found.close()


@pytest.fixture(scope="module")
def targets(store: MemoryStore) -> list[Target]:
    return choose(store, 6, seed=0, earlier=3)


class Kept:
    """A log in memory."""

    def __init__(self) -> None:
        self.done: dict[Any, Turn] = {}

    def append(self, turn: Turn) -> None:
        self.done[turn.key] = turn


def prompts(store: MemoryStore, target: Target, cell: Cell, retriever: str = "recency:k=3") -> list[str]:
    llm = Scripted("positive")
    cast = Cast(
        run="r", mode="replay", past=store, retriever=policy.load(memory.retrievers, retriever),
        retriever_name=retriever, llm=llm, log=Kept(), asks=(), budget=Budget(4000, 4000, 200),
        doors=CorpusDoors(store),
    )  # fmt: skip
    thread = store.corpus.thread(target.slot.thread)
    turns = asyncio.run(ask_item(target, thread, cell, BenchSpec(), cast, store, 0))
    assert [turn.failure for turn in turns] == [None] * 3
    return ["\n".join(text for _, text in request.messages) for request in llm.requests]


def spoken(texts: list[str]) -> set[str]:
    return set(re.findall(r"said\d{4}w|post\d{3}|title\d{3}", "\n".join(texts)))


def test_no_value_of_a_score_decides_what_is_asked_or_shown(
    store: MemoryStore, targets: list[Target], tmp_path: Path
) -> None:
    imported(tmp_path, *dump(scores=99))
    other = MemoryStore.open(tmp_path / "corpus")
    try:
        again = choose(other, 6, seed=0, earlier=3)
    finally:
        other.close()
    assert [t.facts() for t in again] == [t.facts() for t in targets]
    assert [t.message.score for t in again] != [t.message.score for t in targets]


def test_a_larger_draw_begins_with_the_smaller_and_another_seed_draws_others(
    store: MemoryStore, targets: list[Target]
) -> None:
    assert choose(store, 3, seed=0, earlier=3) == targets[:3]
    assert [t.id for t in choose(store, 6, seed=1, earlier=3)] != [t.id for t in targets]
    assert len({t.slot.author for t in targets}) == 6
    everybody = choose(store, 0, seed=0, earlier=3)
    assert everybody[:6] == targets and len(everybody) == len(PEOPLE)


def test_the_control_is_somebody_of_the_community_who_had_not_spoken_there(
    store: MemoryStore, targets: list[Target]
) -> None:
    for target in targets:
        thread = store.corpus.thread(target.slot.thread)
        assert target.other not in {m.author for m in thread.messages if m.time <= target.slot.time}
        theirs = store.history(target.other, before=target.slot.time).messages
        assert any(m.place == target.message.place for m in theirs)
        assert target.other_case.message.author == target.other
        assert target.own_case.message.author == target.slot.author


def test_nothing_at_or_after_the_target_is_shown_and_nothing_of_its_thread_is_remembered(
    store: MemoryStore, targets: list[Target]
) -> None:
    every = [m for id in store.corpus.thread_ids() for m in store.corpus.thread(id).messages]
    time = {word: m.time for m in every for word in m.words.split()}
    home = {word: m.thread for m in every for word in m.words.split()}
    for target in targets:
        allowed = {target.message.words}
        for cell in CELLS.values():
            seen = spoken(prompts(store, target, cell)) - allowed
            assert all(time[word] < target.slot.time for word in seen)
            if cell.conversation == "none":
                assert not {w for w in seen if home[w] == target.slot.thread}
        assert target.message.words not in prompts(store, target, CELLS["own/tree"])[TASKS.index("generation")]


def test_conversation_grows_from_nothing_to_the_whole_tree_so_far(store: MemoryStore, targets: list[Target]) -> None:
    for target in targets:
        thread = store.corpus.thread(target.slot.thread)
        before = thread.before(target.slot.time, answering=target.slot.parent)
        wanted = {
            "none": set(),
            "parent": set(before[target.slot.parent].words.split()),
            "trajectory": {w for m in before.path(target.slot.parent) for w in m.words.split()},
            "tree": {w for m in before.messages for w in m.words.split()},
        }
        for conversation, words in wanted.items():
            shown = spoken(prompts(store, target, CELLS[f"none/{conversation}"])) - {target.message.words}
            assert shown == words
            assert all(m.score is None for m in view(thread, target.slot, conversation).messages)  # type: ignore[arg-type]


def test_memory_is_ones_own_or_the_controls_or_nobodys(store: MemoryStore, targets: list[Target]) -> None:
    every = {m.words: m.author for id in store.corpus.thread_ids() for m in store.corpus.thread(id).messages}
    for target in targets:
        parents = {target.own_case.parent, target.other_case.parent, target.message.words}
        for memory_of, person in (("own", target.slot.author), ("other", target.other)):
            seen = spoken(prompts(store, target, CELLS[f"{memory_of}/none"]))
            writers = {every[w] for w in seen if w.startswith("said") and w not in parents}
            assert writers == {person}
        assert spoken(prompts(store, target, CELLS["none/none"])) == {target.message.words}


def test_the_frame_is_the_same_in_every_cell(store: MemoryStore, targets: list[Target]) -> None:
    base = [(ask.name, len(ask.examples), ask.question) for ask in asks(targets[0], CELLS["own/tree"], BenchSpec())]
    for cell in CELLS.values():
        assert [(a.name, len(a.examples), a.question) for a in asks(targets[0], cell, BenchSpec())] == base
        assert not any("score is" in text for text in prompts(store, targets[0], cell))


def test_an_example_states_what_became_of_the_case() -> None:
    case = replace(NOBODY, message=replace(NOBODY.message, score=-3))
    assert (
        example("sentiment", case, ask("sentiment"))[1] == "negative"
        and example("sentiment", NOBODY, ask("sentiment"))[1] == "positive"
    )
    assert example("impact", case, ask("impact"))[1] == "-3"
    asked, answer = example("generation", NOBODY, ask("generation"))
    assert NOBODY.parent in asked and answer == NOBODY.message.text


def test_settings_go_by_the_papers_names_or_by_their_place_in_the_grid() -> None:
    assert len(CELLS) == 12
    assert cells(["p-conv", "own/tree", "np-conv"]) == (PAPER["p-conv"], PAPER["np-conv"])
    with pytest.raises(UnknownName, match="other/parent"):
        cells(["everything"])


def test_too_few_people_are_said(store: MemoryStore) -> None:
    with pytest.raises(BadInput, match="asked for 50 items, found 8"):
        choose(store, 50, seed=0, earlier=3)
    with pytest.raises(BadInput, match="asked for any items, found 0"):
        choose(store, 0, seed=0, earlier=500)
    assert {t.message.place for t in choose(store, 2, seed=0, earlier=3, places=["art"])} == {"art"}


def test_facts_hold_no_words(targets: list[Target]) -> None:
    assert not spoken([json.dumps([t.facts() for t in targets])])
