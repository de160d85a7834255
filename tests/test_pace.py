"""The rates of a community: found again in made-up data, drawn by seed, plausible, and cut at the moment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from statistics import median

import pytest

from memory.corpus import Link
from simulator.pace import UNKNOWN_DELAY, Pace, company, pace

USUAL, SPREAD = 600, 0.5  # seconds, of a log


@dataclass(frozen=True)
class Made:
    """Threads of a post, three answers to it and one to each second of these, after log-normal delays."""

    all: tuple[Link, ...]

    def links(self, *, before: int, place: str | None = None, k: int) -> list[Link]:
        return [link for link in self.all if link.time < before and place in (None, "here")][-k:]

    def scores(self, *, before: int, place: str | None = None, outside: str | None = None) -> Sequence[int]:
        return []


def made(threads: int = 100) -> Made:
    chance, found = Random(1), []
    for n in range(threads):
        at = 100_000 * (n + 1)
        found.append(Link(f"p{n}", f"p{n}", None, f"u{n % 7}", at))
        for reply in range(3):
            time = at + round(USUAL * math.exp(chance.gauss(0, SPREAD)))
            found.append(Link(f"c{n}_{reply}", f"p{n}", f"p{n}", f"u{(n + reply + 1) % 7}", time))
            if reply % 2:
                again = time + round(USUAL * math.exp(chance.gauss(0, SPREAD)))
                found.append(Link(f"d{n}", f"p{n}", f"c{n}_{reply}", f"u{n % 7}", again))
    return Made(tuple(sorted(found, key=lambda link: (link.time, link.id))))


MADE = made()
FITTED = pace(MADE, "here", 10**9)


def test_a_fit_finds_the_delays_and_the_numbers_of_replies_that_data_were_made_with() -> None:
    assert math.exp(FITTED.delay[0]) == pytest.approx(USUAL, rel=0.15)
    assert FITTED.delay[1] == pytest.approx(SPREAD, rel=0.2)
    assert FITTED.replies == pytest.approx((3.0, 0.25), rel=0.25)
    assert FITTED.cases == 400 and sum(FITTED.activity.values()) == 500


def test_drawn_delays_and_numbers_are_like_the_real_ones() -> None:
    chance = Random(7)
    assert USUAL / 1.3 < median(FITTED.after(chance) for _ in range(999)) < USUAL * 1.3
    assert sum(FITTED.children(True, chance) for _ in range(3000)) / 3000 == pytest.approx(3.0, rel=0.15)
    assert Pace(replies=(0.0, 0.0)).children(True, chance) == 0


def test_the_seed_decides_what_is_drawn() -> None:
    first, same, other = ([FITTED.after(Random(f"{seed}{n}")) for n in range(20)] for seed in (1, 1, 2))
    assert first == same != other and min(first) >= 1


def test_nothing_at_or_after_the_moment_is_counted() -> None:
    cut = 50 * 100_000
    assert pace(MADE, "here", cut) == pace(Made(tuple(x for x in MADE.all if x.time < cut)), "here", 10**9)


def test_a_community_without_cases_answers_like_the_whole_corpus_and_an_empty_corpus_as_declared() -> None:
    assert pace(MADE, "elsewhere", 10**9).delay == pytest.approx(FITTED.delay, rel=0.05)
    empty = pace(Made(()), "here", 10**9)
    assert empty.delay == pytest.approx(UNKNOWN_DELAY) and empty.cases == 0


def test_company_is_who_is_there_then_who_is_active_and_known() -> None:
    rates = Pace(activity={"ann": 9, "bot": 99}, beyond={"bob": 1})
    known = {"ann", "bob", "cat"}
    assert company(rates, known, ["cat", "bot"], 3, Random(0)) == ("cat", "ann", "bob")
    assert company(rates, known, ["cat", "bot"], 2, Random(0)) == ("cat", "ann")
