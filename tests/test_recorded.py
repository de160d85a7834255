"""A recording of the embedded model travels with the tests: it replays offline, byte for byte, and says what it lacks.

Where one of these fails because prompts are put together otherwise now, make the recording anew: make recording.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import re
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest

from evaluation.playing import Sitting, sit
from memory.errors import Missing
from memory.importing import import_corpus
from simulator.asked import read
from simulator.llm import Completion, ModelError, Request
from simulator.manifest import RunSpec
from simulator.recording import Call, Recording, calls
from simulator.runlog import comparable
from simulator.testing import Scripted, completion
from tests.club import dump
from tests.recorded.make import ASKS, CALLS, LOG, corpus, play
from tests.test_recording import WHO


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("sample") / "corpus")


def lines(log: Path) -> list[bytes]:
    """Sorted, each with the run's name taken out: it names the corpus' format too."""
    return sorted(re.sub(rb'^\{"run":"\w+"', b"{", line) for line in log.read_bytes().splitlines())


@pytest.mark.parametrize("concurrency", [1, 8])
def test_the_recorded_run_replays_byte_for_byte(sample: Path, tmp_path: Path, concurrency: int) -> None:
    played = play(sample, tmp_path, Sitting(replay=CALLS), concurrency=concurrency)
    found = lines(tmp_path / "log.ndjson")
    assert found == lines(LOG) and len(found) == played.progress.calls_done > 10
    if concurrency == 1:
        assert [json.loads(one)["slot"] for one in (tmp_path / "log.ndjson").read_bytes().splitlines()] == [
            json.loads(one)["slot"] for one in LOG.read_bytes().splitlines()
        ]
    assert any(b'"seconds":' in line for line in found), "seconds are those of the recording"


def test_a_call_that_the_recording_lacks_names_itself(sample: Path, tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"calls\.ndjson has no answer to the ask 'reply' of turn t1_\w+ .* in seed"):
        play(sample, tmp_path, Sitting(replay=CALLS), seed=5, threads=recorded_threads())


def recorded_threads() -> tuple[str, ...]:
    return tuple(dict.fromkeys(call.request.about[0] for call in calls(CALLS) if call.request.about))


def test_the_recording_is_small_and_holds_no_path_or_key() -> None:
    content = CALLS.read_bytes() + LOG.read_bytes()
    assert CALLS.stat().st_size < 60_000
    assert not re.search(rb"api[-_]?key|https?://127|/tmp/", content)


def answer(number: int) -> Call:
    request = Request((("user", f"say {number}"),), 5, seed=number)
    return Call(WHO, request, completion(f"said {number}", request))


def write(file: str, numbers: list[int]) -> None:
    recording = Recording(Path(file), record=True)
    for number in numbers:
        if recording.find(WHO, answer(number).request) is None:
            recording.add(answer(number))
    recording.close()


@pytest.mark.parametrize("name", ["calls.ndjson", "calls.ndjson.zst"])
def test_processes_that_share_a_recording_leave_every_call_whole(tmp_path: Path, name: str) -> None:
    file, spawn = tmp_path / name, multiprocessing.get_context("fork")
    writers = [spawn.Process(target=write, args=(str(file), list(range(k, 300, 3)))) for k in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    found: dict[int, Any] = {call.request.seed: call.completion for call in calls(file)}
    assert len(list(calls(file))) == 300
    assert all(isinstance(found[n], Completion) and found[n].text == f"said {n}" for n in range(300))


def test_shards_of_a_run_share_a_recording_and_replay_from_it(sample: Path, tmp_path: Path) -> None:
    file = tmp_path / "calls.ndjson"
    file.write_bytes(CALLS.read_bytes())
    for i in (2, 1):
        play(sample, tmp_path / "run", Sitting(record=file), shard=f"{i}/2")
    assert file.read_bytes() == CALLS.read_bytes(), "nothing was asked again"
    shards = [line for log in (tmp_path / "run").glob("*/log.ndjson") for line in lines(log)]
    assert sorted(shards) == lines(LOG)


@dataclass
class Own:
    """Answers each request with words that no other process would. Its first answer comes when the other process has
    been asked as well, so that both are recording by then."""

    whose: str
    both: Barrier
    name: str = "fake:own"
    asked: int = 0

    async def __call__(self, request: Request) -> Completion:
        self.asked += 1
        if self.asked == 1:
            self.both.wait(60)
        await asyncio.sleep(0)
        return completion(f"Answer {self.asked} of {self.whose} to {request.seed}.", request)

    async def close(self) -> None:
        pass


def shared(**more: Any) -> RunSpec:
    return RunSpec.of({"threads": 4, "retriever": "profile_summary:k=2", "concurrency": 4, **more})


def half(corpus: Path, run: Path, file: Path, shard: str, both: Barrier) -> None:
    sit(shared(shard=shard), corpus, run, ASKS, Sitting(record=file), Own(f"process {shard[0]}", both))


def test_shards_that_record_at_once_leave_a_recording_that_the_whole_run_replays_from(tmp_path: Path) -> None:
    corpus, file, fork = tmp_path / "corpus", tmp_path / "calls.ndjson", multiprocessing.get_context("fork")
    import_corpus([dump(tmp_path)], corpus, embedder="bag", keep_names=True)
    both = fork.Barrier(2)
    halves = [
        fork.Process(target=half, args=(corpus, tmp_path / "run", file, f"{i}/2", both), daemon=True) for i in (1, 2)
    ]
    for process in halves:
        process.start()
    for process in halves:
        process.join()
    assert [process.exitcode for process in halves] == [0, 0]
    found = list(calls(file))
    assert len({(call.identity, call.request) for call in found}) == len(found), "a call is there twice"
    assert file.read_bytes().endswith(b"\n") and {c.completion.text.split()[4] for c in found if c.completion} == {
        "1",
        "2",
    }
    asked = [{answer.prompt for answer in read(tmp_path / "run" / f"shard-{i}-of-2")} for i in (1, 2)]
    assert asked[0] & asked[1], "no question of a memory was met by both"
    nobody = Scripted(ModelError("refused", "asked though all is recorded", fatal=True), name="fake:own")
    sit(shared(), corpus, tmp_path / "again", ASKS, Sitting(replay=file), nobody)
    assert comparable(tmp_path / "again") == comparable(tmp_path / "run") and len(comparable(tmp_path / "run")) == 56
