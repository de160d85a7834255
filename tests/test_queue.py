"""A long queue costs what is played of it; a log that lost its last lines is the record all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memory.errors import PersonaconvError
from memory.store import MemoryStore
from simulator import ends, runlog
from simulator.finished import Finished
from simulator.llm import ModelError
from simulator.outlook import READ, Outlook
from simulator.runlog import LOG, RunLog
from simulator.testing import Faulty, Scripted, distinct
from tests.test_run import play
from tests.test_runlog import turn


def test_of_ten_thousand_threads_a_few_are_read_to_tell_how_many_turns_there_will_be() -> None:
    read: list[str] = []

    def expected(id: str) -> int:
        read.append(id)
        return 4 + int(id) % 3

    outlook = Outlook.of([(str(n), 0) for n in range(10_000)], expected)
    assert 0 < len(read) <= READ
    assert abs(outlook.turns - 50_000) <= 500
    truth = outlook.turns + sum(outlook.ended(str(n), 4 + n % 3) for n in range(10_000))
    assert truth == sum(4 + n % 3 for n in range(10_000))


def test_few_threads_are_all_read_and_repeats_counted() -> None:
    assert Outlook.of([("a", 0), ("a", 1), ("b", 0)], {"a": 3, "b": 5}.__getitem__).turns == 11


def test_where_turns_cannot_be_told_none_are_until_the_end() -> None:
    outlook = Outlook.of([("a", 0)], lambda id: 0)
    assert (outlook.turns, outlook.ended("a", 7)) == (0, 0)


def test_turns_of_an_ended_thread_are_read_from_the_file_when_asked_for(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    for n in range(3):
        log.append(turn(n))
    assert log.done[turn(1).key] == turn(1)
    log.done.drop("t", 0)
    log.append(turn(3))
    assert list(log.done.values()) == [turn(n) for n in range(4)] and len(log.done) == 4
    assert (log.done.lines("t", 0), log.done.lines("t", 1), log.done.lines("u", 0)) == (4, 0, 0)
    log.close()


def test_finished_turns_lie_in_the_logs_of_all_shards(tmp_path: Path) -> None:
    done = Finished()
    for part in ("shard-1-of-2", "shard-2-of-2"):
        log = RunLog(tmp_path, place=tmp_path / part)
        log.append(turn(int(part[6])))
        log.close()
        done = RunLog(tmp_path, place=tmp_path / part).done
    assert [one.slot.id for one in done.of("t", 0)] == ["m1", "m2"]


def lose(run: Path, lines: int) -> None:
    """What a power cut does: the last lines of the log were not on the disk yet, all else was."""
    log = run / LOG
    kept = log.read_bytes().splitlines(keepends=True)[:-lines]
    log.write_bytes(b"".join(kept))


@pytest.mark.parametrize("lost", [1, 2, 9, 21])
@pytest.mark.parametrize("mode", ["rollout", "replay"])
def test_lines_that_a_power_cut_took_from_a_finished_run_are_made_again(
    store: MemoryStore, tmp_path: Path, lost: int, mode: str
) -> None:
    settings: dict[str, Any] = {"mode": mode, "threads": 3, "concurrency": 3, "probes": ("sentiment",)}
    play(store, tmp_path, Scripted(distinct), **settings)
    whole = runlog.comparable(tmp_path)
    lose(tmp_path, lost)
    again = Faulty(Scripted(distinct), {})
    progress, _ = play(store, tmp_path, again, **settings)
    assert runlog.comparable(tmp_path) == whole
    assert (again.calls, progress.found, progress.calls) == (lost, len(whole) - lost, len(whole))


@pytest.mark.parametrize("lost", [1, 3])
@pytest.mark.parametrize("mode", ["rollout", "replay"])
def test_lines_that_a_power_cut_took_from_a_run_that_was_broken_off_are_made_again(
    store: MemoryStore, tmp_path: Path, lost: int, mode: str
) -> None:
    play(store, tmp_path / "whole", Scripted(distinct), mode=mode, concurrency=3)
    broken = Faulty(Scripted(distinct), {10: ModelError("refused", "the key is not accepted", fatal=True)})
    with pytest.raises(PersonaconvError):
        play(store, tmp_path / "run", broken, mode=mode, concurrency=3)
    kept = len(runlog.turns(tmp_path / "run"))
    lose(tmp_path / "run", lost)
    again = Faulty(Scripted(distinct), {})
    play(store, tmp_path / "run", again, mode=mode, concurrency=3)
    assert runlog.comparable(tmp_path / "run") == runlog.comparable(tmp_path / "whole")
    assert again.calls == 14 - kept + lost


def test_a_choice_of_who_speaks_that_was_lost_is_made_again(store: MemoryStore, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"scheduler": "chosen_by_model", "threads": 1, "max_turns": 2}
    model = Scripted(lambda request: "1" if request.about and request.about[2] == "next" else distinct(request))
    play(store, tmp_path, model, **settings)
    whole = runlog.comparable(tmp_path)
    assert {one.ask for one in runlog.turns(tmp_path)} == {"reply", "next"}
    lose(tmp_path, len(whole) - 1)
    play(store, tmp_path, model, **settings)
    assert runlog.comparable(tmp_path) == whole


def test_an_end_is_taken_as_noted_while_the_log_has_all_that_it_rests_on(store: MemoryStore, tmp_path: Path) -> None:
    first, _ = play(store, tmp_path, Scripted(distinct))
    noted = ends.read(tmp_path)
    for file in tmp_path.glob("checkpoints.sqlite*"):
        file.unlink()
    again, _ = play(store, tmp_path, Scripted(distinct))
    assert (again.stops, again.left_out, again.calls, again.threads_done) == (first.stops, 0, 14, 2)
    assert ends.read(tmp_path) == noted and all(end.lines == 7 for end in noted.values())
