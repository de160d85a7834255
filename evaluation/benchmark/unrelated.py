"""NP-Conv as the reference has it: the example comes from another post, a fixed number of places further on."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from evaluation.benchmark import scored, written
from evaluation.benchmark.items import Example, Item, Selection, Verdict
from evaluation.benchmark.switches import Switches

OFFSET = 200
POOL = {"participants": 2, "score": 1}  # a post that lends a sentiment example has more than these


def pool(found: Sequence[scored.Found]) -> list[scored.Found]:
    """Posts whose best reply can be another's sentiment example, in the order of the file."""
    return [
        f
        for f in found
        if f.participants > POOL["participants"] and f.live >= 1 and f.ranked and f.best > POOL["score"]
    ]


def sentiment(found: Sequence[scored.Found], switches: Switches, shuffle: int | None = None) -> Selection:
    """Positives, then negatives. Two numberings are mixed there: place among all posts, looked up in the pool.

    `shuffle`: seed of the reference's (unseeded) last shuffle, which changes the order alone; None leaves it out.
    """
    plain = scored.select(found, "sentiment", "np-conv", switches)
    by_ref, lenders = {f.post.ref: f for f in found}, pool(found)
    items = sorted(
        (_lent(item, by_ref[item.post], lenders) for item in plain.items),
        key=lambda item: item.truth == "negative",
    )
    return Selection(_shuffled(items, shuffle), plain.verdicts, plain.stops)


def impact(found: Sequence[scored.Found], switches: Switches, shuffle: int | None = None) -> Selection:
    """The items in a ring, each with the target of the one OFFSET places on, which may be itself.

    `shuffle`: seed of the reference's (unseeded) shuffle of the ring, which decides who lends to whom; None: none.
    """
    plain = scored.select(found, "impact", "np-conv", switches)
    ring = _shuffled(plain.items, shuffle)
    lent = [ring[(i + OFFSET) % len(ring)] for i in range(len(ring))]
    items = [
        _with(item, Example(other.truth, other.post, other.target)) for item, other in zip(ring, lent, strict=True)
    ]
    return Selection(tuple(items), plain.verdicts, plain.stops)


def generation(found: Sequence[written.Found], switches: Switches) -> Selection:
    """All posts in a ring; a task post needs one dated reply, and the post that lends has to pass the task's rules."""
    items, verdicts = [], []
    for place, own in enumerate(found):
        other = found[(place + OFFSET) % len(found)]
        failed = _fails(own, other)
        target = None if failed else own.own[0]
        facts: dict[str, int | float | None] = {"provider": other.number}
        post = own.post
        verdicts.append(
            Verdict(post.ref, post.user, post.index, "skipped" if failed else "selected", failed, target, facts)
        )
        if target is not None:
            second = other.own[1]
            example = Example(second.text, other.post.ref, second)
            items.append(Item("generation", "np-conv", post.ref, post.user, own.domain, target, target.text, example))
    return Selection(tuple(items), tuple(verdicts), tuple(f.post.ref for f in found if f.stops))


def _fails(own: written.Found, other: written.Found) -> str | None:
    if not own.dated:
        return "no_dated_author_reply"
    if own.own[0].text in ("", *written.MARKS):
        return "target_empty_or_removed"
    if other.dated < 2:
        return "provider_replies_lt_2"
    if other.own[0].text in ("", *written.MARKS):
        return "provider_latest_empty_or_removed"
    if other.threads <= 1:
        return "provider_threads_le_1"
    late, second = (share or 0.0 for share in other.removed)
    if late > written.MOST_REMOVED:
        return "provider_latest_thread_removed_ratio"
    return "provider_example_thread_removed_ratio" if second > written.MOST_REMOVED else None


def _lent(item: Item, own: scored.Found, lenders: Sequence[scored.Found]) -> Item:
    if not lenders:
        return _with(item, Example(scored.BUILT_IN["sentiment", True]))
    other = lenders[(own.number + OFFSET) % len(lenders)]
    best = other.ranked[0]
    return _with(item, Example(scored.answer("sentiment", best), other.post.ref, best))


def _with(item: Item, example: Example) -> Item:
    return Item(item.task, "np-conv", item.post, item.user, item.domain, item.target, item.truth, example, item.sign)


def _shuffled(items: Sequence[Item], seed: int | None) -> tuple[Item, ...]:
    order = list(items)
    if seed is not None:
        Random(seed).shuffle(order)
    return tuple(order)
