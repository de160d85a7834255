import json
from pathlib import Path
from typing import Any

import pytest
from dumps import START, comment, plain, post, write
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from memory.batch import Batch
from memory.readers import pushshift
from memory.reading import ZSTD, Row, Source, Tally


def read(folder: Path, *rows: dict[str, Any] | bytes) -> tuple[list[Row], dict[tuple[str, str], int]]:
    tally = Tally()
    found = [plain(row) for row in pushshift.read(Source(write(folder / "d.ndjson", *rows)), tally)]
    lost = tally.total("dropped") + tally.total("passed over")
    assert tally.read == len(found) + lost or any("several" in why for _, why in tally.counts)
    return found, dict(tally.counts)


def one(folder: Path, row: dict[str, Any] | bytes) -> Row:
    [found], _ = read(folder, row)
    return found


def test_a_comment_and_a_submission_are_told_apart_row_by_row(tmp_path: Path) -> None:
    found, counts = read(
        tmp_path, post("a", selftext="more"), comment("b", "a", "t1_c", score=-4, retrieved_on=START + 9)
    )
    assert found == [
        Row("t3_a", "t3_a", None, "ann", START, "more", 3, "bikes", "post", "A question", None, 1),
        Row("t1_b", "t3_a", "t1_c", "bob", START + 1, "words of b", -4, "bikes", "comment", "", START + 9, 2),
    ]
    assert counts == {}


def test_usual_lines_come_together_and_the_others_one_by_one_in_the_order_of_the_file(tmp_path: Path) -> None:
    usual, few = [comment(f"c{n}", "a", body="x" * 1000) for n in range(1000)], comment("b", "a")
    file, tally = write(tmp_path / "d", *usual, post("a"), b"", few, *usual), Tally()
    first, *others = pushshift.batches(Source(file), tally)
    assert isinstance(first, Batch) and Row in map(type, others) and isinstance(others[-1], Batch)
    assert first.line == 1 and others[-1].line + len(others[-1]) - 1 == 2003 == tally.read
    rows = [*pushshift.read(Source(file), Tally())]
    assert [row.line for row in rows] == [n for n in range(1, 2004) if n != 1002]


@pytest.mark.parametrize("odd", [b"\n", b" \n", b"\r\n", json.dumps(comment("x", "a")).encode(), b'{"body":\n{}}\n'])
def test_lines_are_counted_as_they_stand_in_the_file(tmp_path: Path, odd: bytes) -> None:
    """Whatever stands between: a blank one, two objects on one, one object on two."""
    file = tmp_path / "d"
    file.write_bytes(write(file, comment("b", "a")).read_bytes() + odd + json.dumps(comment("c", "a")).encode())
    rows = [row for row in pushshift.read(Source(file), Tally()) if row.id != "t1_x"]
    assert [(row.id, row.line) for row in rows] == [("t1_b", 1), ("t1_c", 2 + odd.count(b"\n"))]


@pytest.mark.parametrize(
    "time",
    [
        START,
        str(START),
        float(START),
        f"{START}.0",
        START * 1000,
        "2020-09-13T12:26:40Z",
        "2020-09-13 12:26:40",
        "2020-09-13T14:26:40+02:00",
    ],
)
def test_times_of_every_year_and_source_are_understood(tmp_path: Path, time: Any) -> None:
    assert one(tmp_path, comment("b", "a", created_utc=time)).time == START


@pytest.mark.parametrize("time", [None, "", "soon", 0, -5, "nan", "inf", 1e300, 10**30])
def test_a_row_without_a_usable_time_is_dropped_and_counted(tmp_path: Path, time: Any) -> None:
    assert read(tmp_path, comment("b", "a", created_utc=time)) == ([], {("dropped", "no usable time"): 1})


@pytest.mark.parametrize(
    ("score", "known"),
    [
        *((-3, -3), ("-3", -3), (-3.0, -3), (None, None), ("", None), ("many", None), ("inf", None)),
        *((2**62 - 1, 2**62 - 1), (2**62, None), (-(2**62), None), (10**30, None), (1e300, None), ("1e300", None)),
    ],
)
def test_scores_as_text_or_null_are_understood_and_impossible_ones_are_unknown(
    tmp_path: Path, score: Any, known: int | None
) -> None:
    assert one(tmp_path, comment("b", "a", score=score)).score == known


@pytest.mark.parametrize(
    ("parent", "link", "want"),
    [
        ("t1_c", "t3_a", ("t3_a", "t1_c")),
        (None, "t3_a", ("t3_a", "t3_a")),
        (43, "t3_a", ("t3_a", "t1_17")),
        ("c", "a", ("t3_a", "t1_c")),
        ("t3_a", None, ("t3_a", "t3_a")),
        ("t1_c", None, (None, "t1_c")),
        ("t1_c", "t1_d", (None, "t1_c")),
        ("t1_c", 46, ("t3_1a", "t1_c")),
    ],
)
def test_parents_and_links_of_every_source_are_understood(
    tmp_path: Path, parent: Any, link: Any, want: tuple[str | None, str | None]
) -> None:
    row = one(tmp_path, {**comment("b", "a"), "parent_id": parent, "link_id": link})
    assert (row.thread, row.parent) == want


