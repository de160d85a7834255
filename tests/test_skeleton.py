"""Rounds on a real thread's skeleton."""

from collections.abc import Container
from dataclasses import replace

from memory.message import Thread
from simulator.records import Base, Slot
from simulator.schedulers.skeleton import Policy, followed
from tests.threads import PEOPLE, message, thread

REAL = thread(1)


def rounds(
    real: Thread, mode: Base, kept: int = 1, known: Container[str] = PEOPLE, width: int = 64
) -> list[list[Slot]]:
    return list(Policy(width).rounds(followed(real, kept, mode, known)[0], mode))


def test_replay_takes_all_slots_at_once() -> None:
    assert [len(r) for r in rounds(REAL, "replay")] == [7]
    assert [len(r) for r in rounds(REAL, "replay", width=3)] == [3, 3, 1]


def test_a_rollout_asks_for_what_comes_after_the_kept_messages_only() -> None:
    assert [s.id for r in rounds(REAL, "rollout", kept=3) for s in r] == [m.id for m in REAL.messages[3:]]


def test_nobody_answers_or_meets_themselves_within_a_round() -> None:
    for round in rounds(REAL, "rollout"):
        assert not {s.parent for s in round} & {s.id for s in round}
        assert len({s.author for s in round}) == len(round)


def test_rounds_keep_the_order_of_time() -> None:
    slots = [s for round in rounds(REAL, "rollout") for s in round]
    assert [s.id for s in slots] == [m.id for m in REAL.messages[1:]]
    assert not any(slot.made for slot in slots)


def test_a_deleted_account_is_left_out_with_all_that_hangs_under_it_in_a_rollout() -> None:
    gone = Thread.of("t1", (replace(m, author=None) if m.id == "t1m1" else m for m in REAL.messages))
    rollout, replay = followed(gone, 1, "rollout", PEOPLE), followed(gone, 1, "replay", PEOPLE)
    assert {s.id for s in rollout[0]} == {"t1m2", "t1m5", "t1m6"}
    assert rollout[1] == 4
    assert (len(replay[0]), replay[1]) == (6, 1)


def test_a_bot_is_left_out_like_a_deleted_account() -> None:
    slots, lost = followed(REAL, 1, "rollout", {"ann", "bob", "dan", "eve"})
    assert [s.author for s in slots] == ["dan", "bob"]
    assert lost == 5


def test_a_chain_of_3000_replies_and_a_star_of_5000_are_planned() -> None:
    chain = Thread.of(
        "c", (message(f"m{n:04}", "c", f"m{n - 1:04}" if n else None, f"p{n % 9}", n) for n in range(3001))
    )
    star = Thread.of("s", (message(f"m{n:04}", "s", "m0000" if n else None, f"p{n}", n) for n in range(5001)))
    assert len(rounds(chain, "rollout", known={f"p{n}" for n in range(9)})) == 3000
    assert len(followed(star, 1, "rollout", {f"p{n}" for n in range(5001)})[0]) == 5000
    assert len(chain.path("m3000")) == 3001
