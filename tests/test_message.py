"""Message and Thread are values: every change gives a new one."""

import pytest

from memory.errors import UnknownName
from memory.message import Message, Thread
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
