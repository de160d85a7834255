"""Shape: the worked examples of the reference, and real threads cut to the size of the simulated one."""

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_distribution import grown, lines

from evaluation.analysis.shape import floor, shapes
from evaluation.analysis.trees import depths, ordered, reciprocity, shape
from evaluation.stats import Interval
from memory.corpus import Link


def tree(*parents: int, authors: str = "") -> tuple[Link, ...]:
    """Node 0 is the root, `parents` are those of the nodes after it."""
    names = authors or "abcdefghijklmnopqrstuvwxyz"
    nodes = [(0, None), *((n, parent) for n, parent in enumerate(parents, 1))]
    return tuple(
        Link(str(n), "t", None if parent is None else str(parent), names[n % len(names)], n) for n, parent in nodes
    )


@pytest.mark.parametrize(
    ("parents", "depth", "breadth", "virality"),
    [((0, 0, 0, 0), 1, 4, 1.6), ((0, 1, 2, 3), 4, 1, 2.0), ((0, 0, 1, 1, 2), 2, 3, 2.133333)],
)
def test_depth_breadth_and_virality_as_by_hand(parents: tuple[int, ...], depth: int, breadth: int, virality: float):
    found = shape(tree(*parents))
    assert (found.depth, found.breadth) == (depth, breadth) and found.virality == pytest.approx(virality, abs=1e-6)


@given(st.integers(1, 12).flatmap(lambda n: st.tuples(*(st.integers(0, at) for at in range(n)))))
def test_virality_is_the_mean_distance_that_networkx_finds(parents: tuple[int, ...]) -> None:
    graph = networkx.Graph([(n, parent) for n, parent in enumerate(parents, 1)])
    n = len(parents) + 1
    assert shape(tree(*parents)).virality == pytest.approx(2 * networkx.wiener_index(graph) / (n * (n - 1)))


def test_reciprocity_counts_pairs_of_people_once() -> None:
    assert reciprocity(tree(0, 1, 2, 3, authors="ab")) == 1
    assert reciprocity(tree(0, 1, 0, authors="abac")) == pytest.approx(2 / 3)
    assert reciprocity(tree(0, 1, authors="aaa")) == 0


def test_a_tree_is_in_the_order_of_time_each_after_what_it_answers() -> None:
    links = [Link("c", "t", "b", "x", 5), Link("b", "t", "a", "x", 5), Link("a", "t", None, "x", 5)]
    assert [link.id for link in ordered(links)] == ["a", "b", "c"]
    assert depths(ordered(links)) == {"a": 0, "b": 1, "c": 2}
    assert ordered([Link("c", "t", "b", "x", 5)]) == ()


def test_a_chain_among_stars_is_too_deep_and_a_star_is_like_them() -> None:
    for chain, deep in ((True, 4.0), (False, 1.0)):
        store, turns, rows = grown(delay=60, chain=chain)
        found = lines(shapes(rows, turns, store))["Depth"]
        simulated, gap, usual = found["simulated"], found["gap"], found["floor"]
        assert isinstance(simulated, Interval) and isinstance(gap, Interval) and isinstance(usual, Interval)
        assert (found["threads"], found["real_threads"], simulated.mean) == (1, 10, deep)
        assert (usual.low <= gap.mean <= usual.high) != chain


def test_real_threads_are_cut_to_the_size_of_the_simulated_one() -> None:
    store, turns, rows = grown(delay=60, chain=False)
    found = lines(shapes(rows, turns[:2], store))["Breadth"]
    real = found["real"]
    assert found["size"] == 3 and isinstance(real, Interval) and real.mean == 2


def test_on_a_skeleton_there_is_no_shape_to_judge() -> None:
    store, _, rows = grown(delay=60, chain=False)
    sheet = shapes(rows, [], store)
    assert sheet.rows == () and "given by the real threads" in sheet.about


def test_the_floor_is_the_same_for_a_seed() -> None:
    import numpy as np

    values = [np.arange(10.0), np.arange(6.0)]
    assert floor(values, 1) == floor(values, 1) != floor(values, 2)
    assert floor([np.ones(8)], 1).mean == 0
