"""A run over a real store: its log depends on what was asked, not on how fast; other settings are refused by name."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evaluation.running import asks
from memory.errors import BadInput, Busy, UnknownName
from memory.store import MemoryStore
from simulator import runlog
from simulator.llm import LLM, Completion, ModelError, Request
from simulator.manifest import RunSpec
from simulator.records import Turn
from simulator.run import Progress, simulate
from simulator.shard import Shard, playing
from simulator.testing import Echo, Faulty, Scripted, distinct

ROOT = Path(__file__).parent.parent
SMALL: dict[str, Any] = {"threads": 2, "retriever": "recency:k=2", "model": "fake:scripted"}


def play(
    store: MemoryStore, run: Path, llm: LLM | None = None, probes: Sequence[str] = ("none",), **spec: Any
) -> tuple[Progress, list[Turn]]:
    wanted = RunSpec.of({**SMALL, **spec})
    progress = asyncio.run(simulate(wanted, store, llm or Scripted("I ride."), asks(probes), run))
    return progress, runlog.turns(run)


@dataclass
class Uneven:
    """Echo, after 0 to 10 ms that the request decides: what was asked first is not always answered first."""

    name: str = "fake:uneven"

    async def __call__(self, request: Request) -> Completion:
        await asyncio.sleep(request.seed % 11 / 1000)
        return await Echo()(request)

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("mode", ["rollout", "replay"])
def test_one_turn_at_a_time_8_and_64_give_the_same_log(store: MemoryStore, tmp_path: Path, mode: str) -> None:
    logs = {}
    for n in (1, 8, 64):
        play(store, tmp_path / f"{n}", Uneven(), ("sentiment", "impact"), threads=4, mode=mode, concurrency=n)
        logs[n] = (tmp_path / f"{n}" / "log.ndjson").read_bytes().splitlines()
    assert len(logs[1]) == 4 * 7 * 3
    assert logs[1] != logs[8] and sorted(logs[1]) == sorted(logs[8]) == sorted(logs[64])


def test_any_number_of_processes_give_the_same_log(store: MemoryStore, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"threads": 4, "repeats": 2, "concurrency": 64, "probes": ("sentiment",)}
    play(store, tmp_path / "whole", Uneven(), **settings)
    for i in (3, 1, 2):
        progress, _ = play(store, tmp_path / "shards", Uneven(), **settings, shard=f"{i}/3")
        assert progress.calls_done == progress.calls == (3, 3, 2)[i - 1] * 7 * 2
    whole = (tmp_path / "whole" / "log.ndjson").read_bytes().splitlines()
    shards = [line for file in (tmp_path / "shards").glob("*/log.ndjson") for line in file.read_bytes().splitlines()]
    assert sorted(shards) == sorted(whole) and len(whole) == 8 * 7 * 2
    assert not (tmp_path / "shards" / "log.ndjson").exists()


def test_a_run_goes_on_in_another_number_of_processes(store: MemoryStore, tmp_path: Path) -> None:
    play(store, tmp_path / "whole", Scripted(distinct), threads=4)
    play(store, tmp_path / "run", Scripted(distinct), threads=4, shard="1/2")
    rest = Faulty(Scripted(distinct), {9: ModelError("refused", "the key is not accepted", fatal=True)})
    with pytest.raises(ModelError):
        play(store, tmp_path / "run", rest, threads=4)
    last = Faulty(Scripted(distinct), {})
    _, turns = play(store, tmp_path / "run", last, threads=4, shard="2/2")
    assert last.calls == 14 - 9
    assert sorted(turns, key=lambda t: t.key) == sorted(runlog.turns(tmp_path / "whole"), key=lambda t: t.key)


@pytest.mark.parametrize(
    ("held", "asked"), [("2/3", "2/3"), ("2/3", "1/1"), ("1/1", "2/3"), ("2/3", "1/2"), ("2/2", "2/3")]
)
def test_a_share_that_another_process_plays_is_busy(store: MemoryStore, tmp_path: Path, held: str, asked: str) -> None:
    with playing(tmp_path, Shard.of(held), "another"), pytest.raises(Busy, match=rf"'another', process {os.getpid()}"):
        play(store, tmp_path, shard=asked)
    assert play(store, tmp_path, shard=asked)[0].calls_done


def test_two_shares_of_one_run_are_played_at_once(store: MemoryStore, tmp_path: Path) -> None:
    with playing(tmp_path, Shard.of("1/2"), "another"):
        assert play(store, tmp_path, shard="2/2")[0].calls_done == 7


@pytest.mark.parametrize("wrong", ["0/2", "3/2", "2", "a/b", "1/0", "-1/2", ""])
def test_a_shard_that_is_none_is_answered_with_one_that_is(wrong: str) -> None:
    with pytest.raises(BadInput, match="a shard is like 2/4, the second of four processes"):
        RunSpec.of({"shard": wrong})


def test_the_same_seed_gives_the_same_run_and_another_one_another(store: MemoryStore, tmp_path: Path) -> None:
    found = {
        name: play(store, tmp_path / name, Echo(), seed=seed)[1] for name, seed in zip("abc", (5, 5, 6), strict=True)
    }
    assert found["a"] == found["b"]
    assert {turn.run for turn in found["a"]}.isdisjoint(turn.run for turn in found["c"])
    assert {turn.seed for turn in found["a"]}.isdisjoint(turn.seed for turn in found["c"])


@pytest.mark.parametrize(
    ("changed", "difference"),
    [
        ({"seed": 9}, "seed was 0, now 9"),
        ({"cut": 2}, "cut was 1, now 2"),
        ({"mode": "replay"}, "mode was 'rollout', now 'replay'"),
        ({"retriever": "none"}, "retriever was 'recency:k=2', now 'none'"),
        ({"card": False}, "card was True, now False"),
        ({"repeats": 2}, "repeats was 1, now 2"),
        ({"max_turns": 1}, "max_turns was 0, now 1"),
        ({"threads": 1}, "threads was ["),
        ({"llm": Scripted("I ride.", name="fake:other")}, "model was 'fake:scripted', now 'fake:other'"),
        ({"probes": ("impact",)}, "asks.impact was None, now {"),
    ],
)
def test_a_run_goes_on_only_as_it_began(
    store: MemoryStore, tmp_path: Path, changed: dict[str, Any], difference: str
) -> None:
    play(store, tmp_path)
    kept = (tmp_path / "log.ndjson").read_bytes()
    with pytest.raises(BadInput) as caught:
        play(store, tmp_path, **changed)
    assert difference in str(caught.value) and "another folder" in str(caught.value)
    assert (tmp_path / "log.ndjson").read_bytes() == kept


def test_what_decides_speed_alone_may_change(store: MemoryStore, tmp_path: Path) -> None:
    play(store, tmp_path)
    model = Scripted()
    progress, _ = play(store, tmp_path, model, concurrency=7, timeout=5.0, attempts=1)
    assert (progress.found, progress.calls_done, model.requests) == (14, 14, [])


HOLD = """
import sys
from pathlib import Path
from memory.lock import held
with held(Path(sys.argv[1]), "simulate elsewhere"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_folder_that_another_process_plays_in_is_busy_and_names_it(store: MemoryStore, tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "held\n"
        with pytest.raises(Busy) as caught:
            play(store, tmp_path)
        other.communicate()
    assert "'simulate elsewhere'" in str(caught.value) and f"process {other.pid}" in str(caught.value)
    assert play(store, tmp_path)[0].calls_done == 14


def test_threads_are_played_by_name_in_that_order_or_drawn(store: MemoryStore, tmp_path: Path) -> None:
    _, turns = play(store, tmp_path / "named", threads=("t3_7", "t3_2"))
    assert list(dict.fromkeys(turn.slot.thread for turn in turns)) == ["t3_7", "t3_2"]
    _, turns = play(store, tmp_path / "drawn", threads=3)
    assert len({turn.slot.thread for turn in turns}) == 3
    assert json.loads((tmp_path / "drawn" / "run.json").read_text())["decides"]["spec"]["threads"] == list(
        dict.fromkeys(turn.slot.thread for turn in turns)
    )


def test_a_thread_that_is_named_twice_is_played_once(store: MemoryStore, tmp_path: Path) -> None:
    progress, turns = play(store, tmp_path, threads=("t3_7", "t3_7"), concurrency=2)
    assert (progress.threads, progress.calls, progress.calls_done, len(turns)) == (1, 7, 7, 7)


def test_an_unknown_thread_or_policy_leaves_no_folder_behind(store: MemoryStore, tmp_path: Path) -> None:
    for wrong in ({"threads": ("t3_none",)}, {"retriever": "telepathy"}):
        with pytest.raises(UnknownName, match="choose from"):
            play(store, tmp_path / "run", **wrong)
    assert not (tmp_path / "run").exists()


def test_an_unknown_person_has_no_past(store: MemoryStore) -> None:
    with pytest.raises(UnknownName, match=r"unknown person 'nobody': choose from ann, bob, cat, dan, eve"):
        store.history("nobody", before=1)


def test_repeats_ask_every_slot_again_with_other_seeds(store: MemoryStore, tmp_path: Path) -> None:
    progress, turns = play(store, tmp_path, repeats=3)
    assert (progress.threads, progress.calls, len(turns)) == (6, 42, 42)
    assert len({turn.key for turn in turns}) == 42 and len({turn.seed for turn in turns}) == 42


def test_without_probes_every_slot_is_asked_for_its_reply_alone(store: MemoryStore, tmp_path: Path) -> None:
    assert {turn.ask for turn in play(store, tmp_path / "none")[1]} == {"reply"}
    assert {turn.ask for turn in play(store, tmp_path / "all", probes=())[1]} == {"reply", "sentiment", "impact"}


def test_progress_is_told_after_each_call_and_adds_up(store: MemoryStore, tmp_path: Path) -> None:
    seen: list[tuple[int, int, bool]] = []

    def watch(progress: Progress, turn: Turn | None) -> None:
        seen.append((progress.calls_done, progress.threads_done, turn is None))

    model = Faulty(Scripted(name="fake:scripted"), {0: ModelError("empty", "no words")})
    spec = RunSpec.of({**SMALL, "mode": "replay"})
    progress = asyncio.run(simulate(spec, store, model, asks(["none"]), tmp_path, watch))
    assert [done for done, _, thread in seen if not thread] == list(range(1, 15))
    assert [threads for _, threads, thread in seen if thread] == [1, 2]
    assert (progress.calls, progress.calls_done, progress.failed, progress.found) == (14, 14, 1, 0)


def test_a_failure_that_every_call_would_meet_ends_the_run_and_keeps_what_is_done(
    store: MemoryStore, tmp_path: Path
) -> None:
    refused = ModelError("refused", "the key is not accepted", fatal=True)
    with pytest.raises(ModelError, match="the key is not accepted"):
        play(store, tmp_path, Faulty(Scripted(), {5: refused}), concurrency=2)
    kept = runlog.turns(tmp_path)
    assert 0 < len(kept) < 14 and not any(turn.failure for turn in kept)
    model = Scripted()
    progress, turns = play(store, tmp_path, model)
    assert (progress.calls_done, len(turns), len(model.requests)) == (14, 14, 14 - len(kept))


def test_nothing_later_than_a_turn_is_in_its_prompt(store: MemoryStore, tmp_path: Path) -> None:
    _, turns = play(store, tmp_path, Echo(), threads=4, mode="replay", retriever="dense:k=8", keep_prompts=True)
    for turn in turns:
        assert turn.recalled and all(memory.time < turn.slot.time for memory in turn.recalled)
        later = [m for m in store.corpus.thread(turn.slot.thread).messages if m.time >= turn.slot.time]
        assert later and not [m.id for m in later if m.words in str(turn.prompt)]
