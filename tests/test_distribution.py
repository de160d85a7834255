"""Distributions: golden distances, a floor that a perfect imitation meets, and what is compared with what."""

import asyncio
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replies import label, reply
from small_world import SmallCorpus, SmallStore, said, small_store, turn

from evaluation.analysis import sheets
from evaluation.analysis.distribution import bins, distributions, divergence, wasserstein
from evaluation.analysis.floor import Sample, halves
from evaluation.rows import Scored
from evaluation.scoring import score
from evaluation.sheet import Sheet
from evaluation.stats import Interval
from memory.corpus import Link
from memory.message import Thread

NUMBERS = st.lists(st.integers(-50, 50).map(float), min_size=1, max_size=12)


def test_wasserstein_as_by_hand() -> None:
    assert wasserstein([0, 1, 3], [5, 6, 8]) == pytest.approx(5)
    assert wasserstein([0, 1], [0, 1, 1]) == pytest.approx(1 / 6)


def test_jensen_shannon_as_by_hand() -> None:
    assert divergence([0, 1], [0, 2], [0.5, 1.5]) == pytest.approx(0.5)
    assert divergence([0, 0], [2], [0.5, 1.5]) == pytest.approx(1)


@given(NUMBERS, NUMBERS)
def test_both_distances_are_symmetric_and_0_for_the_same(a: list[float], b: list[float]) -> None:
    edges = bins(a)
    assert wasserstein(a, b) == pytest.approx(wasserstein(b, a)) and wasserstein(a, a) == 0
    assert divergence(a, b, edges) == pytest.approx(divergence(b, a, edges))
    assert divergence(a, a, edges) == pytest.approx(0, abs=1e-9)


def test_bins_hold_equally_many_and_names_have_one_each() -> None:
    assert bins([float(n) for n in range(101)]) == pytest.approx([10 * n for n in range(1, 10)])
    assert bins([1.0] * 50) == [1.0]
    assert bins([0.0, 1.0, 1.0], named=True) == [0.5, 1.5]


def world(people: int, of: int, seed: int, shift: float = 0.0) -> Sample[float]:
    dice = Random(seed)
    return Sample([dice.gauss(shift, 1) for _ in range(people * of)], [f"u{n % people}" for n in range(people * of)])


def test_a_perfect_imitation_lies_at_the_floor_and_a_shifted_one_above() -> None:
    real = world(40, 10, 1)
    same = halves(real, real, wasserstein, seed=0)
    assert same and same.simulated == same.floor
    imitated, shifted = (halves(world(40, 10, 2, shift), real, wasserstein, seed=0) for shift in (0.0, 1.0))
    assert imitated and imitated.simulated.mean < imitated.floor.high
    assert (
        shifted and shifted.simulated.low > shifted.floor.high and shifted.simulated.mean == pytest.approx(1, abs=0.2)
    )


def test_the_floor_is_the_same_for_a_seed_and_says_nothing_of_few_people() -> None:
    real = world(10, 5, 1)
    assert halves(real, real, wasserstein, seed=3) == halves(real, real, wasserstein, seed=3)
    assert halves(real, real, wasserstein, seed=3) != halves(real, real, wasserstein, seed=4)
    assert halves(world(3, 9, 1), world(3, 9, 2), wasserstein, seed=0) is None


def lines(sheet: Sheet) -> dict[object, dict[str, object]]:
    names = [column.name for column in sheet.columns]
    return {row[0]: dict(zip(names, row, strict=True)) for row in sheet.rows}


def test_replies_are_compared_with_what_was_written_in_their_slots() -> None:
    rows = [reply(f"u{n % 6}", "long " * (20 + n), "short " * (2 + n), n) for n in range(1, 25)]
    failed = reply("u1", None, "a true one", 30)
    found = lines(distributions([*rows, failed], [], small_store()))["length"]
    assert (found["simulated_n"], found["real_n"], found["people"]) == (24, 24, 6)
    assert found["w1"] == pytest.approx(18)
    apart, usual = found["w1_halves"], found["w1_floor"]
    assert isinstance(apart, Interval) and isinstance(usual, Interval) and apart.mean > usual.high


