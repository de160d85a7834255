"""What an item shows of the conversation, and what it hides: stored threads, masked scores, context, example thread."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from evaluation.benchmark.items import Item
from evaluation.benchmark.posts import Comment, Posts, Tree
from evaluation.benchmark.scored import earlier
from evaluation.benchmark.switches import Switches

_FIRST = datetime.min.replace(tzinfo=UTC)  # where a reply without a readable time stands among its siblings


@dataclass(frozen=True, slots=True)
class Seen:
    """Refs. `stored`: post -> comments that the reference's data store keeps beside the prompt (sentiment, impact);
    `masked`: whose scores are hidden there. `context`: post and comments shown as the conversation, `removed`: the
    target with all that is under it, `example_thread`: what is shown around the example (generation)."""

    stored: dict[str, tuple[str, ...]]
    masked: frozenset[str] = frozenset()
    context: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    example_thread: tuple[str, ...] = ()


def seen(item: Item, posts: Posts, switches: Switches) -> Seen:
    """What of the trees of `posts` the item shows."""
    tree = posts.by_ref[item.post].tree()
    lender = item.example.post if item.example else None
    other = tree if lender in (None, item.post) else posts.by_ref[str(lender)].tree()
    return _written(item, tree, other, switches) if item.task == "generation" else _scored(item, tree, other, switches)


def _scored(item: Item, tree: Tree, other: Tree, switches: Switches) -> Seen:
    shows = item.task == "impact" and switches.impact_unmasked
    if item.setting == "p-nonconv":
        return Seen({tree.ref: ()})
    if item.setting == "p-conv":
        return Seen(
            {tree.ref: _timely(tree, item.target, switches)}, frozenset() if shows else frozenset({item.target.ref})
        )
    example = item.example.comment if item.example else None
    whole = item.task == "impact"
    own = tuple(c.ref for c in tree.comments if whole or c.ref in (item.target.parent, item.target.ref))
    stored = {tree.ref: own}
    if example is not None:
        stored[other.ref] = _timely(other, item.target, switches)
    hidden = {item.target.ref} | ({example.ref} if example else set())
    return Seen(stored, frozenset() if shows else frozenset(hidden))


def _written(item: Item, tree: Tree, other: Tree, switches: Switches) -> Seen:
    removed = tuple(tree.below(item.target.ref))
    if item.setting == "p-nonconv":
        return Seen({}, context=(tree.ref,), removed=removed)
    example = item.example.comment if item.example else None
    thread = example_thread(other, example) if example else ()
    if not switches.example_holds_target:
        thread = tuple(ref for ref in thread if ref not in removed)
    cut: tuple[str, ...] = removed
    if item.setting == "np-conv":
        late = None if switches.unrelated_uncut else _latest(other)
        cut = tuple(other.below(late)) if late else ()
    kept = set(_timely(other, item.target, switches)) - set(cut)
    context = (other.ref, *(c.ref for c in other.comments if c.ref in kept))
    if not switches.later_shown:
        thread = tuple(ref for ref in thread if ref in kept)
    return Seen({}, context=context, removed=cut, example_thread=thread)


def _latest(tree: Tree) -> str | None:
    from evaluation.benchmark.written import latest

    own = latest(tree)
    return own[0].ref if own else None


def _timely(tree: Tree, target: Comment, switches: Switches) -> tuple[str, ...]:
    """All comments; without `later_shown` the target itself and those that are certainly earlier."""
    return tuple(c.ref for c in tree.comments if switches.later_shown or c.ref == target.ref or earlier(c, target))


def example_thread(tree: Tree, example: Comment) -> tuple[str, ...]:
    """The thread around an example, children in order of time. Beside the example, what comes later is cut; at higher
    levels it stays. An example that opens its thread is shown with all that is under it."""
    path = [example]
    while path[0].parent != tree.ref:
        path.insert(0, tree.by_ref[path[0].parent])
    if len(path) == 1:
        return tuple(_whole(tree, example))
    shown: list[str] = []
    _down(tree, path, shown)
    return tuple(shown)


def _down(tree: Tree, path: list[Comment], shown: list[str]) -> None:
    """The first of `path`, and what is under it as far as it is shown. An explicit stack: threads are 100 deep."""
    waiting: list[tuple[Comment, bool]] = [(path[0], True)]
    on = {c.ref for c in path}
    example = path[-1]
    while waiting:
        here, leads = waiting.pop()
        shown.append(here.ref)
        below = _in_time(tree, here)
        if leads:
            at = next(i for i, c in enumerate(below) if c.ref in on)
            if below[at].ref == example.ref:
                below = below[:at]
        waiting += [(c, c.ref in on) for c in reversed(below)]


def _whole(tree: Tree, comment: Comment) -> list[str]:
    found, waiting = [], [comment]
    while waiting:
        here = waiting.pop()
        found.append(here.ref)
        waiting += reversed(_in_time(tree, here))
    return found


def _in_time(tree: Tree, comment: Comment) -> list[Comment]:
    return sorted(tree.children.get(comment.ref, ()), key=lambda c: c.time or _FIRST)
