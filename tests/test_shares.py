"""Sorting in shares: every position once, in the order of values, whatever a share can hold; and what stands on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.shares import SPAN, Filed, by_text, ordered, picked, pieces, shares, taken, text_order

NUMBERS = st.lists(st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1), max_size=40)
WORDS = st.text("ab\u00e9\u4e2d_1", max_size=4).map(str.encode)


@pytest.fixture(scope="module")
def filed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], Filed]:
    folder = tmp_path_factory.mktemp("filed")
    return lambda column: Filed.of(np.asarray(column), folder / "column", lambda: None)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(values=NUMBERS, most=st.integers(1, 12))
def test_shares_have_every_position_once_and_the_lowest_values_first(
    filed: Callable[[Any], Filed], values: list[int], most: int
) -> None:
    with closing(filed(np.array(values, np.int64))) as column:
        found = [at.tolist() for at in shares(column, most)]
    assert sorted(n for at in found for n in at) == list(range(len(values)))
    assert all(at and at == sorted(at) for at in found)
    held = [{values[n] for n in at} for at in found]
    assert all(max(low) < min(high) for low, high in pairwise(held))


def test_shares_of_different_values_hold_about_as_much_as_asked_for(filed: Callable[[Any], Filed]) -> None:
    with closing(filed(np.random.default_rng(1).permutation(5000))) as column:
        sizes = [len(at) for at in shares(column, 100)]
    assert max(sizes) <= 100 and len(sizes) < 2 * 5000 / 100


def test_one_value_that_most_have_is_one_share(filed: Callable[[Any], Filed]) -> None:
    values = [*[7] * 300, *range(20)]
    with closing(filed(values)) as column:
        found = [{values[n] for n in at} for at in shares(column, 10)]
    assert sum(7 in some for some in found) == 1 and sum(map(len, found)) == 20


def released() -> tuple[list[int], Callable[[], None]]:
    calls: list[int] = []
    return calls, lambda: calls.append(len(calls))


RECORD = np.dtype([("id", "S24"), ("n", "i8"), ("rest", "S480")])  # long, so that few fill what is looked at together
LENGTH = 2 * SPAN // RECORD.itemsize + 5


@pytest.fixture(scope="module")
def records() -> Iterator[Any]:
    made = np.zeros(LENGTH, RECORD)
    made["n"] = np.random.default_rng(2).integers(0, 99, LENGTH)
    made["id"] = [f"t1_{n}".encode() for n in range(LENGTH)]
    yield made


@pytest.mark.parametrize("field", [None, "id", "n"])
@pytest.mark.parametrize("order", ["ascending", "any", "none", "repeated"])
def test_what_is_taken_is_what_stands_there(records: Any, field: str | None, order: str) -> None:
    dice = np.random.default_rng(3)
    some = dice.integers(0, LENGTH, 500)
    at = {"ascending": np.unique(some), "any": some, "none": some[:0], "repeated": np.sort(np.tile(some, 2))}[order]
    column = records if field is None else records[field]
    calls, release = released()
    assert (taken(column, at, release) == column[at]).all() and len(taken(column, at, release)) == len(at)
    assert (picked(column, at) == column[at]).all()
    assert len(calls) > 2, "memory is given back on the way"


def test_pieces_are_all_of_it_with_where_each_begins() -> None:
    column = np.arange(10)
    assert [(start, part.tolist()) for start, part in pieces(column, 4)] == [
        (0, [0, 1, 2, 3]), (4, [4, 5, 6, 7]), (8, [8, 9]),
    ]  # fmt: skip
    assert list(pieces(column[:0], 4)) == []


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), WORDS), max_size=30))
def test_keys_count_in_turn_and_ids_only_where_all_are_equal(rows: list[tuple[int, int, bytes]]) -> None:
    first, second = (np.array([row[n] for row in rows], np.int64) for n in (0, 1))
    ids = np.array([row[2] for row in rows], "S24")
    asked = []

    def of(at: Any) -> Any:
        asked.extend(at.tolist())
        return ids[at]

    found = ordered(of, first, second)
    assert [rows[n] for n in found.tolist()] == sorted(rows)
    tied = [n for n, row in enumerate(rows) if sum(row[:2] == other[:2] for other in rows) > 1]
    assert sorted(asked) == tied


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.binary(max_size=24) | WORDS, max_size=20), width=st.sampled_from([24, 32]))
def test_ids_are_ordered_by_their_bytes(texts: list[bytes], width: int) -> None:
    ids = np.array(texts, f"S{width}")
    order = text_order(ids)
    assert sorted(order.tolist()) == list(range(len(texts)))
    assert ids[order].tolist() == sorted(ids.tolist())
    ranks = by_text(ids)
    assert ranks[order].tolist() == list(range(len(texts)))


def test_a_column_in_a_file_is_changed_piece_by_piece_and_its_file_goes_with_it(tmp_path: Path) -> None:
    calls, release = released()
    with closing(Filed.of(np.arange(1_200_000), tmp_path / "column", release, lambda part: part * 2.5)) as made:
        assert (tmp_path / "column").exists()
        made.release()
        assert (made.all == np.arange(1_200_000) * 2.5).all()
    assert list(tmp_path.iterdir()) == [] and len(calls) == 2


def test_a_column_of_nothing_has_no_file_and_no_shares(tmp_path: Path) -> None:
    with closing(Filed.of(np.empty(0, np.int64), tmp_path / "column", lambda: None)) as made:
        assert len(made.all) == 0 and list(shares(made, 3)) == []
    assert list(tmp_path.iterdir()) == []
