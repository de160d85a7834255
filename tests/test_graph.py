"""A thread plays as a LangGraph with a real SQLite checkpointer, and goes on where it stopped."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from memory.message import Thread
from memory.recall import History, Recalled
from simulator.floor import Asking, Floor
from simulator.graph import open_threads
from simulator.llm import LLM, ModelError
from simulator.records import Ask, Base, Turn
from simulator.runlog import RunLog
from simulator.schedulers.skeleton import Policy
from simulator.stage import Roles, Stage
from simulator.testing import Echo, Faulty, Scripted, Shelf, distinct
from simulator.turn import Cast
from tests.threads import PEOPLE, THREADS, message

REPLY = Ask("reply", "Write the next message of {author}.", 50)
REAL = THREADS[3]


async def nothing(history: History, query: str) -> list[Recalled]:
    return []


def stage(log: RunLog, llm: LLM, mode: Base = "rollout", real: Thread = REAL, cut: int = 1) -> Stage:
    cast = Cast("r", mode, Shelf(THREADS), nothing, "none", llm, log, (REPLY,))
    opening = real if mode == "replay" else Thread(real.id, real.messages[:cut])

    async def open(asking: Asking) -> Floor:
        return Floor(opening, real, cut, mode, (*PEOPLE, "p0", "p1", "p2"), 8, Shelf(THREADS), 0, asking)

    return Stage(real.id, open, Policy(), Roles(cast))


async def play(run: Path, llm: LLM, mode: Base = "rollout", real: Thread = REAL) -> tuple[str, dict[str, Turn]]:
    log = RunLog(run)
    try:
        with open_threads(run) as threads:
            stop = (await threads.run(stage(log, llm, mode, real))).stop
        return stop, {turn.slot.id: turn for turn in log.done.values()}
    finally:
        log.close()


def test_every_slot_of_the_skeleton_gets_its_turn_and_the_end_has_a_reason(tmp_path: Path) -> None:
    stop, turns = asyncio.run(play(tmp_path, Scripted()))
    assert stop == "the skeleton has no further slot"
    assert set(turns) == {m.id for m in REAL.messages[1:]}


def test_in_a_rollout_later_turns_answer_simulated_words(tmp_path: Path) -> None:
    model = Scripted(distinct)
    _, turns = asyncio.run(play(tmp_path, model))
    deep = turns["t4m7"]
    [prompt] = [request.messages[-1][1] for request in model.requests if request.seed == deep.seed]
    assert "says t4m0" in prompt and f"have {turns['t4m4'].seed} reasons" in prompt
    assert "says t4m4" not in prompt
    assert deep.distance == 4


def test_in_a_replay_every_turn_answers_real_words(tmp_path: Path) -> None:
    _, turns = asyncio.run(play(tmp_path, Echo(), "replay"))
    deep = turns["t4m7"].completion
    assert deep is not None
    assert "says t4m4" in deep.text
    assert {turn.distance for turn in turns.values()} == {1}


def test_what_answers_a_failed_turn_is_counted_and_not_asked(tmp_path: Path) -> None:
    model = Faulty(Scripted(), {0: ModelError("empty", "no words")})
    _, turns = asyncio.run(play(tmp_path, model))
    assert turns["t4m1"].failure == "empty"
    assert [turns[id].failure for id in ("t4m3", "t4m4", "t4m7")] == ["no_reply"] * 3
    assert turns["t4m6"].failure is None
    assert model.calls == 4


def test_a_finished_thread_is_not_played_again(tmp_path: Path) -> None:
    asyncio.run(play(tmp_path, Scripted()))
    model = Scripted()
    stop, _ = asyncio.run(play(tmp_path, model))
    assert (stop, model.requests) == ("the skeleton has no further slot", [])


@pytest.mark.parametrize("call", range(7))
def test_a_run_broken_at_any_call_goes_on_and_ends_like_an_unbroken_one(call: int, tmp_path: Path) -> None:
    _, whole = asyncio.run(play(tmp_path / "whole", Scripted(distinct)))
    broken = Faulty(Scripted(distinct), {call: ModelError("refused", "the key is not accepted", fatal=True)})
    with pytest.raises(ModelError):
        asyncio.run(play(tmp_path / "broken", broken))
    again = Faulty(Scripted(distinct), {})
    _, turns = asyncio.run(play(tmp_path / "broken", again))
    assert turns == whole
    assert (broken.calls - 1) + again.calls == 7


def test_a_run_without_its_checkpoints_is_rebuilt_from_the_log_alone(tmp_path: Path) -> None:
    _, whole = asyncio.run(play(tmp_path, Scripted(distinct)))
    for file in tmp_path.glob("checkpoints.sqlite*"):
        file.unlink()
    model = Faulty(Scripted(distinct), {})
    assert asyncio.run(play(tmp_path, model))[1] == whole
    assert model.calls == 0


def test_a_chain_of_replies_plays_to_its_end(tmp_path: Path) -> None:
    chain = Thread.of("c", (message(f"m{n:03}", "c", f"m{n - 1:03}" if n else None, f"p{n % 3}", n) for n in range(60)))
    stop, turns = asyncio.run(play(tmp_path, Scripted(), real=chain))
    assert (stop, len(turns)) == ("the skeleton has no further slot", 59)


def test_checkpoints_do_not_grow_with_the_thread(tmp_path: Path) -> None:
    async def size(turns: int) -> int:
        log = RunLog(tmp_path / str(turns))
        ids = [f"m{n:03}" for n in range(turns + 1)]
        chain = Thread.of(
            "c", (message(id, "c", ids[n - 1] if n else None, f"p{n % 3}", n) for n, id in enumerate(ids))
        )
        with open_threads(tmp_path / str(turns)) as threads:
            await threads.run(stage(log, Scripted(), real=chain))
            saver = threads._graph.checkpointer
            query = "SELECT sum(length(checkpoint) + length(metadata)) FROM checkpoints"
            [kept] = saver.conn.execute(query).fetchone()  # type: ignore[union-attr]
        log.close()
        return int(kept)

    short, long = asyncio.run(size(5)), asyncio.run(size(60))
    assert short > 0 and long <= short + 100
