"""Many lines at once come out as each line alone."""

import json
from typing import Any

import msgspec
import pytest
from dumps import START, comment
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.comments import comments
from memory.fields import Fields, row
from memory.stored import UNKNOWN


def part(*rows: dict[str, Any]) -> list[bytes]:
    return [json.dumps(r).encode() + b"\n" for r in rows]


def alone(part: list[bytes]) -> list[Any]:
    return [row(msgspec.json.decode(line, type=Fields), 7 + n) for n, line in enumerate(part)]


ODD = st.fixed_dictionaries(
    {},
    optional={
        "author": st.sampled_from(["ann", "[deleted]", "[Removed]", "", " ", "a b", None]),
        "body": st.sampled_from(
            ["", "[deleted]", " [ Removed by Reddit ] ", "a &amp; b", "a & b", "nul\0", "[x](y)", None]
        ),
        "created_utc": st.sampled_from([START, 0, -1, START * 1000, str(START)]),
        "score": st.sampled_from([0, -3, None, "4", 2**62 - 1, 2**62, -(2**62), 2**63, 10**30]),
        "score_hidden": st.sampled_from([True, False, None]),
        "retrieved_on": st.sampled_from([START, 0, None]),
        "retrieved_utc": st.sampled_from([START + 1, 0, None]),
        "id": st.sampled_from(["", "t1_b", "c", 7, "d\0", "d e", "d\te", "d\ne", "é", "x" * 20, "x" * 21, "x" * 24]),
        "link_id": st.sampled_from(["t3_a", "a", "t1_a", None]),
        "parent_id": st.sampled_from(
            ["t1_c", "t3_a", "c", 12, None, "t1_", "t1_c\0", "t1_" + "x" * 20, "t1_" + "x" * 45]
        ),
        "title": st.sampled_from(["a post", "", None]),
        "selftext": st.sampled_from(["a post's", None]),
        "line": st.just(3),
        "kind": st.just("more"),
    },
)


@settings(deadline=None)
@given(st.lists(ODD, min_size=1, max_size=4))
def test_lines_together_are_what_each_is_alone_or_are_left_to_that(odd: list[dict[str, Any]]) -> None:
    lines = part(*(comment(f"b{n}", "a") | more for n, more in enumerate(odd)))
    found = comments(b"".join(lines), 7)
    assert found is None or [*found.rows()] == alone(lines)


def test_what_nearly_every_line_of_a_dump_looks_like_is_taken_together() -> None:
    usual = [
        comment("b", "a"),
        comment("c", "a", "t1_b", author="[deleted]", body="[deleted]"),
        comment("d", "a", "t1_c", body="&gt; so", score_hidden=True, retrieved_on=START + 5, edited=False, replies=""),
    ]
    lines = part(*usual)
    found = comments(b"".join(lines), 7)
    assert found is not None and [*found.rows()] == alone(lines)
    assert found.score.tolist() == [1, 1, UNKNOWN]
    assert found.retrieved.tolist() == [0, 0, START + 5]


@pytest.mark.parametrize("blank", ["", " ", "\t\n", "\x1c", "\xa0", "\u2003", "\u3000"])
@pytest.mark.parametrize("other", ["plain", "caf\u00e9"])
def test_what_is_gone_is_seen_behind_any_blank_in_a_part_of_ascii_alone_or_not(blank: str, other: str) -> None:
    lines = part(comment("b", "a", body=f"{blank}[deleted]{blank}"), comment("c", "a", body=other))
    found = comments(b"".join(lines), 7)
    assert found is not None and [*found.rows()] == alone(lines) and found.text == [None, other]


@pytest.mark.parametrize(
    "broken",
    [
        b"\n",
        b"\r\n",
        b"{}\n",
        b"\0\n",
        part(comment("c", "a"))[0][:-1] * 2 + b"\n",
        part(comment("c", "a"))[0][:-9] + b"\n",
    ],
)
def test_a_part_with_a_broken_line_is_left_to_be_read_line_by_line(broken: bytes) -> None:
    assert comments(b"".join([*part(comment("b", "a")), broken]), 1) is None
