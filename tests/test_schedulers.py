"""What every scheduler in the folder keeps to: seeds, resuming, the order of time, nothing of what is still to come."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import simulator.schedulers
from evaluation.running import asks
from memory import policy
from memory.errors import BadInput
from memory.store import MemoryStore
from simulator import ends, runlog
from simulator.llm import LLM, Completion, ModelError, Request
from simulator.manifest import RunSpec
from simulator.records import Turn
from simulator.run import Progress, simulate
from simulator.testing import Faulty, Scripted, completion
from tests.club import rows
from tests.dumps import START, imported

NAMES = policy.names(simulator.schedulers)
MADE = [name for name in NAMES if name != "skeleton"]


@dataclass
class Talker:
    """Says its seed; names a speaker where it is asked to, mostly readably; takes 0 to 6 ms, as the request decides."""

    name: str = "fake:talker"
    slow: bool = False
    requests: list[Request] = field(default_factory=list)

    async def __call__(self, request: Request) -> Completion:
        self.requests.append(request)
        await asyncio.sleep(request.seed % 7 / 1000 if self.slow else 0)
        choice = "ABCDEXYZ"[request.seed % 8] + f" {request.seed % 5}"
        return completion(choice if "Who writes next" in request.messages[-1][1] else f"Said {request.seed}.", request)

    async def close(self) -> None:
        pass


OPENING = {"place": "bikes", "author": "ann", "title": "Grease", "text": "Which grease is best?"}
USUAL: dict[str, Any] = {"retriever": "recency:k=2", "model": "fake:talker", "people": 5, "max_turns": 12}


def play(
    store: MemoryStore, run: Path, llm: LLM | None = None, models: Mapping[str, LLM] | None = None, **spec: Any
) -> tuple[Progress, list[Turn]]:
    wanted = RunSpec.of({**USUAL, **spec})
    progress = asyncio.run(simulate(wanted, store, llm or Talker(), asks(["none"]), run, models=models))
    return progress, runlog.turns(run)


def free(n: int = 2, **opening: Any) -> dict[str, Any]:
    return {"mode": "free", "openings": ({**OPENING, **opening},) * n}


def opened(name: str, **spec: Any) -> dict[str, Any]:
    """A run by that scheduler, free where it can be."""
    return {**(free() if name in MADE else {"threads": 2}), "scheduler": name, **spec}


def replies(turns: list[Turn]) -> list[Turn]:
    return sorted((t for t in turns if t.ask == "reply"), key=lambda t: (t.slot.thread, t.slot.number))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_run_at_concurrency_1_8_and_64(
    store: MemoryStore, tmp_path: Path, name: str
) -> None:
    logs = {}
    for n in (1, 8, 64):
        play(store, tmp_path / f"{n}", Talker(slow=n > 1), **opened(name, repeats=2, concurrency=n, max_turns=6))
        logs[n] = sorted((tmp_path / f"{n}" / "log.ndjson").read_bytes().splitlines())
    assert len(logs[1]) > 8 and logs[1] == logs[8] == logs[64]
    other = play(store, tmp_path / "other", **opened(name, repeats=2, seed=5, max_turns=6))[1]
    assert {turn.seed for turn in other}.isdisjoint(turn.seed for turn in runlog.turns(tmp_path / "1"))


@pytest.mark.parametrize("name", NAMES)
def test_a_run_broken_at_any_call_ends_like_an_unbroken_one_and_pays_no_call_twice(
    store: MemoryStore, tmp_path: Path, name: str
) -> None:
    spec = opened(name, max_turns=6)
    model = Talker()
    whole = sorted(map(repr, play(store, tmp_path / "whole", model, **spec)[1]))
    for call in range(0, len(model.requests), max(1, len(model.requests) // 3)):
        run, again = tmp_path / f"{call}", Talker()
        broken = Faulty(Talker(), {call: ModelError("refused", "the key is not accepted", fatal=True)})
        with pytest.raises(ModelError):
            play(store, run, broken, **spec)  # its name is the talker's
        _, turns = play(store, run, again, **spec)
        assert sorted(map(repr, turns)) == whole
        assert broken.calls - 1 + len(again.requests) == len(model.requests)


@pytest.mark.parametrize("name", NAMES)
def test_everybody_answers_somebody_else_and_later_than_they_wrote(
    store: MemoryStore, tmp_path: Path, name: str
) -> None:
    _, turns = play(store, tmp_path, **opened(name, seed=3))
    said = {turn.slot.id: turn.slot for turn in replies(turns)}
    assert len(said) == len(replies(turns)) > 2
    for slot in said.values():
        if slot.parent in said:
            assert said[slot.parent].time < slot.time and said[slot.parent].number < slot.number
        if slot.made:
            author = said[slot.parent].author if slot.parent in said else "ann"
            assert slot.author != author and slot.author in ["ann", "bob", "cat", "dan", "eve"]


@pytest.mark.parametrize("name", MADE)
def test_people_answer_what_was_posted_in_the_rounds_before(store: MemoryStore, tmp_path: Path, name: str) -> None:
    _, turns = play(store, tmp_path, **opened(name, keep_prompts=True, seed=3))
    deep = [turn for turn in replies(turns) if turn.distance > 1 and turn.prompt]
    assert deep
    by_id = {turn.slot.id: turn for turn in replies(turns)}
    assert all(str(by_id[turn.slot.parent].words) in str(turn.prompt) for turn in deep)


@pytest.mark.parametrize("name", MADE)
def test_a_real_thread_goes_on_from_a_cut_and_nobody_is_in_it_who_came_later(
    store: MemoryStore, tmp_path: Path, name: str
) -> None:
    _, turns = play(store, tmp_path, threads=("t3_8",), cut=4, scheduler=name, people=2)
    real = store.corpus.thread("t3_8").messages
    present = list(dict.fromkeys(m.author for m in real[:4]))
    assert {turn.slot.author for turn in replies(turns)} <= set(present[:2])
    assert all(turn.slot.made and turn.slot.time > real[3].time for turn in replies(turns))


@pytest.mark.parametrize("name", MADE)
def test_a_thread_ends_with_a_logged_reason(store: MemoryStore, tmp_path: Path, name: str) -> None:
    for n, (limit, reason) in enumerate(
        (
            ({"max_turns": 3}, "limit: 3 turns were taken"),
            ({"max_turns": 0, "max_rounds": 2}, "limit: 2 rounds were played"),
            ({"max_turns": 0, "max_size": 4}, "limit: 4 messages are in the thread"),
        )
    ):
        run = tmp_path / f"{n}"
        progress, _ = play(store, run, **opened(name, seed=3, **free(1), **limit))
        [end] = ends.read(run).values()
        assert end.stop == reason and progress.stops == {reason: 1}
        assert play(store, run, **opened(name, seed=3, **free(1), **limit))[0].stops == {reason: 1}
        assert len(ends.read(run)) == 1


@pytest.mark.parametrize("name", MADE)
def test_a_round_in_which_nobody_said_anything_ends_a_thread(store: MemoryStore, tmp_path: Path, name: str) -> None:
    silent = Scripted(ModelError("empty", "no words"), name="fake:talker")
    progress, turns = play(store, tmp_path, silent, **opened(name, seed=3, **free(1)))
    assert progress.stops == {"silence: nobody said anything in a round": 1}
    assert all(turn.failure for turn in turns[1:]) and progress.failed == len(turns) - 1


@pytest.mark.parametrize("name", MADE)
def test_with_nobody_but_the_author_no_one_is_left_to_speak(store: MemoryStore, tmp_path: Path, name: str) -> None:
    progress, turns = play(store, tmp_path, **opened(name, people=("ann",), **free(1)))
    [reason] = progress.stops
    assert not turns[1:] and ("left" in reason or "silence" in reason or "had their turns" in reason)


LATER = st.sampled_from(["dense:k=8", "random_other:k=4", "swap_user:k=4", "neighbour:k=4"])


@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    name=st.sampled_from(NAMES),
    mode=st.sampled_from(["replay", "rollout", "free", "branch"]),
    retriever=LATER,
    cut=st.integers(1, 6),
    thread=st.integers(3, 7),
    seed=st.integers(0, 99),
)
def test_nothing_later_than_a_turn_reaches_its_prompt_in_any_mode(  # noqa: PLR0913 - what is varied
    store: MemoryStore, tmp_path_factory: pytest.TempPathFactory, name: str, mode: str, retriever: str, cut: int,
    thread: int, seed: int,
) -> None:  # fmt: skip
    run = tmp_path_factory.mktemp("leak")
    spec: dict[str, Any] = {"retriever": retriever, "seed": seed, "keep_prompts": True, "max_turns": 6}
    if mode == "free" or (mode == "branch" and name in MADE):
        name = name if name in MADE else "hazard"
        spec |= free(1, time=START + 86_400 * thread, **({"text": ""} if seed % 2 else {})) | {"scheduler": name}
    else:
        spec |= {"threads": (f"t3_{thread}",), "cut": cut, "mode": "replay" if mode == "replay" else "rollout"}
        spec |= {"scheduler": "skeleton" if mode == "replay" else name}
    _, turns = play(store, run / "a", **spec)
    if mode == "branch":
        change = {"do": "insert", "at": 2, "author": "eve", "text": "Sand it first."}
        given = {k: v for k, v in spec.items() if k in ("retriever", "keep_prompts", "seed", "max_turns")}
        _, turns = play(store, run / "b", mode="branch", parent=str(run / "a"), interventions=(change,), **given)
    assert turns
    real = {m.id: m for id in store.corpus.thread_ids() for m in store.corpus.thread(id).messages}
    for turn in turns:
        assert all(memory.time < turn.slot.time for memory in turn.recalled)
        later = [m for m in real.values() if m.time >= turn.slot.time and m.id != turn.slot.parent]
        assert not [m.id for m in later if m.words in str(turn.prompt)]
        simulated = [t for t in replies(turns) if t.slot.time >= turn.slot.time and t.ask == "reply"]
        assert not [t for t in simulated if f"> {t.words}\n" in str(turn.prompt) and turn.slot.parent != t.slot.id]
        if mode != "replay":  # what was really said in the thread after the cut was never said
            mine = [m for m in real.values() if m.thread == turn.slot.thread]
            assert not [m.id for m in mine[cut:] if m.words in str(turn.prompt)]


def test_what_comes_after_the_cut_changes_nothing_of_what_is_drawn(store: MemoryStore, tmp_path: Path) -> None:
    earlier = [row for row in rows() if row["created_utc"] < START + 5 * 86_400]
    imported(tmp_path, *earlier)
    short = MemoryStore.open(tmp_path / "corpus")
    try:
        for name in MADE:
            spec = opened(name, retriever="none", card=False, **free(1, time=START + 5 * 86_400))
            slots = [
                [(t.slot, t.words) for t in replies(play(at, tmp_path / f"{name}{n}", **spec)[1])]
                for n, at in enumerate((store, short))
            ]
            assert slots[0] and slots[0] == slots[1]
    finally:
        short.close()


def test_a_scheduler_that_does_not_repeat_itself_is_found_out(store: MemoryStore, tmp_path: Path) -> None:
    spec = opened(f"{__name__}:Fickle", **free(1))
    broken = Faulty(Talker(), {2: ModelError("refused", "no", fatal=True)})
    with pytest.raises(ModelError):
        play(store, tmp_path, broken, **spec)
    Fickle.calls += 100
    with pytest.raises(BadInput, match="same slots when a run goes on"):
        play(store, tmp_path, **spec)


class Fickle:
    calls = 0

    async def __call__(self, floor: Any) -> Any:
        for n in range(4):
            yield [floor.slot("bob", floor.thread.messages[0].id, floor.now + 5, f"{n + Fickle.calls}")]


def test_an_unreadable_choice_is_counted_and_the_quietest_person_speaks(store: MemoryStore, tmp_path: Path) -> None:
    mute = Scripted("Whoever likes to.", name="fake:talker")
    progress, turns = play(store, tmp_path, mute, scheduler="chosen_by_model:turns=4", **free(1))
    choices = [turn for turn in turns if turn.ask == "next"]
    assert [turn.failure for turn in choices] == ["unparseable"] * 4 and progress.failed == progress.aside == 4
    assert len({turn.slot.author for turn in replies(turns)}) == 4


def test_the_model_s_choice_is_who_speaks_and_to_whom(store: MemoryStore, tmp_path: Path) -> None:
    def say(request: Request) -> str:
        return "Member C answers 1." if "Who writes next" in request.messages[-1][1] else "Yes."

    _, turns = play(store, tmp_path, Scripted(say, name="fake:talker"), scheduler="chosen_by_model:turns=2", **free(1))

    assert len({turn.slot.author for turn in replies(turns)}) == 1
    assert {turn.slot.parent for turn in replies(turns)} == {"free_1"}
