"""Wrappers around the model seam: asking again, counting."""

import asyncio
from dataclasses import replace

import pytest

from simulator.llm import Completion, ModelError, Request
from simulator.testing import Faulty, Scripted
from simulator.wrappers import Metered, Retried

ASK = Request((("user", "hello there"),), 5, seed=7)


def retried(model: Scripted, attempts: int = 4) -> tuple[Completion | ModelError, list[float], Retried]:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    llm = Retried(model, attempts, sleep=sleep)
    try:
        return asyncio.run(llm(ASK)), waits, llm
    except ModelError as error:
        return error, waits, llm


def test_a_failure_that_passes_is_asked_again_after_growing_waits() -> None:
    reset = ModelError("transport", "reset")
    answer, waits, _ = retried(Scripted([reset, reset, "yes"]))
    assert isinstance(answer, Completion)
    assert 0.25 <= waits[0] <= 0.75
    assert 0.5 <= waits[1] <= 1.5


def test_the_server_decides_how_long_to_wait() -> None:
    _, waits, _ = retried(Scripted([ModelError("limit", "slow down", wait=3.0), "yes"]))
    assert 3.0 <= waits[0] <= 3.5  # with jitter, so that those who were told the same come one after another


def test_a_wait_is_never_longer_than_a_minute() -> None:
    _, waits, _ = retried(Scripted([ModelError("limit", "slow down", wait=9e9), "yes"]))
    assert waits == [60.0]


def test_the_same_request_waits_the_same_and_another_one_otherwise() -> None:
    def waits(seed: int) -> list[float]:
        found: list[float] = []

        async def sleep(seconds: float) -> None:
            found.append(seconds)

        with pytest.raises(ModelError):
            asyncio.run(Retried(Scripted(ModelError("empty", "")), sleep=sleep)(replace(ASK, seed=seed)))
        return found

    assert waits(7) == waits(7) != waits(8) and len(waits(7)) == 3


def test_an_endpoint_that_is_gone_ends_the_run_after_a_row_of_lost_calls() -> None:
    gone = ModelError("transport", "no route")
    model = Scripted(["yes", *[gone] * 7, "yes", *[gone] * 8])
    llm = Retried(model, attempts=1)

    async def calls() -> list[bool | None]:
        ended: list[bool | None] = []
        for _ in range(17):
            try:
                await llm(ASK)
                ended.append(None)
            except ModelError as error:
                ended.append(error.fatal)
                said = str(error)
        assert said == "no route; the last 8 calls failed: the run stops here, and the same command goes on"
        return ended

    assert asyncio.run(calls()) == [None, *[False] * 7, None, *[False] * 7, True]


def test_failures_of_single_answers_are_no_sign_of_an_endpoint_that_is_gone() -> None:
    llm = Retried(Scripted(ModelError("empty", "no words")), attempts=1)

    async def calls() -> list[bool]:
        found = []
        for _ in range(20):
            with pytest.raises(ModelError) as caught:
                await llm(ASK)
            found.append(caught.value.fatal)
        return found

    assert asyncio.run(calls()) == [False] * 20


@pytest.mark.parametrize("kind", ["refused", "content_filter", "truncated"])
def test_a_failure_that_would_come_back_is_not_asked_again(kind: str) -> None:
    model = Scripted([ModelError(kind, "no"), "yes"])  # type: ignore[arg-type]
    answer, waits, _ = retried(model)
    assert isinstance(answer, ModelError)
    assert not waits
    assert len(model.requests) == 1


def test_an_endpoint_that_never_answered_is_fatal_after_all_attempts() -> None:
    answer, _, _ = retried(Scripted(ModelError("transport", "refused")), attempts=3)
    assert isinstance(answer, ModelError)
    assert (answer.fatal, answer.attempts) == (True, 3)


def test_an_endpoint_that_answered_before_only_fails_its_turn() -> None:
    llm = Retried(Faulty(Scripted(), {1: ModelError("transport", "reset")}), attempts=1)

    async def twice() -> None:
        await llm(ASK)
        with pytest.raises(ModelError) as caught:
            await llm(ASK)
        assert not caught.value.fatal

    asyncio.run(twice())


def test_usage_adds_up_over_calls_and_counts_what_was_not_said() -> None:
    answers = [Completion("a", tokens_in=10, tokens_out=2, cached=4), Completion("b"), ModelError("empty", "nothing")]
    llm = Metered(Scripted(answers))

    async def thrice() -> None:
        await llm(ASK)
        await llm(ASK)
        with pytest.raises(ModelError):
            await llm(ASK)

    asyncio.run(thrice())
    use = llm.usage
    assert (use.calls, use.failed, use.tokens_in, use.tokens_out, use.cached, use.unsaid) == (3, 1, 10, 2, 4, 1)
