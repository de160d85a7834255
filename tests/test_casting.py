"""Which threads are played: drawn by seed from those where people have a past, or named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memory.errors import BadInput, UnknownName
from memory.message import Thread
from simulator.casting import choose, named
from simulator.testing import Shelf
from tests.threads import message, thread

SHELF = Shelf(tuple(thread(n) for n in range(1, 17)))
ALL = choose(SHELF, SHELF, 12, seed=0)


@pytest.mark.parametrize("seed", range(5))
def test_the_draw_for_n_is_the_start_of_the_draw_for_more(seed: int) -> None:
    whole = choose(SHELF, SHELF, 12, seed)
    assert len(set(whole)) == 12
    assert [choose(SHELF, SHELF, n, seed) for n in range(1, 12)] == [whole[:n] for n in range(1, 12)]


def test_the_seed_decides_the_draw() -> None:
    assert choose(SHELF, SHELF, 12, seed=0) == ALL
    assert len({tuple(choose(SHELF, SHELF, 4, seed)) for seed in range(8)}) > 4


def test_the_later_half_goes_first() -> None:
    later = {f"t{n}" for n in range(9, 17)}
    assert set(ALL[:8]) == later and not set(ALL[8:]) & later


def test_threads_in_which_nobody_has_a_past_are_not_drawn() -> None:
    # Everybody writes 8 / 5 messages a thread: at the start of the fourth nobody has five.
    assert not {"t1", "t2", "t3"} & set(ALL)


def test_more_threads_than_qualify_are_answered_with_how_many_do() -> None:
    with pytest.raises(BadInput, match=r"asked for 99 threads, found 13 of 16 .* ask for 13 or name threads"):
        choose(SHELF, SHELF, 99, seed=0)
    assert len(choose(SHELF, SHELF, 13, seed=0)) == 13


def test_an_empty_corpus_says_to_import_one() -> None:
    with pytest.raises(BadInput, match="the corpus has no threads; import a dump"):
        choose(Shelf(()), Shelf(()), 1, seed=0)


def test_a_corpus_where_no_thread_qualifies_says_why_and_to_name_threads() -> None:
    shelf = Shelf((thread(1), thread(2)))
    with pytest.raises(BadInput, match=r"none of the 2 threads has 3 or more people .* name threads"):
        choose(shelf, shelf, 1, seed=0)


def test_a_talk_of_two_is_no_thread_of_many() -> None:
    pair = Thread.of(
        "pair",
        [message(f"p{n}", "pair", f"p{n - 1}" if n else None, ("ann", "bob")[n % 2], 20_000 + n) for n in range(9)],
    )
    shelf = Shelf((*SHELF.threads, pair))
    assert "pair" not in choose(shelf, shelf, 12, seed=0)
    third = Thread.of("pair", [*pair.messages[:-1], replace(pair.messages[-1], author="cat")])
    fourth = third.plus(message("p9", "pair", "p0", "dan", 20_010))
    shelf = Shelf((*SHELF.threads, fourth))
    assert "pair" in choose(shelf, shelf, 9, seed=0)


def test_named_threads_are_looked_up_and_played_once_each() -> None:
    assert named(SHELF, ["t2", "t1", "t2"]) == ["t2", "t1"]
    with pytest.raises(UnknownName, match="unknown thread 't99'"):
        named(SHELF, ["t1", "t99"])
