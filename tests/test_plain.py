"""Plain threads go into a segment as they are, all others by a database: nobody can tell which way a message came."""

from __future__ import annotations

import shutil
from contextlib import closing
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rows import KEY, Made, put

from memory.copies import TWICE
from memory.plain import Plain
from memory.reading import Row, Tally
from memory.record import STAGING, Record
from memory.shares import MOST
from memory.staging import ODD
from memory.tree import ELSEWHERE, MISSING

POSTS, COMMENTS = ("t3_p", "t3_q", "t3_r"), tuple(f"t1_{n}" for n in "abcdef")
LONG, LONG_POST = "t1_" + "x" * 40, "t3_" + "y" * 40
STRANGE = (LONG, LONG_POST, "t1_\u00e9", "t3_\u4e2d", "t9_z", "")
TEXTS = ("words", None, "", "> quoted", "ask u/Bob_1, ann_2 or u/Nobody9", "\u00e9 @ann_2 Nobody_10", "555-010-1234")
PEOPLE = ("ann_2", "Bob_1", None, "AutoModerator", "helper")
NAMED = "id", "thread", "parent"
FREE = {
    "id": st.sampled_from((*COMMENTS, *POSTS, *STRANGE[:-1])),
    "thread": st.sampled_from((*POSTS, *COMMENTS, *STRANGE[:-1], None)),
    "parent": st.sampled_from((*COMMENTS, *POSTS, *STRANGE[:-1], None)),
    "time": st.integers(1, 9),
    "retrieved": st.sampled_from((2, 5, 7)),
    "kind": st.sampled_from(("post", "comment")),
}


@st.composite
def dumps(draw: Any) -> list[Row]:
    """Mostly trees as they should be; here and there one field is anything."""
    found = list[Row]()
    for n, id in enumerate(draw(st.permutations((*POSTS, *COMMENTS)))[: draw(st.integers(1, 9))]):
        post = id in POSTS
        above = [r for r in found if r.kind == "comment" and r.thread is not None]
        under = draw(st.sampled_from([*above, None])) if above else None
        thread = under.thread if under else draw(st.sampled_from(POSTS))
        row = Row(id, id if post else thread, None if post else (under.id if under else thread),
                  draw(st.sampled_from(PEOPLE)), 1 if post else 2 + n, draw(st.sampled_from(TEXTS)),
                  draw(st.sampled_from((None, 1, -2))), draw(st.sampled_from(("bikes", "\u00e9", "u_ann_2"))),
                  "post" if post else "comment", "of u/bob_1" if post else "", 3)  # fmt: skip
        row.bot = row.author == "helper"
        found.append(row)
    for name in draw(st.lists(st.sampled_from(sorted(FREE)), max_size=3)):
        setattr(draw(st.sampled_from(found)), name, draw(FREE[name]))
    for row in found:
        if row.kind == "post":
            row.thread = row.id
    return found


@st.composite
def worlds(draw: Any) -> list[Row]:
    """A few of these in one, which know nothing of each other."""
    found = list[Row]()
    for n, rows in enumerate(draw(st.lists(dumps(), min_size=1, max_size=6))):
        found += apart(rows, n)
    return found


def apart(rows: list[Row], n: int) -> list[Row]:
    """`rows` in a world of their own."""
    there = ({name: value for name in NAMED if (value := getattr(row, name)) is not None} for row in rows)
    named = ({name: value.removesuffix("\0") + f"{n}" for name, value in names.items()} for names in there)
    return [copy(row, **names) for row, names in zip(rows, named, strict=True)]


def together(cases: dict[str, list[Row]]) -> tuple[list[Row], dict[str, slice]]:
    """All cases as one dump, and where each is in it."""
    found, where = list[Row](), {}
    for n, (name, rows) in enumerate(cases.items()):
        where[name] = slice(len(found), len(found) + len(rows))
        found += apart(rows, n)
    return found, where


def copy(row: Row, **changes: Any) -> Row:
    return Row(**{**{name: getattr(row, name) for name in Row.__struct_fields__}, **changes})


def check(folder: Path, rows: list[Row], after: Made | None = None) -> Made:
    """That `rows` become the same when none of them is in a plain thread, for each has a bad copy before it."""
    if after is not None:
        shutil.copytree(after.path, folder / "around")
    straight = put(after.path if after else folder / "once", rows, after)
    spoiled = (copy(row, parent="t1_gone" if row.kind == "post" else None) for row in rows)
    around = put(folder / "around", chain.from_iterable(zip(spoiled, rows, strict=True)), after)
    assert around.plain == 0
    told, expected = straight.told(), around.told()
    if after is not None:  # what the corpus has of marked threads does not look for its parents in plain ones
        for one in (told, expected):
            one["noted"] = sum(one["noted"].get(("repaired", reason), 0) for reason in (MISSING, ELSEWHERE))
    for what, found in told.items():
        assert found == expected[what], what
    return straight