def test_probes_are_compared_with_what_the_community_gave() -> None:
    def number(guess: float | None, truth: float, at: int) -> Scored:
        return reply(f"u{at}", None, None, at, task="impact", kind="number", value=guess, truth=truth)

    rows = [number(3.0, 1.0, n) for n in range(5)] + [number(None, 9.0, 7)]
    labels = [label(f"u{n}", n < 3, n, slot=f"t1_l{n}") for n in range(5)]
    found = lines(distributions(rows + labels, [], small_store()))
    assert found["score"]["simulated_n"] == 5 and found["score"]["real_n"] == 6
    assert found["sentiment"]["w1"] is None
    assert found["sentiment"]["js"] == pytest.approx(divergence([0, 0, 0, 1, 1], [0] * 5, [0.5]))


def test_without_a_real_counterpart_it_says_so() -> None:
    assert "no answer" in distributions([reply("stranger", "some words", None, 1)], [], small_store()).about


class Club(SmallCorpus):
    """A corpus that knows who answered whom."""

    def links(self, *, before: int, place: str | None = None, k: int) -> list[Link]:
        found = [m for m in self.messages(before) if place in (None, m.place)]
        return [Link(m.id, m.thread, m.parent, m.author, m.time) for m in found][-k:]


def grown(delay: int, chain: bool, people: int = 6, size: int = 5) -> tuple[SmallStore, list, list[Scored]]:
    """Ten real stars whose replies take a minute, then a thread that is simulated with other delays and form."""
    names = [f"u{n}" for n in range(people)]
    threads = []
    for t in range(10):
        root = said(f"t3_{t}", f"t3_{t}", None, names[t % people], 10_000 * (t + 1), "post", 1)
        replies = [
            said(f"t1_{t}_{n}", f"t3_{t}", f"t3_{t}", names[(t + n) % people], root.time + 60 * n, "reply words", 1)
            for n in range(1, size + 1)
        ]
        threads.append(Thread.of(root.id, [root, *replies]))
    opening = said("t3_new", "t3_new", None, "u0", 500_000, "new post", 1)
    store = SmallStore(Club(*threads, Thread.of("t3_new", [opening])))
    turns = []
    for n in range(1, size):
        parent = f"made_{n - 1}" if chain and n > 1 else "t3_new"
        example = turn("reply", f"simulated words {n}", "t3_0", threads[0], mode="rollout")
        slot = replace(
            example.slot, thread="t3_new", id=f"made_{n}", author=names[n % people], parent=parent,
            time=500_000 + delay * n, made=True, number=n,
        )  # fmt: skip
        turns.append(replace(example, slot=slot, distance=n))
    return store, turns, asyncio.run(score(turns, store))


def test_delay_depth_and_length_of_what_a_scheduler_made_have_the_past_beside_them() -> None:
    store, turns, rows = grown(delay=3600, chain=True)
    found = lines(distributions(rows, turns, store))
    assert found["delay"]["simulated_n"] == 4 and found["delay"]["real_n"] == 50
    assert found["depth"]["w1"] == pytest.approx(1.5)  # 1 2 3 4 against all 1
    assert found["length"]["real_of"] == "the people's latest 50 messages before"


def test_the_analyses_of_a_run_all_give_sheets() -> None:
    store, turns, rows = grown(delay=3600, chain=True)
    found = {sheet.name: sheet for sheet in sheets(rows, turns, store)}
    assert {"drift", "voice-own", "merging", "repetition", "shape", "distributions"} <= found.keys()
    assert found["shape"].rows and all(sheet.rows or sheet.about for sheet in found.values())
    assert all(len(row) == len(sheet.columns) for sheet in found.values() for row in sheet.rows)
    again = sheets(list(reversed(rows)), list(reversed(turns)), store)
    assert repr(sheets(rows, turns, store)) == repr(again)  # nan is unequal to itself
