import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import tree
from memory.tree import Node, repair


def reasons(*nodes: Node, elsewhere: frozenset[str] = frozenset()) -> tuple[dict[str, str | None], list[str]]:
    mended, fixes = repair("root", [Node("root", None, 0), *nodes], elsewhere)
    return {n.id: n.parent for n in mended}, [f.reason for f in fixes]


def test_a_good_tree_is_left_alone() -> None:
    assert reasons(Node("a", "root", 1), Node("b", "a", 1)) == ({"root": None, "a": "root", "b": "a"}, [])


@pytest.mark.parametrize(
    ("parent", "elsewhere", "reason"),
    [
        ("a", frozenset(), tree.SELF),
        ("gone", frozenset(), tree.MISSING),
        (None, frozenset(), tree.MISSING),
        ("far", frozenset({"far"}), tree.ELSEWHERE),
    ],
)
def test_a_comment_that_cannot_hang_where_it_says_hangs_under_the_post(
    parent: str | None, elsewhere: frozenset[str], reason: str
) -> None:
    assert reasons(Node("a", parent, 1), elsewhere=elsewhere) == ({"root": None, "a": "root"}, [reason])


def test_a_circle_is_opened_once_at_its_earliest_message() -> None:
    parents, why = reasons(Node("a", "c", 2), Node("b", "a", 1), Node("c", "b", 3), Node("d", "a", 9))
    assert parents == {"root": None, "b": "root", "c": "b", "a": "c", "d": "a"}
    assert why.count(tree.CYCLE) == 1


def test_a_reply_earlier_than_its_parent_moves_to_a_second_after_it_and_so_do_those_below() -> None:
    mended, fixes = repair(
        "root", [Node("root", None, 10), Node("a", "root", 3), Node("b", "a", 4), Node("c", "b", 50)]
    )
    assert {n.id: n.time for n in mended} == {"root": 10, "a": 11, "b": 12, "c": 50}
    assert [f.reason for f in fixes] == [tree.EARLY] * 2


def test_a_post_has_no_parent() -> None:
    mended, fixes = repair("root", [Node("root", "x", 1)])
    assert mended == [Node("root", None, 1)]
    assert [f.reason for f in fixes] == [tree.POST]


def test_three_thousand_nested_replies_are_walked_without_recursion() -> None:
    chain = [Node("root", None, 0), *(Node(str(i), str(i - 1) if i else "root", i) for i in range(3000))]
    assert repair("root", reversed(chain)) == (chain, [])


NODES = st.lists(
    st.builds(Node, st.sampled_from("abcdefgh"), st.none() | st.sampled_from("abcdefghxyz"), st.integers(0, 5)),
    max_size=12,
)


@given(NODES, st.integers(0, 5))
def test_whatever_comes_in_a_valid_tree_comes_out(nodes: list[Node], time: int) -> None:
    mended, _ = repair("root", [Node("root", None, time), *nodes])
    by_id = {n.id: n for n in mended}
    assert by_id.keys() == {"root", *(n.id for n in nodes)}
    for node in mended:
        path = [node]
        while path[-1].parent is not None:
            path.append(by_id[path[-1].parent])
            assert path[-2].time >= path[-1].time
            assert len(path) <= len(mended)
        assert path[-1].id == "root"


@given(NODES)
def test_repair_of_what_was_repaired_changes_nothing(nodes: list[Node]) -> None:
    mended, _ = repair("root", [Node("root", None, 0), *nodes])
    assert repair("root", mended) == (mended, [])