def marks(folder: Path, rows: list[Row], most: int = MOST) -> list[bool]:
    """Of each of `rows`, whether its thread is plain, in a corpus of its own."""
    folder.mkdir()
    with closing(Record(folder / STAGING, KEY)) as record:
        record.add(rows, "dump")
        Plain(record.staged, record.earlier, 1, {1: 0, 2: 1, 3: 2}, folder, most).mark(["dump"], Tally())
        return [flags & ODD == 0 for flags in record.staged.rows["flags"].tolist()]


HYPOTHESIS: dict[str, Any] = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@settings(max_examples=6, **HYPOTHESIS)
@given(rows=worlds())
def test_any_rows_become_the_same_whether_their_threads_are_plain_or_not(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row]
) -> None:
    check(tmp_path_factory.mktemp("ways"), rows)


@settings(max_examples=4, **HYPOTHESIS)
@given(first=worlds(), rows=worlds())
def test_any_rows_added_to_any_corpus_become_the_same_whether_their_threads_are_plain_or_not(
    tmp_path_factory: pytest.TempPathFactory, first: list[Row], rows: list[Row]
) -> None:
    folder = tmp_path_factory.mktemp("after")
    check(folder, rows, put(folder / "corpus", first))


@settings(max_examples=4, **HYPOTHESIS)
@given(rows=worlds(), dice=st.randoms(use_true_random=False), most=st.integers(1, 9))
def test_neither_the_order_of_rows_nor_how_many_are_sorted_together_changes_anything(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Row], dice: Random, most: int
) -> None:
    folder = tmp_path_factory.mktemp("order")
    every = [*{row.id: row for row in rows}.values()]
    other = dice.sample(every, len(every))
    assert put(folder / "a", every).told() == put(folder / "b", other, most=most).told()
    at = {row.id: n for n, row in enumerate(every)}
    expected = marks(folder / "c", every)
    assert marks(folder / "d", other, most) == [expected[at[row.id]] for row in other]


POST = Row("t3_p", "t3_p", None, "ann", 1, "said", 3, "bikes", "post", "A title")
ONE = Row("t1_a", "t3_p", "t3_p", "bob", 2, "words", 1, "bikes")
TWO = copy(ONE, id="t1_b", parent="t1_a", time=3)
THREAD = [POST, ONE, TWO]
OTHER = [copy(POST, id="t3_q", thread="t3_q"), copy(ONE, id="t1_y", thread="t3_q", parent="t3_q")]
PLAIN: dict[str, list[Row]] = {
    "as it should be": THREAD,
    "in another order": THREAD[::-1],
    "a post that nobody answered": [POST],
    "no post": [ONE, TWO],
    "no post, and two answers to it in one second": [ONE, copy(ONE, id="t1_c")],
    "nobody, nothing said, no score": [POST, copy(ONE, author=None, text=None, score=None)],
    "a bot, names in texts": [copy(POST, text="u/bob and Bob_1"), copy(ONE, author="AutoModerator")],
    "letters of other alphabets": [POST, copy(ONE, id="t1_\u00e9\u4e2d")],
    "as long as an id may be": [POST, copy(ONE, id="t1_" + "x" * 20), copy(TWO, parent="t1_" + "x" * 20)],
    "an id with a zero in it, which is left out": [POST, copy(ONE, id="t1_\0a\0"), copy(TWO, parent="t1_a\0")],
    "another place": [POST, copy(ONE, place="cars")],
}
ODD_ONES: dict[str, list[Row]] = {
    "a parent that is nowhere": [POST, copy(ONE, parent="t1_gone")],
    "a parent that is another post, of nothing": [POST, copy(ONE, parent="t3_gone")],
    "a parent that is nowhere, and no post": [ONE, copy(TWO, parent="t1_gone")],
    "its own parent": [POST, copy(ONE, parent="t1_a")],
    "a circle": [POST, copy(ONE, parent="t1_b"), TWO],
    "an id twice, in two threads": [*THREAD, copy(TWO, thread="t3_z", parent="t3_z")],
    "an id twice, once without a thread": [*THREAD, copy(TWO, thread=None)],
    "an id twice, once without a parent": [*THREAD, copy(TWO, parent=None)],
    "a post twice, once with a parent": [*THREAD, copy(POST, parent="t1_a")],
    "as old as its parent": [POST, copy(ONE, time=POST.time)],
    "older than its parent": [POST, ONE, copy(TWO, time=1)],
    "an id too long": [POST, copy(ONE, id="t1_" + "x" * 22)],
    "an id that is no comment's": [POST, copy(ONE, id="t9_a")],
    "an id like a post's": [POST, copy(ONE, id="t3_a")],
    "no parent": [POST, copy(ONE, parent=None)],
    "a post with a parent": [copy(POST, parent="t1_gone"), ONE],
    "a parent that would be a stand-in": [POST, copy(ONE, parent="t3_z"), copy(TWO, thread="t3_z", parent="t3_z")],
    "a comment elsewhere with the name of the post": [ONE, TWO, copy(ONE, id="t3_p", thread="t3_z", parent="t3_z")],
    "a comment that is called like the post": [copy(ONE, id="t3_p"), TWO],
}
BOTH: dict[str, list[Row]] = {
    "a parent in the other thread": [POST, copy(ONE, parent="t1_y")],
    "no thread named, and its parent in the other": [copy(ONE, thread=None, parent="t1_y")],
    "the other's comment as its thread": [copy(ONE, thread="t1_y", parent="t3_p")],
    "the other's comment once more": [POST, copy(ONE, id="t1_y")],
    "a post like the other's comment": [copy(POST, id="t1_y", thread="t1_y")],
    "a comment like the other's post": [copy(ONE, id="t3_q")],
}