@pytest.mark.parametrize("gone", ["[deleted]", "[removed]", "[ Removed by Reddit ]", "[DELETED]", " [removed]\n"])
def test_what_is_gone_has_no_text_and_is_nobody(tmp_path: Path, gone: str) -> None:
    row = one(tmp_path, comment("b", "a", body=gone, author=gone))
    assert (row.text, row.author) == (None, None)
    assert one(tmp_path, comment("b", "a", author=gone)).text == "words of b"
    row = one(tmp_path, post("b", title="[deleted by user]", selftext="[removed]"))
    assert (row.text, row.title) == (None, "")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a &lt;b&gt; &amp; c", "a <b> & c"),
        ("&amp;lt;", "&lt;"),
        ("&amp;amp; x", "&amp; x"),
        ("plain <b> &amp; c", "plain <b> &amp; c"),
        ("AT&T &lt;", "AT&T &lt;"),
        ("http://x/?a=1&amp;copy=2", "http://x/?a=1&copy=2"),
    ],
)
def test_entities_are_unescaped_once_and_plain_text_never(tmp_path: Path, text: str, plain: str) -> None:
    assert one(tmp_path, comment("b", "a", body=text)).text == plain


GOOD = json.dumps(comment("b", "a")).encode()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"\xef\xbb\xbf" + GOOD, "byte order mark removed"),
        (b"\0\0\0" + GOOD + b"\0", "NUL bytes around the row removed"),
        (GOOD.replace(b"words", b"wor\xffds"), "invalid UTF-8 replaced"),
        (GOOD.replace(b"words", b"wor\\ud83dds"), "half of a surrogate pair replaced"),
        (GOOD.replace(b"words", b"wor\\ude00ds"), "half of a surrogate pair replaced"),
        (GOOD.replace(b"words", b"wor\\ud83d\\ud83dds"), "half of a surrogate pair replaced"),
    ],
)
def test_a_row_that_can_be_mended_is_loaded_and_counted(tmp_path: Path, line: bytes, reason: str) -> None:
    [row], counts = read(tmp_path, line)
    assert row.id == "t1_b" and row.text is not None
    row.text.encode()
    assert counts == {("repaired", reason): 1}


def test_what_is_no_damage_is_not_counted_as_any(tmp_path: Path) -> None:
    texts = ["emoji \U0001f600", "line\u2028separator", "back\\\\ud83d slash", "nul\0byte", "\r"]
    rows = [json.dumps(comment("b", "a", body=t)).encode() + b"\r" for t in texts]
    found, counts = read(tmp_path, *rows, json.dumps(comment("b", "a", body="\U0001f600"), ensure_ascii=False).encode())
    assert [r.text for r in found] == [*(t.replace("\0", "") for t in texts), "\U0001f600"]
    assert counts == {}


def test_two_objects_on_a_line_are_two_rows(tmp_path: Path) -> None:
    found, counts = read(tmp_path, GOOD + b" " + GOOD.replace(b'"b"', b'"c"'))
    assert [r.id for r in found] == ["t1_b", "t1_c"]
    assert counts == {("repaired", "several objects on one line"): 1}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"id": "b", "body": "hal', "not JSON"),
        (b"garbage", "not JSON"),
        (b"\0" * 50, "NUL bytes where a row should be"),
        (b'{"kind": "Listing"}', "neither a comment nor a submission"),
        (b"[1, 2]", "a field of a type no dump has"),
        (GOOD.replace(b'"words of b"', b'["a"]'), "a field of a type no dump has"),
        (b'{"title": "x", "created_utc": 1600000000}', "no id"),
        (b'{"id": "b", "body": "x", "created_utc": 1600000000}', "neither link_id nor parent_id"),
        (
            b'{"id": "t3_b", "body": "x", "link_id": "t3_a", "created_utc": 1600000000}',
            "a comment with a post's id, or the reverse",
        ),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_a_row_that_is_lost_is_counted_by_reason_and_does_not_stop_the_rest(
    tmp_path: Path, line: bytes, reason: str
) -> None:
    found, counts = read(tmp_path, line, GOOD)
    assert [r.id for r in found] == ["t1_b"]
    assert counts == {("dropped", reason): 1}


def test_a_blank_line_is_no_row_and_nothing_is_lost_with_it(tmp_path: Path) -> None:
    found, counts = read(tmp_path, b"", GOOD, b" \r")
    assert [r.id for r in found] == ["t1_b"]
    assert counts == {("passed over", "a blank line"): 2}


def test_a_half_line_at_the_end_is_told_from_a_broken_one(tmp_path: Path) -> None:
    file = tmp_path / "d"
    file.write_bytes(GOOD + b"\n" + GOOD[:-9])
    tally = Tally()
    assert len(list(pushshift.read(Source(file), tally))) == 1
    assert tally.examples == {("dropped", "cut off in the middle (last line)"): ["d:2"]}


@pytest.mark.parametrize(
    ("head", "ours"),
    [
        (GOOD, True),
        (b'lf":1}\n' + GOOD, True),
        (b'\xef\xbb\xbf{"', True),
        (b"[\n{", False),
        (b'{\n "ann": [\n  {', False),
        (b"{}\n", True),
        (b"PK\3\4", False),
        (b"id,body\n", False),
    ],
)
def test_the_format_is_told_by_its_first_bytes(head: bytes, ours: bool) -> None:
    assert pushshift.recognises(head) == ours


@settings(deadline=None)
@given(st.lists(st.binary(max_size=60) | st.sampled_from([GOOD, GOOD[:20], b"{}", b"\\ud800", b"\0"]), max_size=6))
def test_no_bytes_stop_the_reader_and_none_are_lost_uncounted(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]
) -> None:
    assume(not b"\n".join(parts).startswith(ZSTD))  # that would be an archive
    file = tmp_path_factory.mktemp("any") / "d"
    file.write_bytes(b"\n".join(parts))
    tally = Tally()
    found = [plain(row) for row in pushshift.read(Source(file), tally)]
    lines = file.read_bytes().split(b"\n")
    assert tally.read == len(lines) - (not lines[-1])
    assert len(found) + tally.total("dropped") + tally.total("passed over") >= tally.read
