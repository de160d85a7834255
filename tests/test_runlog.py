"""The run log loses at most the call in flight."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from memory.errors import BadInput, Missing
from simulator.llm import Completion
from simulator.records import Remembered, Slot, Turn
from simulator.runlog import LOG, RunLog, read, turns, write_manifest


def turn(n: int, text: str = "hello") -> Turn:
    return Turn(
        run="r", mode="rollout", slot=Slot("t", f"m{n}", "ann", "m0", n), ask="reply", repeat=0, model="fake",
        retriever="none", seed=n, prompt_hash="a", recalled=(Remembered("x", "t", 1, 0.5, {"cosine": 0.5}),),
        history=3, distance=1, completion=Completion(text, logprobs={"a": -0.5}),
    )  # fmt: skip


def test_turns_come_back_as_they_were(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    wanted = [turn(1), turn(2, "line\u2028 \n \u0000 🚲"), replace(turn(3), completion=None, failure="empty")]
    for one in wanted:
        log.append(one)
    log.close()
    assert turns(tmp_path) == wanted


def test_a_half_line_is_cut_off_and_its_call_made_again(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.append(turn(1))
    log.append(turn(2))
    log.close()
    whole = (tmp_path / LOG).read_bytes()
    (tmp_path / LOG).write_bytes(whole[:-7])
    assert turns(tmp_path) == [turn(1)]
    again = RunLog(tmp_path)
    assert set(again.done) == {turn(1).key}
    again.append(turn(2))
    again.close()
    assert (tmp_path / LOG).read_bytes() == whole


def test_a_broken_line_is_named_with_file_and_number(tmp_path: Path) -> None:
    (tmp_path / LOG).write_bytes(b'{"run": 1}\n')
    with pytest.raises(BadInput, match=r"log\.ndjson line 1 is not a turn .*take the line out"):
        turns(tmp_path)


def test_a_folder_without_a_run_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"no run in .* personaconv simulate"):
        read(tmp_path)


def test_a_new_run_has_a_manifest_and_no_turns(tmp_path: Path) -> None:
    write_manifest(tmp_path, {"run": "r"}, tmp_path)
    assert read(tmp_path) == ({"run": "r"}, [])


def test_a_manifest_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(BadInput, match=r"run\.json is not JSON"):
        read(tmp_path)
