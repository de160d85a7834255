"""take_turn: what reaches the prompt, what is logged, what fails how."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadInput
from memory.message import Thread
from memory.recall import History, Recalled
from simulator.llm import LLM, ModelError
from simulator.prices import Prices
from simulator.records import Ask, Slot, Turn
from simulator.testing import Echo, Scripted, Shelf, completion
from simulator.turn import Cast, elsewhere, take_turn, turn_seed
from tests.threads import THREADS, message

REPLY = Ask("reply", "Write the next message of {author}.", 50, 0.7)
PROBE = Ask("sentiment", "positive or negative?", 3, judges=True, labels=("positive", "negative"))
SLOT = Slot("t4", "t4m3", "cat", "t4m1", 4003)
REAL = THREADS[3]


@dataclass
class Notes:
    """A log in memory."""

    done: dict[Any, Turn] = field(default_factory=dict)

    def append(self, turn: Turn) -> None:
        self.done[turn.key] = turn


async def last_two(history: History, query: str) -> list[Recalled]:
    return [Recalled(m, float(i), {"age": -float(i)}) for i, m in enumerate(history.messages[-2:])][::-1]


def cast(llm: LLM, *asks: Ask, **other: Any) -> Cast:
    given: dict[str, Any] = {"past": Shelf(THREADS), "retriever": last_two, "log": Notes(), "mode": "rollout"}
    return Cast(run="r", retriever_name="last_two", llm=llm, asks=asks or (REPLY, PROBE), **(given | other))


def turns(llm: LLM, *asks: Ask, slot: Slot = SLOT, judged: str | None = None, **other: Any) -> list[Turn]:
    return asyncio.run(take_turn(slot, REAL, cast(llm, *asks, **other), judged))


def test_the_prompt_holds_the_path_the_memories_and_the_ask_in_that_order() -> None:
    [reply] = turns(Echo(), REPLY)
    assert reply.completion is not None
    text = reply.completion.text
    order = ["says t4m0", "says t4m1", "You are Member C.", "cat says", "Write the next message of Member C."]
    assert [text.index(part) for part in order] == sorted(text.index(part) for part in order)


def test_nothing_at_or_after_the_moment_reaches_the_prompt() -> None:
    [reply] = turns(Echo(), REPLY)
    assert reply.completion is not None
    for late in ("t4m3", "t4m4", "t4m5", "t4m6", "t4m7"):
        assert f"says {late}" not in reply.completion.text


@given(st.integers(0, 6000), st.sampled_from([m.id for m in REAL.messages]))
def test_no_canary_planted_at_or_after_the_moment_is_ever_shown(moment: int, parent: str) -> None:
    canary = "XYZZY"
    planted = tuple(
        Thread.of(t.id, (replace(m, text=f"{canary} {m.text}") if m.time >= moment else m for m in t.messages))
        for t in THREADS
    )
    slot = Slot("t4", "new", "cat", parent, moment)
    answering_past = planted[3][parent].time < moment
    scene = asyncio.run(_prompt(slot, planted)) if answering_past else ""
    assert canary not in scene


async def _prompt(slot: Slot, threads: tuple[Thread, ...]) -> str:
    [turn] = await take_turn(slot, threads[3], cast(Echo(), REPLY, past=Shelf(threads)))
    assert turn.completion is not None
    return turn.completion.text


def test_a_strategy_that_returns_the_future_stops_the_run_with_a_sentence() -> None:
    async def cheat(history: History, query: str) -> list[Recalled]:
        return [Recalled(message("f", "t4", None, "cat", 4003), 1.0)]

    with pytest.raises(BadInput, match="which is not before 4003"):
        turns(Echo(), retriever=cheat)


def test_probes_of_a_rollout_judge_the_reply_just_written_and_share_its_prompt() -> None:
    model = Scripted(["brand new words", "positive"])
    reply, probe = turns(model)
    first, second = (request.messages[1][1] for request in model.requests)
    assert "brand new words" in second
    shared = first[: first.index("Write the next")]
    assert second.startswith(shared)
    assert (reply.judged, probe.judged) == (None, "simulated")


def test_probes_of_a_replay_judge_the_true_message() -> None:
    model = Scripted(["brand new words", "positive"])
    _, probe = turns(model, judged="the true words", mode="replay")
    assert "the true words" in model.requests[1].messages[1][1]
    assert probe.judged == "real"


def test_a_failed_reply_is_a_counted_row_and_its_probe_has_nothing_to_judge() -> None:
    model = Scripted([ModelError("empty", "no words"), "positive"])
    reply, probe = turns(model)
    assert (reply.failure, reply.completion, reply.message()) == ("empty", None, None)
    assert probe.failure == "no_reply"
    assert len(model.requests) == 1


def test_a_fatal_failure_is_raised_and_not_logged() -> None:
    log = Notes()
    with pytest.raises(ModelError, match="no such key"):
        turns(Scripted(ModelError("refused", "no such key", fatal=True)), log=log)
    assert not log.done


def test_what_is_logged_is_not_asked_again() -> None:
    log, model = Notes(), Scripted(["one", "positive"])
    first = turns(model, log=log)
    assert turns(model, log=log) == first
    del log.done["t4", "t4m3", "sentiment", 0]
    turns(model, log=log)
    assert [r.max_tokens for r in model.requests] == [50, 3, 3]


def test_only_the_likeliest_token_and_the_labels_are_kept() -> None:
    answer = completion("pos", logprobs={"I": -0.1, "positive": -1.0, " Pos": -2.0, "neg": -3.0, "The": -4.0, "": -5.0})
    [probe] = turns(Scripted(answer), PROBE, judged="x", mode="replay")
    assert probe.completion is not None
    assert set(probe.completion.logprobs) == {"I", "positive", " Pos", "neg"}


def test_the_turn_says_what_was_recalled_and_why() -> None:
    [reply] = turns(Echo(), REPLY)
    assert [r.time for r in reply.recalled] == [3004, 2005]
    assert reply.recalled[0].terms == {"age": -1.0}
    assert reply.history == 5


def test_distance_counts_simulated_messages_since_the_last_real_one() -> None:
    assert turns(Echo(), REPLY)[0].distance == 1
    spoken = replace(REAL["t4m1"], origin="simulated")
    [turn] = asyncio.run(take_turn(SLOT, REAL.plus(spoken), cast(Echo(), REPLY)))
    assert turn.distance == 2


def test_a_seed_depends_on_slot_ask_and_repeat_and_on_nothing_else() -> None:
    seeds = {turn_seed(s, SLOT, a, r) for s in (0, 1) for a in ("reply", "impact") for r in (0, 1)}
    assert len(seeds) == 8
    assert turn_seed(0, SLOT, "reply", 0) == 300502322
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_without_card_and_memory_nothing_personal_is_in_the_prompt() -> None:
    async def none(history: History, query: str) -> list[Recalled]:
        return []

    [reply] = turns(Echo(), REPLY, retriever=none, show_card=False)
    assert reply.completion is not None
    assert "usually writes" not in reply.completion.text
    assert "wrote earlier" not in reply.completion.text


def test_prompts_are_kept_only_on_request() -> None:
    assert turns(Echo(), REPLY)[0].prompt is None
    assert "You are Member C." in (turns(Echo(), REPLY, keep_prompts=True)[0].prompt or "")


def test_a_person_with_no_past_still_takes_a_turn() -> None:
    [reply] = turns(Echo(), REPLY, slot=replace(SLOT, author="newcomer"))
    assert (reply.history, reply.recalled) == (0, ())


def test_what_is_quoted_in_a_memory_is_not_shown_as_the_persons_words() -> None:
    async def quoting(history: History, query: str) -> list[Recalled]:
        [first, second, *_] = history.messages
        return [Recalled(replace(first, text="> SECRET\nmine"), 2), Recalled(replace(second, text="> SECRET"), 1)]

    [reply] = turns(Echo(), REPLY, retriever=quoting)
    assert reply.completion is not None
    assert "SECRET" not in reply.completion.text and "> mine" in reply.completion.text
    assert len(reply.recalled) == 1


def test_a_rollout_remembers_nothing_that_was_really_said_in_its_thread() -> None:
    late = replace(SLOT, id="new", time=4900)  # cat really wrote t4m3 at 4003

    def remembered(mode: str) -> tuple[set[str], int]:
        [reply] = turns(Echo(), REPLY, slot=late, mode=mode)
        return {item.thread for item in reply.recalled}, reply.history

    assert "t4" in remembered("replay")[0]
    assert "t4" not in remembered("rollout")[0]
    assert remembered("rollout")[1] < remembered("replay")[1]


def test_cards_of_two_threads_are_not_mixed_up() -> None:
    own = [message(f"x{n}", "x", None, "cat", n, "short words") for n in range(3)]
    there = [message(f"y{n}", "y", None, "cat", n + 5, "many many many many many more words") for n in range(3)]
    past = Shelf((Thread.of("x", own), Thread.of("y", there))).history("cat", before=100)
    asked = cast(Echo(), REPLY)
    first = asked.persona(elsewhere(past, Thread.of("x", own)), "x").habits
    second = asked.persona(elsewhere(past, Thread.of("y", there)), "y").habits
    assert "7 words" in first and "2 words" in second
    assert asked.persona(past).habits != first


def test_an_answer_that_does_not_stand_is_asked_for_once_more_under_another_seed() -> None:
    model = Scripted(["Member A: hello", "I would oil it."])
    [reply] = turns(model, REPLY)
    assert (reply.words, reply.failure, reply.attempts) == ("I would oil it.", None, 2)
    [rejected] = reply.rejected
    assert (rejected.failure, rejected.completion.text) == ("several_speakers", "Member A: hello")
    first, second = model.requests
    assert (first.seed, rejected.seed) == (reply.seed, reply.seed) and second.seed != first.seed
    assert replace(second, seed=first.seed) == first


def test_a_second_answer_that_does_not_stand_is_a_failed_turn_of_its_own_class() -> None:
    model = Scripted([completion("and so", finish="length"), ""])
    reply, probe = turns(model)
    assert (reply.failure, reply.completion, reply.words, reply.message()) == ("empty", None, None, None)
    assert [rejected.failure for rejected in reply.rejected] == ["overlong", "empty"]
    assert probe.failure == "no_reply" and len(model.requests) == 2


def test_an_answer_copied_from_a_memory_or_the_thread_does_not_stand() -> None:
    words = "I have replaced the whole drivetrain twice since then and it still squeaks in the rain"

    async def recalling(history: History, query: str) -> list[Recalled]:
        return [Recalled(replace(history.messages[0], text=words), 1)]

    [reply] = turns(Scripted(words), REPLY, retriever=recalling)
    assert reply.failure == "copied"
    long = REAL.plus(replace(REAL["t4m1"], text=words))
    [reply] = asyncio.run(take_turn(SLOT, long, cast(Scripted(words), REPLY)))
    assert reply.failure == "copied"
    [reply] = turns(Scripted(words), REPLY)
    assert reply.words == words


def test_a_probe_without_words_fails_and_is_not_asked_again() -> None:
    model = Scripted("")
    [probe] = turns(model, PROBE, judged="x", mode="replay")
    assert (probe.failure, probe.attempts, len(model.requests)) == ("empty", 1, 1)


def test_a_turn_costs_what_all_its_answers_cost() -> None:
    prices = Prices(input=1, output=10, cached=0.5)
    poor = completion("u/other: no", tokens_in=100, tokens_out=10, cached=60)
    good = replace(poor, text="Fine.")
    [reply] = turns(Scripted([poor, good]), REPLY, prices=prices)
    assert reply.cost == pytest.approx(2 * (40 * 1 + 60 * 0.5 + 10 * 10) / 1e6)
    assert turns(Scripted([poor, good]), REPLY)[0].cost is None
    assert turns(Scripted([replace(poor, tokens_in=None), good]), REPLY, prices=prices)[0].cost is None
    [failed] = turns(Scripted(poor), REPLY, prices=prices)
    assert failed.failure == "several_speakers" and failed.cost == pytest.approx(reply.cost)


def test_the_turn_says_what_the_persona_was_made_of() -> None:
    assert turns(Scripted(), REPLY)[0].persona == "own"
    assert turns(Scripted(), REPLY, slot=replace(SLOT, author="newcomer"))[0].persona == "none"
