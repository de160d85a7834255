"""Budgets: what a call may take is set aside before it is sent; a run stops before the overrun and can go on."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import BadInput
from simulator.budget import FILE, Budgeted, Ledger, Limits, Spent, prompt_bound
from simulator.llm import Completion, ModelError, Request
from simulator.prices import Prices
from simulator.testing import Faulty, Scripted
from simulator.wrappers import Retried

ASK = Request((("user", "hello there"),), 20)
BOUND = prompt_bound(ASK) + 20
PRICES = Prices(input=1.0, output=2.0)
SMALL = Completion("yes", tokens_in=10, tokens_out=5)


@dataclass
class Counting:
    """Answers after a moment with as many tokens as it may, and counts what it was sent and what is in flight."""

    tokens_in: int = 10
    seconds: float = 0.002
    name: str = "fake:counting"
    spent: int = 0
    flying: int = 0
    most: int = 0

    async def __call__(self, request: Request) -> Completion:
        self.flying += 1
        self.most = max(self.most, self.flying)
        await asyncio.sleep(self.seconds)
        self.flying -= 1
        self.spent += self.tokens_in + request.max_tokens
        return Completion("yes", tokens_in=self.tokens_in, tokens_out=request.max_tokens)

    async def close(self) -> None:
        pass


def many(llm: Budgeted | Retried, n: int) -> list[Completion | BaseException]:
    async def all_at_once() -> list[Completion | BaseException]:
        return await asyncio.gather(*(llm(ASK) for _ in range(n)), return_exceptions=True)

    return asyncio.run(all_at_once())


@settings(max_examples=15, deadline=None)
@given(limit=st.integers(BOUND, 20 * BOUND), at_once=st.integers(1, 30), tokens_in=st.integers(0, BOUND - 20))
def test_concurrent_calls_never_take_more_than_the_budget_together(
    tmp_path_factory: pytest.TempPathFactory, limit: int, at_once: int, tokens_in: int
) -> None:
    model = Counting(tokens_in)
    ledger = Ledger(tmp_path_factory.mktemp("run"), Limits(tokens=limit))
    answers = many(Budgeted(model, ledger), at_once)
    ledger.close()
    assert model.spent <= limit and ledger.tokens == model.spent
    refused = [a for a in answers if isinstance(a, Spent)]
    assert len(refused) + sum(isinstance(a, Completion) for a in answers) == at_once
    assert not refused or model.spent + BOUND > limit  # it stops no sooner than it must


def test_a_call_waits_for_what_others_set_aside_rather_than_end_the_run(tmp_path: Path) -> None:
    model = Counting()
    answers = many(Budgeted(model, Ledger(tmp_path, Limits(tokens=2 * BOUND - 1))), 2)
    assert all(isinstance(answer, Completion) for answer in answers)
    assert model.most == 1


def test_calls_in_flight_come_back_before_the_run_is_told_to_stop(tmp_path: Path) -> None:
    model = Counting()
    ledger = Ledger(tmp_path, Limits(tokens=2 * BOUND))
    llm = Budgeted(model, ledger)
    flying: list[int] = []

    async def one() -> None:
        try:
            await llm(ASK)
        except Spent:
            flying.append(model.flying)

    async def several() -> None:
        await asyncio.gather(*(one() for _ in range(9)))

    asyncio.run(several())
    assert flying and set(flying) == {0}


def test_the_reason_says_what_was_spent_and_how_to_go_on(tmp_path: Path) -> None:
    [_, why] = many(Budgeted(Scripted(SMALL), Ledger(tmp_path, Limits(tokens=BOUND + 14))), 2)
    assert str(why) == (
        f"the budget of {BOUND + 14} tokens is spent: 15 so far in this run, and the next call may take {BOUND}; all "
        "finished turns are kept, and the same command with a larger --max-tokens-total goes on from here"
    )


def test_what_earlier_sittings_spent_counts_and_a_larger_budget_goes_on(tmp_path: Path) -> None:
    first = Ledger(tmp_path, Limits(tokens=BOUND))
    assert many(Budgeted(Scripted(SMALL), first), 1) == [SMALL]
    first.close()
    second = Ledger(tmp_path, Limits(tokens=BOUND))
    assert second.tokens == 15
    [why] = many(Budgeted(Scripted(SMALL), second), 1)
    assert isinstance(why, Spent)
    third = Ledger(tmp_path, Limits(tokens=BOUND + 15))
    assert many(Budgeted(Scripted(SMALL), third), 1) == [SMALL]


def test_a_sitting_without_a_budget_counts_for_a_later_one_with_one(tmp_path: Path) -> None:
    many(Budgeted(Scripted(SMALL), Ledger(tmp_path)), 3)
    assert Ledger(tmp_path, Limits(tokens=1)).tokens == 45


def test_two_processes_share_one_budget(tmp_path: Path) -> None:
    one, two = (Ledger(tmp_path, Limits(tokens=BOUND + 15)) for _ in range(2))
    assert many(Budgeted(Scripted(SMALL), one), 1) == [SMALL]
    assert many(Budgeted(Scripted(SMALL), two), 1) == [SMALL]
    [why] = many(Budgeted(Scripted(SMALL), one), 1)
    assert isinstance(why, Spent) and "30 so far" in str(why)


def test_what_a_killed_sitting_had_in_flight_counts_whole(tmp_path: Path) -> None:
    killed = Ledger(tmp_path, Limits(tokens=10_000))
    asyncio.run(killed.reserve(ASK))
    with (tmp_path / FILE).open("a") as file:
        file.write('{"id":"half a li')
    [why] = many(Budgeted(Scripted(SMALL), Ledger(tmp_path, Limits(tokens=2 * BOUND - 1))), 1)
    assert isinstance(why, Spent) and f"{BOUND} so far" in str(why)
    assert many(Budgeted(Scripted(SMALL), Ledger(tmp_path, Limits(tokens=2 * BOUND))), 1) == [SMALL]
    assert Ledger(tmp_path).tokens == 15


def test_money_is_set_aside_by_its_prices(tmp_path: Path) -> None:
    bound = (prompt_bound(ASK) * 1.0 + 20 * 2.0) / 1e6
    ledger = Ledger(tmp_path, Limits(cost=bound + 10e-6), PRICES)
    [first, why] = many(Budgeted(Scripted(SMALL), ledger), 2)
    ledger.close()
    assert first == SMALL and isinstance(why, Spent) and "--max-cost" in str(why)
    assert ledger.cost == pytest.approx(20e-6)


@pytest.mark.parametrize(
    ("kind", "taken"), [("transport", BOUND), ("empty", BOUND), ("truncated", BOUND), ("limit", 0), ("refused", 0)]
)
def test_a_failed_call_counts_whole_unless_nothing_was_read(tmp_path: Path, kind: str, taken: int) -> None:
    ledger = Ledger(tmp_path, Limits(tokens=10_000))
    many(Budgeted(Scripted(ModelError(kind, "no")), ledger), 1)  # type: ignore[arg-type]
    ledger.close()
    assert ledger.tokens == taken


def test_each_attempt_of_a_call_counts(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Limits(tokens=10_000))
    model = Faulty(Scripted(SMALL), {0: ModelError("transport", "reset"), 1: ModelError("transport", "reset")})
    many(Retried(Budgeted(model, ledger), first_wait=0), 1)
    ledger.close()
    assert ledger.tokens == 2 * BOUND + 15


def test_an_answer_without_its_tokens_counts_as_all_that_was_set_aside(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Limits(tokens=10_000))
    many(Budgeted(Scripted(Completion("yes")), ledger), 1)
    ledger.close()
    assert ledger.tokens == BOUND


def test_a_call_that_is_not_back_when_the_time_is_spent_is_broken_off(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Limits(minutes=0.05 / 60))
    [why] = many(Budgeted(Counting(seconds=60), ledger), 1)
    assert isinstance(why, Spent) and "--max-minutes" in str(why)
    assert ledger.seconds < 5


def test_no_call_is_begun_that_the_slowest_so_far_says_will_be_late(tmp_path: Path) -> None:
    model = Counting(seconds=0.1)
    llm = Budgeted(model, Ledger(tmp_path, Limits(minutes=0.15 / 60)))
    many(llm, 1)
    [why] = many(llm, 1)
    assert isinstance(why, Spent) and model.most == 1


def test_a_wait_between_attempts_that_is_longer_than_the_time_left_is_not_begun(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path, Limits(minutes=0.1))
    model = Retried(Budgeted(Scripted(ModelError("limit", "wait", wait=30)), ledger), sleep=ledger.sleep)
    [why] = many(model, 1)
    assert isinstance(why, Spent)


def test_the_time_of_sittings_counts_once_where_they_overlap(tmp_path: Path) -> None:
    lines = [("a.1", 100.0), ("b.1", 110.0), ("a.2", 130.0), ("b.2", 150.0), ("c.1", 1000.0), ("c.2", 1005.0)]
    (tmp_path / FILE).write_text("".join(json.dumps({"id": i, "at": t, "tokens": 1}) + "\n" for i, t in lines))
    assert Ledger(tmp_path).seconds == pytest.approx(55, abs=2)


@pytest.mark.parametrize("limits", [Limits(tokens=0), Limits(minutes=-1), Limits(minutes=float("nan"))])
def test_a_budget_that_lets_nothing_through_is_refused(tmp_path: Path, limits: Limits) -> None:
    with pytest.raises(BadInput, match="lets nothing be asked"):
        Ledger(tmp_path, limits)


def test_a_budget_of_money_needs_prices(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="needs prices"):
        Ledger(tmp_path, Limits(cost=1.0))
