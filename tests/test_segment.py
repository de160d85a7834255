"""Segments: what is there is found, what is not or counts no more is not, also with long ids and after memory was given
back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rows import Made, put

from memory.corpus import Corpus
from memory.errors import UnknownName
from memory.reading import Row
from memory.segment import Segment, of_thread, opened
from memory.stored import find

LONG = "t1_" + "\u00e9" * 98 + "x"  # 200 bytes
IDS = ("t1_b", "t1_c", "t1_ca", "t1_d")


def row(id: str, parent: str = "t3_p", **more: Any) -> Row:
    return Row(id, "t3_p", parent, "ann", more.pop("time", 5), more.pop("text", f"words of {id}"), 1, "bikes", **more)


def copied(one: Row, **changes: Any) -> Row:
    return Row(**{**{name: getattr(one, name) for name in Row.__struct_fields__}, **changes})


def corpus(folder: Path, *parts: list[Row]) -> tuple[Made, list[Segment]]:
    """With a segment for each part."""
    made = None
    for part in parts:
        made = put(folder, part, made, key=None)
    assert made is not None
    return made, opened(made.path, made.manifest["segments"])


POST = Row("t3_p", "t3_p", None, "ann", 1, "said", 3, "bikes", "post", "A title")
FIRST = [POST, *map(row, IDS)]


def places(segment: Segment, *ids: str) -> list[bool]:
    """Whether each is found, and where it stands if so."""
    rows = segment.find(np.array([id.encode() for id in ids]))
    for id, at in zip(ids, rows.tolist(), strict=True):
        assert at < 0 or segment.rows["id"][at].decode() == id
    return [bool(at >= 0) for at in rows.tolist()]


def test_ids_are_found_wherever_they_stand_in_their_order_and_no_others(tmp_path: Path) -> None:
    _, [segment] = corpus(tmp_path / "corpus", FIRST)
    assert places(segment, "t1_b", "t1_d", "t3_p", "t1_c", "t1_ca", "t1_c") == [True] * 6
    assert places(segment, "", "t1_a", "t1_bb", "t1_c0", "t1_", "t3_q", "\u4e2d", "t1_b" + "x" * 90) == [False] * 8
    assert segment.find(np.empty(0, "S4")).tolist() == []


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(there=st.lists(st.text("ab\u00e9", max_size=3), unique=True), sought=st.lists(st.text("ab\u00e9", max_size=4)))
def test_searching_by_halves_finds_what_looking_at_all_finds(there: list[str], sought: list[str]) -> None:
    rows = np.zeros(len(there), [("id", "S24")])
    rows["id"] = [id.encode() for id in there]
    places = find(rows, np.argsort(rows["id"]).astype(np.int32), np.array([id.encode() for id in sought], "S32"))
    assert places.tolist() == [there.index(id) if id in there else -1 for id in sought]


def test_what_a_later_segment_says_otherwise_is_found_there_alone(tmp_path: Path) -> None:
    edited = [row("t1_b", text="other words"), row("t1_d", text="last words")]
    made, [first, second] = corpus(tmp_path / "corpus", FIRST, edited)
    assert places(first, "t1_b", "t1_c", "t1_d", "t3_p", "t1_z") == [False, True, False, True, False]
    assert places(second, "t1_b", "t1_c", "t1_d", "t3_p") == [True, False, True, False]
    assert (first.live, len(first.dead), second.live) == (3, 2, 2)
    assert first.living(np.arange(5)).tolist() == np.flatnonzero(first.alive).tolist()
    assert [first.count(start, 5) for start in range(6)] == [int(first.alive[start:].sum()) for start in range(6)]
    with closing(Corpus(made.path, made.manifest)) as read:
        assert len(of_thread(read.segments, read.code("threads", "t3_p"))) == 5
        assert [read.message(id).text for id in ("t1_b", "t1_c", "t1_d")] == [
            "other words", "words of t1_c", "last words",
        ]  # fmt: skip


def test_a_segment_of_which_nothing_counts_finds_nothing(tmp_path: Path) -> None:
    _, [first, second] = corpus(tmp_path / "corpus", FIRST, [copied(one, text="new") for one in FIRST])
    assert places(first, *(one.id for one in FIRST)) == [False] * 5
    assert places(second, *(one.id for one in FIRST)) == [True] * 5
    assert first.live == 0 and first.living(np.arange(5)).tolist() == []


@pytest.mark.parametrize("after", [lambda s: None, lambda s: s.release()], ids=["read", "after memory was given back"])
def test_all_of_a_segment_is_read(tmp_path: Path, after: Callable[[Segment], None]) -> None:
    made, [segment] = corpus(tmp_path / "corpus", FIRST)
    with closing(Corpus(made.path, made.manifest)) as read:
        for _ in range(2):
            after(segment)
            [at] = segment.find(np.array([b"t1_ca"])).tolist()
            [found] = segment.read([at], read.called)
            assert (found.id, found.thread, found.parent, found.author) == ("t1_ca", "t3_p", "t3_p", "ann")
            assert (found.time, found.text, found.score, found.place) == (5, "words of t1_ca", 1, "bikes")
            assert segment.said(segment.rows[[at]]) == [b"words of t1_ca"]


@pytest.mark.parametrize("first", [FIRST, [*FIRST, row(LONG)]], ids=["after short ones", "beside short ones"])
def test_an_id_of_two_hundred_bytes_is_kept_whole_and_found(tmp_path: Path, first: list[Row]) -> None:
    cut = LONG.encode()[:-1].decode() + "y"
    made, segments = corpus(tmp_path / "corpus", first, [row(LONG, time=6), row("t1_e", LONG, time=7)])
    assert len(segments) == 2 and len(LONG.encode()) == 200
    with closing(Corpus(made.path, made.manifest)) as read:
        assert read.message(LONG).text == f"words of {LONG}"
        assert read.message("t1_e").parent == LONG
        assert [m.id for m in read.thread("t3_p").path("t1_e")] == ["t3_p", LONG, "t1_e"]
        assert [read.message(id).id for id in IDS] == list(IDS)
        for other in (cut, LONG + "x", LONG[:24], LONG.encode()[:24].decode(errors="ignore")):
            with pytest.raises(UnknownName):
                read.message(other)


def test_a_corpus_of_nothing_opens_and_has_nothing(tmp_path: Path) -> None:
    made, [segment] = corpus(tmp_path / "corpus", [])
    assert places(segment, "t1_a", "") == [False, False] and segment.live == 0
    segment.release()
    with closing(Corpus(made.path, made.manifest)) as read:
        assert read.thread_ids() == [] and read.people() == {}
