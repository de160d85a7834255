"""The reference's rules on drawn inputs, against a second, plain reading of them; and what each switch changes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from evaluation.benchmark.items import SETTINGS, TASKS, Item
from evaluation.benchmark.posts import Comment, Posts, Tree, parse_posts
from evaluation.benchmark.reference import Reference
from evaluation.benchmark.scored import earlier
from evaluation.benchmark.seen import seen
from evaluation.benchmark.switches import Switches
from evaluation.benchmark.wording import prompt
from memory.errors import BadInput

PEOPLE = ("ann", "bob", "cy", "[deleted]", "dee", None, "")
GONE = ("[deleted]", "[Removed]", "[removed]", "", None)
SEEDS = range(25)


class Dice:
    """A file of posts whose texts are all different words, so that each can be found again in a prompt."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.words = 0

    def word(self) -> str:
        self.words += 1
        return f"word{self.words:05d}x"

    def time(self) -> Any:
        day, hour = self.random.randint(1, 3), self.random.randint(0, 23)
        plain = f"2024-03-0{day}T{hour:02d}:00:00"
        return self.random.choices([plain + "Z", plain + "+01:00", plain, None, "soon"], [60, 15, 15, 5, 5])[0]

    def comment(self, user: str, depth: int) -> Any:
        dice = self.random
        if dice.random() < 0.03:
            return dice.choice(["text", None, 7])
        body = dice.choice(GONE) if dice.random() < 0.12 else self.word()
        score: Any = dice.choices([dice.randint(-9, 9), dice.randint(-60, 60), "5", None, 4.5], [60, 25, 5, 5, 5])[0]
        found: dict[str, Any] = {"author": user if dice.random() < 0.45 else dice.choice(PEOPLE), "body": body}
        found |= {"score": score, "timestamp": self.time()}
        found["replies"] = (
            "" if depth > 4 else [self.comment(user, depth + 1) for _ in range(dice.choice([0, 0, 1, 2]))]
        )
        return found

    def post(self, user: str) -> dict[str, Any]:
        dice = self.random
        comments = [self.comment(user, 0) for _ in range(dice.randint(0, 6))]
        place = {"__sub__": dice.choice(["life", "art"])} if dice.random() < 0.8 else {}
        content = dice.choice([None, "", self.word()])
        fields = {"title": self.word(), "author": user, "content": content, "score": 5, "timestamp": self.time()}
        return fields | place | {"comments": comments}

    def file(self) -> dict[str, Any]:
        return {user: [self.post(user) for _ in range(self.random.randint(0, 12))] for user in ("ann", "bob", "zoe")}


def drawn(seed: int) -> tuple[dict[str, Any], Posts]:
    file = Dice(seed).file()
    return file, parse_posts(json.dumps(file).encode())


def plain(text: Any) -> str:
    return "" if text is None else str(text).strip()


