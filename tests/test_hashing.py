"""What data is called by: any change of it shows, and how it was looked at or ordered does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rows import put

from memory.digest import text_of, total_of
from memory.hashing import _BLOCK, id_numbers, text_numbers
from memory.reading import Row

TEXTS = st.text("ab\u00e9\u4e2d\0", max_size=6).map(str.encode)


def numbers(*texts: bytes) -> list[int]:
    return [int(n) for n in text_numbers(b"".join(texts), np.array([len(text) for text in texts], np.int64))]


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(TEXTS | st.sampled_from([b"x" * n for n in (_BLOCK - 1, _BLOCK, 2 * _BLOCK + 3)]), max_size=12))
def test_many_texts_have_the_numbers_that_each_has_alone(texts: list[bytes]) -> None:
    assert numbers(*texts) == [numbers(text)[0] for text in texts]


@settings(max_examples=150, deadline=None)
@given(one=TEXTS, other=TEXTS)
def test_different_texts_have_different_numbers(one: bytes, other: bytes) -> None:
    assert (numbers(one) == numbers(other)) == (one == other)


@pytest.mark.parametrize("length", [1, 200, 2 * _BLOCK + 9])
def test_any_byte_that_is_another_and_any_two_that_change_places_are_seen(length: int) -> None:
    dice = np.random.default_rng(length)
    text = dice.integers(0, 256, length).astype(np.uint8)
    [whole] = numbers(text.tobytes())
    for at, by in zip(dice.integers(0, length, 30), dice.integers(1, 256, 30), strict=True):
        changed = text.copy()
        changed[at] ^= by
        assert numbers(changed.tobytes()) != [whole]
    for one, other in dice.integers(0, length, (30, 2)):
        changed = text.copy()
        changed[[one, other]] = text[[other, one]]
        assert (numbers(changed.tobytes()) == [whole]) == (text[one] == text[other])


def test_a_text_and_its_beginning_differ_also_where_it_ends_in_nothing_but_zeros() -> None:
    found = numbers(b"", b"\0", b"\0\0", b"ab", b"ab\0", b"aa\0", b"a")
    assert len({*found}) == len(found)


@settings(max_examples=60, deadline=None)
@given(ids=st.lists(TEXTS.filter(lambda id: not id.endswith(b"\0")), max_size=12))
def test_the_number_of_an_id_does_not_depend_on_the_width_of_its_column(ids: list[bytes]) -> None:
    narrow, wide = (id_numbers(np.array(ids, f"S{width}")).tolist() for width in (24, 200))
    assert narrow == wide
    assert len({*narrow}) == len({*ids})
    assert narrow == [id_numbers(np.array([id], "S24"))[0] for id in ids]


@given(st.lists(st.integers(0, 2**64 - 1), min_size=4, max_size=4))
def test_a_sum_is_read_from_its_text(total: list[int]) -> None:
    text = text_of(np.array(total, np.uint64))
    assert total_of(text).tolist() == total and len(text) == 64


MESSAGES = [
    Row("t3_p", "t3_p", None, "ann", 1, "said", 3, "bikes", "post", "A title"),
    Row("t1_a", "t3_p", "t3_p", "bob", 2, "words", 1, "bikes"),
    Row("t1_b", "t3_p", "t1_a", None, 3, None, None, "bikes"),
    Row("t3_q", "t3_q", None, "cy", 4, "", 0, "cars", "post", "Another"),
]
CHANGES: list[tuple[int, dict[str, Any]]] = [
    (2, {"id": "t1_c"}), (2, {"parent": "t3_p"}), (1, {"author": "ann"}), (1, {"author": None}), (2, {"time": 4}),
    (1, {"text": "words "}), (2, {"text": ""}), (1, {"score": 2}), (2, {"score": 0}), (1, {"place": "cars"}),
    (0, {"title": "A titl"}), (0, {"title": "A titles", "text": "aid"}),
    (1, {"thread": "t3_q", "parent": "t3_q", "time": 5}),
]  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(put(tmp_path_factory.mktemp("whole") / "corpus", MESSAGES, key=None).manifest["data_hash"])


@pytest.mark.parametrize(("at", "change"), CHANGES)
def test_a_corpus_is_called_otherwise_when_anything_of_a_message_is_another(
    tmp_path: Path, whole: str, at: int, change: dict[str, Any]
) -> None:
    rows = [Row(*(getattr(row, name) for name in Row.__struct_fields__)) for row in MESSAGES]
    for name, value in change.items():
        setattr(rows[at], name, value)
    assert put(tmp_path / "corpus", rows, key=None).manifest["data_hash"] != whole


def test_what_does_not_belong_to_a_message_does_not_change_what_a_corpus_is_called(tmp_path: Path, whole: str) -> None:
    rows = [Row(*(getattr(row, name) for name in Row.__struct_fields__)) for row in reversed(MESSAGES)]
    for n, row in enumerate(rows):
        row.line, row.retrieved = n, n
    assert put(tmp_path / "corpus", rows, key=None).manifest["data_hash"] == whole


def test_a_corpus_with_long_ids_is_called_the_same_however_it_was_brought_together(tmp_path: Path) -> None:
    long = "t3_" + "y" * 40
    rows = [Row(long, long, None, "ann", 1, "said", 3, "bikes", "post")]
    rows += [Row(f"t1_{n}", long, f"t1_{n - 1}" if n else long, "bob", n + 2, "words", 1, "bikes") for n in range(4)]
    once = put(tmp_path / "once", rows)
    edited = Row("t1_2", long, "t1_1", "bob", 4, "other words", 1, "bikes")
    grown = None
    for part in (rows[:2], rows[2:3], [edited], [*rows[3:]]):
        grown = put(tmp_path / "grown", part, grown)
    assert grown is not None and len(grown.manifest["segments"]) == 4
    assert grown.told()["messages"] == once.told()["messages"]
    assert grown.manifest["data_hash"] == once.manifest["data_hash"]
