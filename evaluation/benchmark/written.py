"""Which replies the reference's generation task takes: the latest, of posts with two threads that the user writes in"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evaluation.benchmark.items import Example, Item, Selection, Setting, Verdict
from evaluation.benchmark.posts import Comment, Post, Tree
from evaluation.benchmark.switches import Switches

MARKS = ("[removed]", "[deleted]")  # exactly so, in this case
MOST_REMOVED = 0.33


@dataclass(frozen=True, slots=True)
class Found:
    """What the rules look at in one post. `own`: the user's replies, latest first; `removed`: share of marks in the
    thread of the latest and of the second latest, None where there is no such reply."""

    post: Post
    number: int
    domain: str
    own: tuple[Comment, ...]
    dated: int
    threads: int
    removed: tuple[float | None, float | None]
    stops: bool


def find(post: Post, number: int) -> Found:
    """Looks at one post."""
    tree = post.tree()
    own = latest(tree)
    place = tree.fields.get("__sub__")
    shares = [removed_share(tree, c) for c in own[:2]]
    return Found(
        post,
        number,
        "" if place is None else str(place),
        tuple(own[:2]),
        len(own),
        qualifying(tree),
        (shares[0] if shares else None, shares[1] if len(shares) > 1 else None),
        tree.stops_the_reference,
    )


def latest(tree: Tree) -> list[Comment]:
    """The user's replies that have a body and a readable time, latest first, then first in the tree."""
    own = [(c, c.time) for c in tree.comments if c.author == tree.user and c.body is not None]
    dated = [(c, time) for c, time in own if time is not None]
    dated.sort(key=lambda pair: pair[1], reverse=True)
    return [c for c, _ in dated]


def qualifying(tree: Tree) -> int:
    """Top-level comments that were answered and that the user writes in or under."""
    theirs = {tree.top(c.ref).ref for c in tree.comments if c.author == tree.user}
    return sum(c.ref in tree.children for c in tree.children.get(tree.ref, ()) if c.ref in theirs)


def removed_share(tree: Tree, comment: Comment) -> float:
    """Of the comments in the whole top-level thread around `comment`, those whose words are a mark."""
    thread = tree.below(tree.top(comment.ref).ref)
    return sum(tree.by_ref[ref].text in MARKS for ref in thread) / len(thread)


def reason(found: Found) -> str | None:
    """The first rule that the post fails."""
    if found.dated < 2:
        return "author_replies_lt_2"
    if found.own[0].text in MARKS:
        return "target_removed_or_deleted"
    if found.threads <= 1:
        return "qualifying_threads_le_1"
    return "removed_ratio_gt_0.33" if (found.removed[0] or 0.0) > MOST_REMOVED else None


def survey(posts: Iterable[Post]) -> list[Found]:
    """Every post looked at, in the order of the file."""
    return [find(post, number) for number, post in enumerate(posts)]


def select(found: Sequence[Found], setting: Setting, switches: Switches) -> Selection:
    """The items of p-conv or p-nonconv."""
    failed = {f.post.ref: why for f in found if (why := reason(f))}
    items = tuple(_item(f, setting) for f in found if f.post.ref not in failed)
    verdicts = tuple(_verdict(f, failed.get(f.post.ref)) for f in found)
    return Selection(items, verdicts, tuple(f.post.ref for f in found if f.stops))


def _verdict(found: Found, failed: str | None) -> Verdict:
    post, reached = found.post, failed not in ("author_replies_lt_2", "target_removed_or_deleted")
    judged = reached and failed != "qualifying_threads_le_1"
    return Verdict(
        post.ref,
        post.user,
        post.index,
        "skipped" if failed else "selected",
        failed,
        None if failed else found.own[0],
        {
            "dated_author_replies": found.dated,
            "qualifying_threads": found.threads,
            "removed_ratio_in_target_thread": found.removed[0] if judged else None,
        },
    )


def _item(found: Found, setting: Setting) -> Item:
    post, (target, second) = found.post, found.own
    example = Example(second.text, post.ref, second) if setting == "p-conv" else None
    return Item("generation", setting, post.ref, post.user, found.domain, target, target.text, example)
