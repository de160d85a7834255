"""Makes a valid reply tree of whatever a dump holds: pure, one thread at a time, every change with its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

MISSING = "parent not in the data: hung under the post"
ELSEWHERE = "parent in another thread: hung under the post"
SELF = "its own parent: hung under the post"
CYCLE = "parents in a circle: opened at the earliest message"
POST = "post with a parent: parent removed"
EARLY = "earlier than its parent: moved to a second after it"


class Node(NamedTuple):
    """`parent` and `time` as the source says, which may be impossible."""

    id: str
    parent: str | None
    time: int


class Fix(NamedTuple):
    """A node with what it becomes, and why."""

    node: Node
    reason: str


def repair(root: str, nodes: Iterable[Node], elsewhere: frozenset[str] = frozenset()) -> tuple[list[Node], list[Fix]]:
    """The nodes of one thread as a tree under `root` (which must be among them), and the fixes that made it one.

    Afterwards every node but the root has a parent in the thread, every path ends at the root, and nothing is earlier
    than its parent. `elsewhere`: ids known in other threads, to tell a wrong link from a missing parent.
    """
    given = {n.id: n for n in nodes}
    parent: dict[str, str | None] = {}
    fixes: list[Fix] = []

    def hang(node: Node, under: str | None, reason: str) -> None:
        parent[node.id] = under
        fixes.append(Fix(node._replace(parent=under), reason))

    for node in given.values():
        if node.id == root:
            parent[root] = None
            if node.parent is not None:
                hang(node, None, POST)
        elif node.parent == node.id:
            hang(node, root, SELF)
        elif node.parent is None or node.parent not in given:
            hang(node, root, ELSEWHERE if node.parent in elsewhere else MISSING)
        else:
            parent[node.id] = node.parent
    for circle in _circles(parent):
        hang(min((given[id] for id in circle), key=lambda n: (n.time, n.id)), root, CYCLE)

    tree = []
    time: dict[str, int] = {}
    for id in _downwards(root, parent):
        node, above = given[id], parent[id]
        time[id] = node.time if above is None or node.time >= time[above] else time[above] + 1
        tree.append(Node(id, above, time[id]))
        if time[id] != node.time:
            fixes.append(Fix(tree[-1], EARLY))
    return tree, fixes


def _circles(parent: dict[str, str | None]) -> Iterator[list[str]]:
    """Each circle of parents once."""
    walk_of: dict[str, int] = {}
    for walk, start in enumerate(parent):
        here: str | None = start
        while here is not None and here not in walk_of:
            walk_of[here] = walk
            here = parent[here]
        if here is not None and walk_of[here] == walk:
            circle = [here]
            while (following := parent[circle[-1]]) is not None and following != here:
                circle.append(following)
            yield circle


def _downwards(root: str, parent: dict[str, str | None]) -> list[str]:
    """All ids, each after its parent."""
    replies: dict[str | None, list[str]] = {}
    for id, above in parent.items():
        replies.setdefault(above, []).append(id)
    found = [root]
    for id in found:  # grows while it is walked: breadth first without recursion
        found += replies.get(id, [])
    return found
