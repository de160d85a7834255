"""Prices: what tokens cost, and what is no price."""

import pytest

from memory.errors import BadInput
from simulator.llm import Completion
from simulator.prices import Prices, cost
from simulator.wrappers import Usage

MINI = Prices.of("input=0.15, cached=0.075, output=0.6")


def test_cached_input_costs_its_own_price() -> None:
    assert cost(Completion("a", tokens_in=1_000_000, tokens_out=500_000, cached=400_000), MINI) == pytest.approx(
        0.6 * 0.15 + 0.4 * 0.075 + 0.5 * 0.6
    )


def test_without_a_price_for_cached_input_all_input_costs_the_same() -> None:
    assert cost(Completion("a", tokens_in=2_000, tokens_out=0, cached=1_000), Prices.of("input=10,output=0")) == 0.02


def test_cached_input_can_be_free() -> None:
    assert cost(Completion("a", tokens_in=10, tokens_out=0, cached=10), Prices.of("input=5,output=1,cached=0")) == 0


@pytest.mark.parametrize("silent", [Completion("a"), Completion("a", tokens_in=3), Completion("a", tokens_out=3)])
def test_tokens_that_were_not_reported_have_no_cost(silent: Completion) -> None:
    assert cost(silent, MINI) is None


def test_more_cached_than_was_sent_costs_no_less_than_all_cached() -> None:
    assert cost(Completion("a", tokens_in=100, tokens_out=0, cached=900), MINI) == pytest.approx(100 * 0.075 / 1e6)


def test_what_many_calls_used_costs_what_they_cost_together() -> None:
    assert cost(Usage(calls=2, tokens_in=3_000_000, tokens_out=1_000_000), MINI) == pytest.approx(0.45 + 0.6)


@pytest.mark.parametrize(
    "text",
    ["", "0.15", "input=1", "output=1", "input=1,output=-1", "input=nan,output=1", "input=1,output=inf",
     "input=1,output=1,reasoning=2", "input=1,input=2,output=1", "input=,output=1", "input=1;output=2"],
)  # fmt: skip
def test_what_is_no_price_is_answered_with_one_that_is(text: str) -> None:
    with pytest.raises(BadInput, match=r"prices are per million tokens, like input=0\.15,cached=0\.075,output=0\.6"):
        Prices.of(text)
