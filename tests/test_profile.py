"""Profiles that the model writes: once for each state of a past, kept over sittings, failures counted."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from evaluation.playing import Sitting, sit
from evaluation.running import asks
from evaluation.summary import summary
from memory.errors import BadInput
from memory.message import Thread
from memory.store import MemoryStore
from simulator import profile, runlog
from simulator.llm import LLM, Completion, ModelError, Request, asking
from simulator.manifest import RunSpec
from simulator.persona import REFRESH, Cards, Persona
from simulator.profile import Profiles
from simulator.run import Progress, simulate
from simulator.testing import Faulty, Leaves, Scripted, Shelf, distinct
from tests.threads import message

ABOUT = "Rides to work. {memory}"


def says(request: Request) -> str:
    return ABOUT if described(request) else distinct(request)


def described(request: Request) -> bool:
    return "Describe this member" in request.messages[-1][1]


def past(n: int) -> Leaves:
    own = [message(f"m{i}", "t", None, "ann", i, f"number {i}") for i in range(n)]
    return Shelf((Thread.of("t", own),)).history("ann", before=n)


def made(run: Path, llm: LLM, *lengths: int) -> tuple[list[Persona], Profiles]:
    """Personas of somebody with so many messages, one after the other."""
    profiles = Profiles(asking(llm), run, run)

    async def all_of() -> list[Persona]:
        return [await profiles.added(Cards().of(past(n)), past(n)) for n in lengths]

    return asyncio.run(all_of()), profiles


def test_a_profile_is_made_once_for_each_step_of_a_past_and_of_its_messages_alone(tmp_path: Path) -> None:
    llm = Scripted(ABOUT)
    found, profiles = made(tmp_path, llm, REFRESH, REFRESH + 3, 2 * REFRESH - 1, 2 * REFRESH)
    assert [(p.source, p.about) for p in found] == [("profile", ABOUT)] * 4
    assert len(llm.requests) == profiles.calls == 2
    first, second = (request.messages[-1][1] for request in llm.requests)
    assert f"> number {REFRESH - 1}" in first and f"> number {REFRESH}\n" not in first
    assert f"> number {2 * REFRESH - 1}" in second
    again, resumed = made(tmp_path, Scripted(ModelError("transport", "gone")), REFRESH, 2 * REFRESH)
    assert again == [found[0], found[3]] and (resumed.calls, resumed.failed) == (0, 0)


def test_nobody_without_a_card_of_their_own_is_described(tmp_path: Path) -> None:
    llm = Scripted(ABOUT)
    profiles = Profiles(asking(llm), tmp_path, tmp_path)
    for persona in (Persona(), Persona("hand", about="x"), Persona("community", "y")):
        assert asyncio.run(profiles.added(persona, past(20))) == persona
    assert not llm.requests


def test_a_failed_profile_leaves_the_card_and_stays_failed(tmp_path: Path) -> None:
    llm = Scripted([ModelError("content_filter", "withheld"), ABOUT])
    [first, second], profiles = made(tmp_path, llm, REFRESH, REFRESH + 1)
    assert first == second and (first.source, first.about) == ("profile_failed", "")
    assert first.habits == Cards().of(past(REFRESH)).habits
    assert (len(llm.requests), profiles.calls, profiles.failed) == (1, 1, 1)
    [kept] = profile.read(tmp_path).values()
    assert (kept.failure, kept.reason) == ("content_filter", "withheld")
    assert made(tmp_path, llm, REFRESH)[1].failed == 1 and len(llm.requests) == 1


def test_a_fatal_failure_is_raised_and_nothing_is_kept_of_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no key"):
        made(tmp_path, Scripted(ModelError("refused", "no key", fatal=True)), REFRESH)
    assert profile.read(tmp_path) == {}


def test_a_half_line_is_cut_off_and_a_broken_one_is_named(tmp_path: Path) -> None:
    made(tmp_path, Scripted(ABOUT), REFRESH)
    file = tmp_path / profile.FILE
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"prompt": "x')
    made(tmp_path, Scripted(ABOUT), 2 * REFRESH)
    assert file.read_bytes().startswith(whole) and len(profile.read(tmp_path)) == 2
    file.write_bytes(b"{}\n" + whole)
    with pytest.raises(BadInput, match=r"profiles\.ndjson line 1 is no profile"):
        profile.read(tmp_path)


SPEC: dict[str, Any] = {"threads": 2, "retriever": "none", "model": "fake:scripted", "profile": True}


def play(store: MemoryStore, run: Path, llm: LLM, **more: Any) -> Progress:
    return asyncio.run(simulate(RunSpec.of(SPEC | more), store, llm, asks(["none"]), run))


def test_a_run_shows_profiles_as_data_and_does_not_pay_twice(store: MemoryStore, tmp_path: Path) -> None:
    once = Scripted(says)
    progress = play(store, tmp_path / "once", once)
    replies = [request for request in once.requests if not described(request)]
    assert (
        sum(f"About you:\n> {ABOUT}" in request.messages[1][1] for request in replies) == progress.personas["profile"]
    )
    assert progress.profiles == len(once.requests) - len(replies) == len(profile.read(tmp_path / "once")) > 0
    again = Scripted(says)
    stop = ModelError("refused", "no key", fatal=True)
    with pytest.raises(ModelError, match="no key"):
        play(store, tmp_path / "twice", Faulty(again, {len(once.requests) // 2: stop}))
    play(store, tmp_path / "twice", again)
    assert len(again.requests) == len(once.requests)
    assert runlog.comparable(tmp_path / "twice") == runlog.comparable(tmp_path / "once")


def test_profiles_are_the_same_however_many_turns_are_in_flight(store: MemoryStore, tmp_path: Path) -> None:
    logs = []
    for n in (1, 16):
        llm = Scripted(says, seconds=0.001)
        play(store, tmp_path / f"{n}", llm, concurrency=n)
        logs.append((runlog.comparable(tmp_path / f"{n}"), len(llm.requests)))
    assert logs[0] == logs[1]


def test_profiles_that_would_not_be_shown_are_refused() -> None:
    with pytest.raises(BadInput, match="not shown where cards are left out"):
        RunSpec.of({"profile": True, "card": False})


def test_a_recorded_run_with_profiles_replays_and_its_summary_counts_them(store: MemoryStore, tmp_path: Path) -> None:
    spec, corpus, calls = RunSpec.of(SPEC), store.corpus.path, tmp_path / "calls.ndjson"

    def failing(request: Request) -> Completion | str | ModelError:
        return ModelError("content_filter", "withheld") if described(request) else distinct(request)

    played = sit(spec, corpus, tmp_path / "a", asks(["none"]), Sitting(record=calls), Scripted(failing))
    n = played.progress.profiles
    assert n > 0 and f"{n} calls more wrote profiles; {n} profiles of this run failed" in list(summary(played))
    assert any("of own messages, their profile failed" in line for line in summary(played))
    assert played.usage.calls == n + played.progress.calls_done
    sit(spec, corpus, tmp_path / "b", asks(["none"]), Sitting(replay=calls), Scripted(failing))
    assert runlog.comparable(tmp_path / "a") == runlog.comparable(tmp_path / "b")
