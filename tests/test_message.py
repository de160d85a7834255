"""Message and Thread are values: every change gives a new one."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import UnknownName
from memory.message import Message, Thread, order
from tests.threads import message, thread

T = thread(1)


def test_messages_stand_in_order_of_time_then_id_however_they_come() -> None:
    assert Thread.of("t1", reversed(T.messages)) == T


def test_a_path_runs_from_the_root_to_the_message() -> None:
    assert [m.id for m in T.path("t1m7")] == ["t1m0", "t1m1", "t1m3", "t1m4", "t1m7"]
    assert T.path(None) == ()


def test_before_is_strict() -> None:
    assert [m.id for m in T.before(1002).messages] == ["t1m0", "t1m1"]


def test_the_message_being_answered_is_seen_even_in_the_same_second() -> None:
    same = Thread.of(
        "x", [message("a", "x", None, "ann", 5), message("b", "x", "a", "bob", 5), message("c", "x", "a", "cat", 5)]
    )
    assert [m.id for m in same.before(5, answering="b").messages] == ["a", "b"]


def test_nothing_later_than_the_moment_is_seen_on_the_path_either() -> None:
    late = Thread.of("x", [message("a", "x", None, "ann", 9), message("b", "x", "a", "bob", 5)])
    assert [m.id for m in late.before(6, answering="b").messages] == ["b"]


def test_plus_replaces_a_message_of_the_same_id() -> None:
    new = message("t1m1", "t1", "t1m0", "ann", 1001, "simulated")
    assert T.plus(new)["t1m1"].text == "simulated"
    assert len(T.plus(new).messages) == len(T.messages)


def test_two_that_continue_one_thread_do_not_see_each_other() -> None:
    later, other = message("t1x", "t1", "t1m7", "ann", 2000, "one"), message("t1y", "t1", "t1m0", "bob", 2000, "other")
    one, two = T.plus(later), T.plus(other)
    assert "t1x" in one.by_id and "t1y" not in one.by_id
    assert "t1y" in two.by_id and "t1x" not in two.by_id
    assert "t1x" not in T.by_id and T.replies("t1m7") == () and one.replies("t1m7") == (later,)


def test_a_cut_thread_does_not_know_what_comes_later() -> None:
    cut = T.before(1003)
    assert dict(cut.by_id) == {m.id: m for m in T.messages[:3]} and len(cut.by_id) == 3
    assert cut.replies("t1m1") == () and [m.id for m in T.replies("t1m1")] == ["t1m3"]
    assert cut.path("t1m7") == () and cut.replies(None) == (T.messages[0],)
    with pytest.raises(UnknownName):
        cut["t1m3"]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 20)), min_size=1, max_size=12), st.data())
def test_a_thread_built_turn_by_turn_is_the_one_built_at_once(
    steps: list[tuple[int, int]], data: st.DataObject
) -> None:
    """Each step: which message is answered, and how much later; its time is drawn, so some come out of order."""
    said: list[Message] = []
    grown = Thread("x", ())
    for n, (target, wait) in enumerate(steps):
        parent = said[target % len(said)] if said else None
        time = parent.time + wait % 4 if parent else 10
        new = message(f"m{data.draw(st.integers(0, n))}", "x", parent.id if parent else None, "ann", time, f"says {n}")
        if parent is not None and new.id == said[0].id:
            continue
        said = [m for m in said if m.id != new.id] + [new]
        grown = grown.plus(new)
        whole = Thread.of("x", said)
        assert grown == whole and dict(grown.by_id) == {m.id: m for m in said}
        for answering in grown.messages:
            now = answering.time + data.draw(st.integers(0, 2))
            path = [answering]
            while path[0].parent in whole.by_id and path[0].parent not in {m.id for m in path}:
                path.insert(0, whole.by_id[path[0].parent])
            if all(a.time <= b.time for a, b in pairwise(path)) and path[0].parent is None:
                kept = [m for m in said if m.time < now or (m in path and m.time == now)]
                assert grown.before(now, answering.id).messages == tuple(sorted(kept, key=order))
                assert grown.path(answering.id) == tuple(path)


def test_masked_hides_scores_and_leaves_the_original_alone() -> None:
    assert T.masked("t1m1")["t1m1"].score is None
    assert {m.score for m in T.masked().messages} == {None}
    assert T["t1m1"].score is not None


def test_an_unknown_message_lists_what_there_is() -> None:
    with pytest.raises(UnknownName, match="unknown message in thread t1 'nope': choose from t1m0, t1m1"):
        T["nope"]


def test_quoted_lines_are_not_the_writers_own() -> None:
    quoting = message("a", "x", None, "ann", 1, "> they said\n>> and before\n\nI say 3 > 2\n  > again\nso there")
    assert quoting.bare.text == "I say 3 > 2\nso there"
    assert message("b", "x", "a", "bob", 2, "> only theirs").bare.words == ""
    plain = message("c", "x", "a", "bob", 3, "a > b -> c\n\n\n\nd")
    assert plain.bare is plain


def test_words_join_title_and_text_and_are_empty_for_a_deleted_message() -> None:
    post = Message("p", "p", None, "ann", 1, "Body", title="Title")
    assert post.words == "Title\n\nBody"
    assert Message("c", "p", "p", "ann", 2, None).words == ""
