"""Which replies the reference's sentiment and impact tasks take: rules, ranking, balancing, order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from evaluation.benchmark.items import NEGATIVE, POSITIVE, Example, Item, Label, Selection, Setting, TaskName, Verdict
from evaluation.benchmark.posts import Comment, Post, Tree, clean
from evaluation.benchmark.switches import Switches

GONE = ("", "[deleted]", "[removed]")  # compared without regard to case
BUILT_IN: dict[tuple[TaskName, bool], Label] = {  # (task, with conversation) -> the built-in example's answer
    ("sentiment", True): POSITIVE,
    ("impact", True): 25,
    ("impact", False): 18,
}
NO_DOMAIN = {"sentiment": "", "impact": "N/A", "generation": ""}


@dataclass(frozen=True, slots=True)
class Found:
    """What the rules look at in one post. `ranked`: replies that can be a target, the best first."""

    post: Post
    number: int  # of the post in the whole file, from 0
    domain: Any
    participants: int
    live: int
    ranked: tuple[Comment, ...]
    stops: bool

    @property
    def best(self) -> float:
        """The largest absolute score."""
        return max((size(c) for c in self.ranked), default=0.0)


def find(post: Post, number: int, switches: Switches) -> Found:
    """Looks at one post."""
    tree = post.tree()
    people = {c.author for c in tree.comments if isinstance(c.author, str) and c.author}
    writer = tree.fields.get("author")
    people |= {writer} if isinstance(writer, str) and writer else set()
    return Found(
        post,
        number,
        tree.fields.get("__sub__"),
        len(people),
        sum(c.author == tree.user and alive(c.body) for c in tree.comments),
        tuple(ranked(tree, switches)),
        tree.stops_the_reference,
    )


def ranked(tree: Tree, switches: Switches) -> list[Comment]:
    """The user's replies with a score, words, a parent with words and a readable time; largest absolute score first,
    then latest, then first in the tree."""
    own = [c for c in tree.comments if c.author == tree.user and isinstance(c.score, int | float) and alive(c.body)]
    dated = [(c, time) for c in own if alive(parent_text(tree, c)) and (time := c.time) is not None]
    dated.sort(key=lambda pair: (size(pair[0]) if switches.target_by_score else 0.0, pair[1]), reverse=True)
    return [c for c, _ in dated]


def parent_text(tree: Tree, comment: Comment) -> Any:
    return tree.fields.get("content") if comment.parent == tree.ref else tree.by_ref[comment.parent].body


def alive(body: Any) -> bool:
    return clean(body).lower() not in GONE


def size(comment: Comment) -> float:
    return abs(float(comment.score))


def label(score: float) -> str:
    return POSITIVE if score > 0 else NEGATIVE


def answer(task: TaskName, comment: Comment) -> Label:
    """What the task's true answer for `comment` is."""
    return label(comment.score) if task == "sentiment" else cast(Label, comment.score)


def reason(found: Found, switches: Switches) -> str | None:
    """The first rule that the post fails."""
    if found.participants <= 3:
        return "participants_le_3"
    if found.live <= 2:
        return "author_replies_le_2"
    if not found.ranked:
        return "no_scorable_author_reply"
    return "max_abs_score_le_3" if switches.target_by_score and found.best <= 3 else None


def balanced(found: Sequence[Found], switches: Switches) -> tuple[list[Found], list[Found]]:
    """(kept, dropped): negatives in the order of the file, then positives from small to large; the lower half of the
    positives goes."""
    negative = [f for f in found if f.ranked[0].score <= 0]
    positive = sorted((f for f in found if f.ranked[0].score > 0), key=lambda f: size(f.ranked[0]))
    half = len(positive) // 2 if switches.half_of_positives else 0
    return negative + positive[half:], positive[:half]


def survey(posts: Iterable[Post], switches: Switches) -> list[Found]:
    """Every post looked at, in the order of the file. The costly part: tasks and settings can share it."""
    return [find(post, number, switches) for number, post in enumerate(posts)]


def select(found: Sequence[Found], task: TaskName, setting: Setting, switches: Switches) -> Selection:
    """The items of p-conv or p-nonconv; np-conv is made from the same survey in unrelated.py."""
    failed = {f.post.ref: why for f in found if (why := reason(f, switches))}
    kept, dropped = balanced([f for f in found if f.post.ref not in failed], switches)
    out = {f.post.ref for f in dropped}
    verdicts = [_verdict(f, failed.get(f.post.ref), f.post.ref in out) for f in found]
    items = tuple(_item(f, task, setting, switches) for f in kept)
    return Selection(items, tuple(verdicts), tuple(f.post.ref for f in found if f.stops))


def _verdict(found: Found, failed: str | None, dropped: bool) -> Verdict:
    post = found.post
    return Verdict(
        post.ref,
        post.user,
        post.index,
        "skipped" if failed else "dropped" if dropped else "selected",
        failed or ("positive_lower_half" if dropped else None),
        None if failed else found.ranked[0],
        {
            "participants": found.participants,
            "author_live_replies": found.live,
            "scorable_author_replies": len(found.ranked),
        },
    )


def domain(found: Found, task: TaskName) -> str:
    return NO_DOMAIN[task] if found.domain is None else str(found.domain)


def sign(task: TaskName, target: Comment, switches: Switches) -> str | None:
    return label(target.score) if task == "impact" and switches.sign_hint else None


def _item(found: Found, task: TaskName, setting: Setting, switches: Switches) -> Item:
    post, target = found.post, found.ranked[0]
    example = _example(found, task, switches) if setting == "p-conv" else built_in(task, False)
    return Item(
        task,
        setting,
        post.ref,
        post.user,
        domain(found, task),
        target,
        answer(task, target),
        example,
        sign(task, target, switches),
    )


def _example(found: Found, task: TaskName, switches: Switches) -> Example | None:
    """The runner-up of the same ranking; sentiment takes none with score 0, and then has the built-in one."""
    target, *others = found.ranked
    if not switches.later_shown:
        others = [c for c in others if earlier(c, target)]
    second = others[0] if others else None
    if second is None or (task == "sentiment" and second.score == 0):
        return built_in(task, True)
    return Example(answer(task, second), found.post.ref, second)


def earlier(comment: Comment, target: Comment) -> bool:
    """Whether it was certainly written before the target."""
    time, until = comment.time, target.time
    return time is not None and until is not None and time < until


def built_in(task: TaskName, with_conversation: bool) -> Example | None:
    """The example that the reference carries with it; None where it has none."""
    known = BUILT_IN.get((task, with_conversation))
    return None if known is None else Example(known)