def told(folder: Path, cases: dict[str, list[Row]]) -> dict[str, list[bool]]:
    """Of each case, whether its rows are in plain threads, all of them looked at together and one by one."""
    rows, where = together(cases)
    found = marks(folder / "marks", rows)
    assert found == marks(folder / "one", rows, most=1)
    assert check(folder, rows).plain == sum(found)
    return {name: found[part] for name, part in where.items()}


def test_a_tree_as_it_stands_is_plain(tmp_path: Path) -> None:
    assert told(tmp_path, PLAIN) == {name: [True] * len(rows) for name, rows in PLAIN.items()}


NEW, OLD = "the newest", "an older one"
COPIES: dict[str, list[Row]] = {
    "where no time is known, the last one": [copy(TWO, text=OLD), copy(TWO, text=NEW)],
    "a post's last one": [copy(POST, text=OLD), copy(POST, text=NEW)],
    "what was retrieved last, though read first": [copy(TWO, retrieved=8, text=NEW), copy(TWO, retrieved=7, text=OLD)],
    "of those retrieved at once the last one": [copy(TWO, retrieved=8, text=OLD), copy(TWO, retrieved=8, text=NEW)],
    "what answers to another": [copy(TWO, parent="t3_p", text=OLD), copy(TWO, text=NEW)],
    "a good one after a bad parent": [copy(TWO, parent="t1_gone", text=OLD), copy(TWO, text=NEW)],
    "a good one after one that is too early": [copy(TWO, time=1, text=OLD), copy(TWO, text=NEW)],
    "one of three": [copy(TWO, retrieved=at, text=NEW if at == 9 else OLD) for at in (8, 9, 7)],
}


def test_of_copies_the_newest_stays_and_its_thread_is_plain(tmp_path: Path) -> None:
    cases = {
        name: [*copies[:1], *(row for row in THREAD if row.id != copies[0].id), *copies[1:]]
        for name, copies in COPIES.items()
    }
    rows, where = together(cases)
    made, plain = check(tmp_path, rows), marks(tmp_path / "marks", rows)
    said = {m["id"]: m["text"] for m in made.told()["messages"]}
    for name, part in where.items():
        assert said[rows[part][0].id] == NEW and sum(plain[part]) == len(THREAD), name
    assert made.plain == len(said) and made.noted["repaired", TWICE] == len(rows) - len(said)


def test_any_trouble_marks_its_thread_and_no_other(tmp_path: Path) -> None:
    cases = {name: [*rows, *OTHER] for name, rows in ODD_ONES.items()}
    expected = {name: [False] * len(rows) + [True] * len(OTHER) for name, rows in ODD_ONES.items()}
    assert told(tmp_path, cases) == expected


def test_what_bears_on_another_thread_marks_that_too(tmp_path: Path) -> None:
    cases = {name: [*rows, *OTHER] for name, rows in BOTH.items()}
    assert told(tmp_path, cases) == {name: [False] * len(rows) for name, rows in cases.items()}


KNOWN: dict[str, list[Row]] = {
    "a comment of it": [copy(ONE, author="cy")],
    "its post": [copy(POST, title="Before")],
    "its comment in another thread": [copy(TWO, thread="t3_z", parent="t3_z")],
    "it without answers": [POST, copy(ONE, id="t1_z", thread="t3_z", parent="t3_z")],
    "it without its post": [copy(ONE, id="t1_z", parent="t3_p")],
}


def test_a_thread_of_which_the_corpus_knows_anything_is_marked(tmp_path: Path) -> None:
    first, _ = together(KNOWN)
    rows, _ = together({name: [*THREAD, *OTHER] for name in KNOWN})
    made = check(tmp_path, rows, put(tmp_path / "corpus", first))
    assert made.plain == len(OTHER) * len(KNOWN)


def test_a_thread_without_a_post_that_is_called_like_a_comment_of_the_corpus_is_marked(tmp_path: Path) -> None:
    known = put(tmp_path / "corpus", [copy(POST, id="t3_z", thread="t3_z"), copy(ONE, id="t3_p", thread="t3_z")])
    assert check(tmp_path, [ONE, TWO, *OTHER], known).plain == len(OTHER)
