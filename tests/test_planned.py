"""What a run can find is told before it is made, from what is assumed or from an earlier run."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from evaluation.planned import ICC, before, lines, measured
from evaluation.sides import side
from memory.store import MemoryStore
from simulator.manifest import RunSpec
from tests.test_comparing import number, run


def test_a_benchmark_of_a_hundred_people_is_told_what_the_published_table_says() -> None:
    head, share, mean = lines(100, 100)
    assert head.startswith("100 items of 100 people; ICC 0.2 and a correlation of 0.5 with another run are assumed")
    assert "a share near 0.82: known to ±0.075; another run on the same items has to differ by 0.108" in share
    assert "on other items by 0.152" in share and "in its sd: known to ±0.196" in mean
    assert list(lines(0, 0)) == []


def test_more_people_find_more_than_more_items_of_each() -> None:
    few, many = (list(lines(400, people))[1] for people in (20, 400))
    assert "±0.082" in few and "±0.038" in many  # 2.19 times


def test_an_earlier_run_gives_its_spread_and_a_second_side_the_correlation(tmp_path: Path) -> None:
    dice = random.Random(1)
    base = [dice.gauss(10, 2) for _ in range(300)]
    first = [number(n, 0.0, b, f"u{n}") for n, b in enumerate(base)]
    second = [number(n, 0.0, b + dice.gauss(0, 2), f"u{n}") for n, b in enumerate(base)]
    [alone] = measured([side("a", first)])
    assert alone.name == "MAE of impact" and alone.sd == pytest.approx(2, abs=0.2)
    assert (alone.icc, alone.correlation) == (ICC, 0.5)  # nobody has two items
    [both] = measured([side("a", first), side("b", second)])
    assert both.correlation == pytest.approx(math.sqrt(0.5), abs=0.08)
    head, told = lines(100, 50, run(tmp_path / "a", first, 1))
    assert "spread as in" in head and "MAE of impact: known to ±0.4" in told


def test_a_replay_counts_the_slots_that_it_will_play_and_others_have_no_truths(store: MemoryStore) -> None:
    club = store.corpus.path
    replay = before(RunSpec(mode="replay", threads=1), club)
    short = before(RunSpec(mode="replay", threads=1, max_turns=2), club)
    assert short[0].startswith("2 items of ") and int(replay[0].split()[0]) > 2
    assert before(RunSpec(mode="rollout", threads=1, scheduler="round_robin"), club) == []