def walk(node: dict[str, Any], key: str = "comments") -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(comment, parent), depth first, by recursion."""
    for child in node.get(key) if isinstance(node.get(key), list) else []:
        if isinstance(child, dict):
            yield child, node
            yield from walk(child, "replies")


def when(node: dict[str, Any]) -> float | None:
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(node["timestamp"])
    except (TypeError, ValueError):
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def said(node: dict[str, Any], key: str = "body") -> bool:
    return plain(node.get(key)).lower() not in ("", "[deleted]", "[removed]")


def oracle(file: dict[str, Any]) -> list[tuple[str, str, Any, str | None]]:
    """(post, target text, score, example text) of the scored tasks, by the rules read once more."""
    kept = []
    for n, (user, posts) in enumerate(file.items(), 1):
        for m, post in enumerate(posts, 1):
            pairs = list(walk(post))
            if len({p for p in [post["author"], *(c["author"] for c, _ in pairs)] if p}) < 4:
                continue
            own = [(c, p) for c, p in pairs if c["author"] == user and said(c)]
            if len(own) < 3:
                continue
            fit = [
                c
                for c, parent in own
                if isinstance(c["score"], (int, float))
                and when(c) is not None
                and (said(parent, "content") if parent is post else said(parent))
            ]
            order = sorted(range(len(fit)), key=lambda i: (-abs(fit[i]["score"]), -(when(fit[i]) or 0), i))
            if not order or abs(fit[order[0]]["score"]) < 4:
                continue
            second = fit[order[1]]["body"] if len(order) > 1 else None
            kept.append((f"u{n}p{m}", fit[order[0]]["body"], fit[order[0]]["score"], second))
    positive = sorted((k for k in kept if k[2] > 0), key=lambda k: k[2])
    return [k for k in kept if k[2] < 0] + positive[len(positive) // 2 :]


def told(item: Item) -> str | None:
    return item.example.comment.text if item.example and item.example.comment else None


def test_scored_items_are_those_of_a_second_reading_of_the_rules() -> None:
    count = 0
    for seed in SEEDS:
        file, posts = drawn(seed)
        wanted = oracle(file)
        reference = Reference(posts)
        impact = reference.select("impact", "p-conv").items
        assert [(i.post, i.target.text, i.truth, told(i)) for i in impact] == wanted
        sentiment = reference.select("sentiment", "p-conv").items
        assert [(i.post, i.target.text, i.truth) for i in sentiment] == [
            (post, text, "positive" if score > 0 else "negative") for post, text, score, _ in wanted
        ]
        count += len(wanted)
    assert count > 50


def around(tree: Tree, here: Comment, path: list[str]) -> Iterator[str]:
    """The thread shown with an example, by recursion: `path` leads to it."""
    yield here.ref
    for child in sorted(tree.children.get(here.ref, []), key=lambda c: c.time.timestamp() if c.time else -1.0):
        if path and child.ref == path[-1]:
            return
        yield from around(tree, child, path if child.ref in path else [])


def test_the_thread_around_an_example_is_that_of_a_second_reading() -> None:
    sizes = set()
    for seed in SEEDS:
        _, posts = drawn(seed)
        for item in Reference(posts).select("generation", "p-conv").items:
            assert item.example and item.example.comment
            tree, example = posts.by_ref[item.post].tree(), item.example.comment
            path, here = [example.ref], example
            while here.parent != tree.ref:
                here = tree.by_ref[here.parent]
                path.insert(0, here.ref)
            found = seen(item, posts, Switches()).example_thread
            assert list(found) == list(around(tree, here, path if here is not example else []))
            sizes.add(len(found))
    assert len(sizes) > 3


def thread_of(post: dict[str, Any], wanted: dict[str, Any]) -> list[dict[str, Any]]:
    for top in post["comments"]:
        if isinstance(top, dict):
            inside = [top, *(c for c, _ in walk(top, "replies"))]
            if any(c is wanted for c in inside):
                return inside
    raise AssertionError("not in this post")


def written_oracle(file: dict[str, Any]) -> list[tuple[str, str, str]]:
    """(post, true text, example's answer) of generation."""
    found = []
    for n, (user, posts) in enumerate(file.items(), 1):
        for m, post in enumerate(posts, 1):
            own = [c for c, _ in walk(post) if c["author"] == user and c["body"] is not None and when(c) is not None]
            order = sorted(range(len(own)), key=lambda i: (-(when(own[i]) or 0), i))
            if len(own) < 2 or own[order[0]]["body"] in ("[removed]", "[deleted]"):
                continue
            tops = [c for c in post["comments"] if isinstance(c, dict)]
            inside = [[top, *(c for c, _ in walk(top, "replies"))] for top in tops]
            if sum(len(t) > 1 and any(c["author"] == user for c in t) for t in inside) < 2:
                continue
            thread = thread_of(post, own[order[0]])
            if sum(c["body"] in ("[removed]", "[deleted]") for c in thread) / len(thread) > 0.33:
                continue
            found.append((f"u{n}p{m}", plain(own[order[0]]["body"]), plain(own[order[1]]["body"])))
    return found


def test_generation_items_are_those_of_a_second_reading_of_the_rules() -> None:
    count = 0
    for seed in SEEDS:
        file, posts = drawn(seed)
        wanted = written_oracle(file)
        items = Reference(posts).select("generation", "p-conv").items
        assert [(i.post, i.truth, i.example and i.example.answer) for i in items] == wanted
        count += len(wanted)
    assert count > 50


def test_np_conv_lends_from_two_hundred_places_on() -> None:
    for seed in SEEDS:
        _, posts = drawn(seed)
        reference = Reference(posts)
        plain_items = reference.select("impact", "p-conv").items
        lent = reference.select("impact", "np-conv").items
        assert [i.target for i in lent] == [i.target for i in plain_items]
        for place, item in enumerate(lent):
            other = plain_items[(place + 200) % len(plain_items)]
            assert item.example and (item.example.comment, item.example.answer) == (other.target, other.truth)
        for item in reference.select("generation", "np-conv").items:
            place = [post.ref for post in posts].index(item.post)
            assert item.example and item.example.post == posts[(place + 200) % len(posts)].ref
        # the shuffle of the reference, seeded: the same items, other pairs or another order
        again = Reference(posts, shuffle=1).select("sentiment", "np-conv").items
        assert {i.id for i in again} == {i.id for i in reference.select("sentiment", "np-conv").items}


def shown(item: Item, posts: Posts, switches: Switches) -> set[str]:
    [(_, text)] = prompt(item, posts, switches)
    return set(re.findall(r"word\d{5}x", text))


def words(posts: Posts, post: str, refs: Any) -> set[str]:
    tree = posts.by_ref[post].tree()
    return {tree.by_ref[ref].text for ref in refs if ref in tree.by_ref} & {
        c.text for c in tree.comments if c.text.startswith("word")
    }


@pytest.mark.parametrize("seed", range(8))
def test_a_prompt_shows_the_messages_that_the_reference_shows_and_no_other(seed: int) -> None:
    _, posts = drawn(seed)
    for setting in SETTINGS:
        for task in ("sentiment", "impact"):
            for item in Reference(posts).select(task, setting).items:  # type: ignore[arg-type]
                refs = [item.target.ref, *([] if setting == "p-nonconv" else [item.target.parent])]
                wanted = words(posts, item.post, refs)
                if item.example and item.example.comment and item.example.post:
                    lent = item.example.comment
                    wanted |= words(posts, item.example.post, [lent.ref, lent.parent])
                assert shown(item, posts, Switches()) & bodies(posts) == wanted
        for item in Reference(posts).select("generation", setting).items:
            view = seen(item, posts, Switches())
            home = item.example.post if setting == "np-conv" and item.example and item.example.post else item.post
            wanted = words(posts, home, [*view.context, *view.example_thread])
            if item.example:
                wanted |= {item.example.answer} & bodies(posts)
            if setting != "p-conv":
                wanted |= words(posts, item.post, [item.target.parent])
            assert shown(item, posts, Switches()) & bodies(posts) == wanted


def bodies(posts: Posts) -> set[str]:
    return {c.text for post in posts for c in post.tree().comments if c.text.startswith("word")}


def test_without_later_messages_nothing_at_or_after_the_target_is_shown() -> None:
    strict = Switches(later_shown=False, tree_unsent=False, example_holds_target=False)
    for seed in SEEDS[:8]:
        _, posts = drawn(seed)
        reference = Reference(posts, strict)
        every = {c.text: c for post in posts for c in post.tree().comments}
        for task in TASKS:
            for item in reference.select(task, "p-conv").items:
                late = {w for w in shown(item, posts, strict) & every.keys() if not earlier(every[w], item.target)}
                tree = posts.by_ref[item.post].tree()
                answered = [item.target, *([item.example.comment] if item.example and item.example.comment else [])]
                parents = {tree.by_ref[c.parent].text for c in answered if c.parent in tree.by_ref}
                assert late <= (set() if task == "generation" else parents | {item.target.text})


def test_each_switch_changes_what_it_says() -> None:
    kinds = [(task, setting) for task in TASKS for setting in SETTINGS]
    waiting = set(Switches.model_fields)
    for seed in range(12):
        _, posts = drawn(seed)
        for name in sorted(waiting):
            base = {"tree_unsent": False} if name == "impact_unmasked" else {}  # it is about what is not sent
            there, off = Switches(**base), Switches(**base, **{name: False})
            one, other = Reference(posts, there), Reference(posts, off)
            if any(asked(one, *kind) != asked(other, *kind) for kind in kinds):
                waiting.remove(name)
    assert not waiting


def asked(reference: Reference, task: Any, setting: Any) -> list[Any]:
    return [prompt(i, reference.posts, reference.switches) for i in reference.select(task, setting).items]


def test_the_target_leaks_through_the_example_only_while_the_switch_is_on() -> None:
    leaks, closed = 0, Switches(example_holds_target=False)
    for seed in range(60):
        _, posts = drawn(seed)
        for item in Reference(posts).select("generation", "p-conv").items:
            leaks += item.target.ref in seen(item, posts, Switches()).example_thread
            assert item.target.ref not in seen(item, posts, closed).example_thread
    assert leaks


def test_a_number_as_timestamp_is_read_and_said_to_stop_the_reference() -> None:
    file, _ = drawn(3)
    file["ann"].append(file["bob"][0] | {"timestamp": 1710000000})
    posts = parse_posts(json.dumps(file).encode())
    assert Reference(posts).select("impact", "p-conv").stops == (f"u1p{len(file['ann'])}",)


def test_what_is_no_benchmark_file_is_refused_with_its_place() -> None:
    with pytest.raises(BadInput, match="u1p2 is no object"):
        parse_posts(b'{"ann": [{"title": "x"}, 3]}', "file.json")
    with pytest.raises(BadInput, match=r"file\.json is not JSON"):
        parse_posts(b"[{", "file.json")
    with pytest.raises(BadInput, match="neither a list of posts nor"):
        parse_posts(b'{"ann": NaN}', "file.json")


def test_what_only_python_reads_as_json_is_read_as_the_reference_reads_it() -> None:
    posts = parse_posts(b'[{"author": "ann", "score": NaN, "title": "\\ud800", "comments": []}]')
    assert [post.tree().fields["title"] for post in posts] == ["\ud800"]
