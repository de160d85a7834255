"""Rounds on a real thread's skeleton."""

from dataclasses import replace

from memory.message import Thread
from simulator.schedulers.skeleton import Policy
from tests.threads import message, thread

REAL = thread(1)


def test_replay_takes_all_slots_at_once_and_keeps_the_real_thread_as_context() -> None:
    plan = Policy().plan(REAL, "replay")
    assert [len(r) for r in plan.rounds] == [7]
    assert plan.opening == REAL


def test_a_rollout_opens_with_the_real_messages_before_the_cut_only() -> None:
    plan = Policy(cut=3).plan(REAL, "rollout")
    assert plan.opening.messages == REAL.messages[:3]
    assert plan.slots == 5


def test_nobody_answers_or_meets_themselves_within_a_round() -> None:
    plan = Policy().plan(REAL, "rollout")
    for round in plan.rounds:
        assert not {s.parent for s in round} & {s.id for s in round}
        assert len({s.author for s in round}) == len(round)


def test_rounds_keep_the_order_of_time() -> None:
    slots = [s for round in Policy().plan(REAL, "rollout").rounds for s in round]
    assert [s.id for s in slots] == [m.id for m in REAL.messages[1:]]


def test_a_deleted_account_is_left_out_with_all_that_hangs_under_it_in_a_rollout() -> None:
    gone = Thread.of("t1", (replace(m, author=None) if m.id == "t1m1" else m for m in REAL.messages))
    rollout, replay = Policy().plan(gone, "rollout"), Policy().plan(gone, "replay")
    assert {s.id for r in rollout.rounds for s in r} == {"t1m2", "t1m5", "t1m6"}
    assert rollout.left_out == 4
    assert (replay.slots, replay.left_out) == (6, 1)


def test_a_bot_is_left_out_like_a_deleted_account() -> None:
    plan = Policy().plan(REAL, "rollout", people={"ann", "bob", "dan", "eve"})
    assert [s.author for r in plan.rounds for s in r] == ["dan", "bob"]
    assert plan.left_out == 5


def test_max_turns_takes_the_earliest_slots() -> None:
    plan = Policy(max_turns=2).plan(REAL, "rollout")
    assert [s.id for r in plan.rounds for s in r] == ["t1m1", "t1m2"]


def test_a_chain_of_3000_replies_and_a_star_of_5000_are_planned() -> None:
    chain = Thread.of(
        "c", (message(f"m{n:04}", "c", f"m{n - 1:04}" if n else None, f"p{n % 9}", n) for n in range(3001))
    )
    star = Thread.of("s", (message(f"m{n:04}", "s", "m0000" if n else None, f"p{n}", n) for n in range(5001)))
    assert len(Policy().plan(chain, "rollout").rounds) == 3000
    assert Policy().plan(star, "rollout").slots == 5000
    assert len(chain.path("m3000")) == 3001
