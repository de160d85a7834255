"""Reply trees without words: what shape they have, those of a run and those of the community before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from evaluation.analysis.lines import latest
from evaluation.played import played
from memory.corpus import Link
from memory.errors import UnknownName
from simulator.records import Turn

if TYPE_CHECKING:
    from memory.store import MemoryStore

KNOWN = 20_000  # latest messages of a community that are looked at
Tree = Sequence[Link]  # the root first, each other one after what it answers


class Shape(NamedTuple):
    """`depth`: replies on the longest path; `breadth`: messages on the widest level; `virality`: mean distance of all
    pairs; `reciprocity`: share of ordered pairs of people with a reply whose other way round has one too."""

    depth: float
    breadth: float
    virality: float
    reciprocity: float


def depths(tree: Tree) -> dict[str, int]:
    """By id: 0 for the root."""
    found: dict[str, int] = {}
    for node in tree:
        found[node.id] = found[node.parent] + 1 if node.parent in found else 0
    return found


def shape(tree: Tree) -> Shape:
    """Of a tree of at least two messages. A star of 5 has virality 1.6, a chain of 5 has 2.0.

    Source: structural virality of Goel et al. 2015, 2W / (n(n-1)) with the Wiener index W.
    """
    level, n = depths(tree), len(tree)
    below = dict.fromkeys(level, 1)
    for node in reversed(tree):
        if node.parent in below:
            below[node.parent] += below[node.id]
    wiener = sum(below[node.id] * (n - below[node.id]) for node in tree[1:])
    widest = max(Counter(level.values()).values())
    return Shape(max(level.values()), widest, 2 * wiener / (n * (n - 1)), reciprocity(tree))


def reciprocity(tree: Tree) -> float:
    """Nobody answers themselves here, and an account that is gone answers nobody; 0 where no pair is left."""
    author = {node.id: node.author for node in tree}
    pairs = {(node.author, author.get(node.parent or "")) for node in tree[1:]}
    pairs = {(a, b) for a, b in pairs if a is not None and b is not None and a != b}
    return sum((b, a) in pairs for a, b in pairs) / len(pairs) if pairs else 0.0


def known(store: MemoryStore, place: str, before: int) -> list[Tree]:
    """Whole threads of a community as they were before a moment, of its latest KNOWN messages."""
    found: dict[str, list[Link]] = {}
    for link in store.corpus.links(before=before, place=place, k=KNOWN):
        found.setdefault(link.thread, []).append(link)
    return [tree for links in found.values() if (tree := ordered(links))]


def ordered(links: Iterable[Link]) -> Tree:
    """The root and what hangs under it, each after what it answers; () without a root."""
    links = list(links)
    replies: dict[str | None, list[Link]] = {}
    for link in links:
        replies.setdefault(link.parent, []).append(link)
    found = replies.get(None, [])[:1]
    for link in found:  # grows while it is walked
        found += replies.get(link.id, [])
    order = {link.id: n for n, link in enumerate(found)}
    return tuple(sorted(found, key=lambda link: (link.time, order[link.id])))


def grown(turns: Iterable[Turn], store: MemoryStore) -> dict[tuple[str, int], Tree]:
    """By thread and repeat: what a scheduler let grow, with the real messages above it; failed replies are not there.

    Threads on the skeleton of a real one are left out: who answers whom was given.
    """
    turns = list(turns)
    opened = played(turns, store)
    posts = {(turn.slot.thread, turn.repeat): turn.message() for turn in turns if turn.ask == "post"}
    found: dict[tuple[str, int], dict[str, Link]] = {}
    made = [turn for turn in turns if turn.ask == "reply" and turn.slot.made]
    for turn in sorted(made, key=lambda t: (t.slot.time, t.slot.number, t.slot.id)):
        message, key = turn.message(), (turn.slot.thread, turn.repeat)
        if message is not None:
            post = posts.get(key)
            above = opened[key[0]].path(message.parent) if post is None else (post,)
            links = found.setdefault(key, {})
            for one in (*above, message):
                links.setdefault(one.id, Link(one.id, one.thread, one.parent, one.author, one.time))
    trees = {key: ordered(links.values()) for key, links in found.items()}
    return {key: tree for key, tree in trees.items() if len(tree) > 1}


def place_of(tree: Tree, store: MemoryStore) -> str:
    """The community of the opening where it is in the corpus, else the one in which its people wrote most before it."""
    try:
        return store.corpus.message(tree[0].id).place
    except UnknownName:
        people = sorted({link.author for link in tree if link.author is not None})
        places = Counter(m.place for user in people for m in latest(store, user, tree[0].time))
        return min(places, key=lambda place: (-places[place], place), default="")
