"""Wrappers around the model seam: asking again, counting."""

import asyncio

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
    assert waits == [3.0]


def test_a_wait_is_never_longer_than_a_minute() -> None:
    _, waits, _ = retried(Scripted([ModelError("limit", "slow down", wait=9e9), "yes"]))
    assert waits == [60.0]


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
