"""On the synthetic file the reference protocol selects, orders, masks and shows exactly what the reference did."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evaluation.benchmark.items import Item, Selection, Verdict
from evaluation.benchmark.posts import Comment, Posts, Tree, read_posts
from evaluation.benchmark.reference import Reference
from evaluation.benchmark.scored import built_in, earlier
from evaluation.benchmark.seen import seen
from evaluation.benchmark.switches import Switches
from evaluation.benchmark.wording import prompt
from memory.fence import fenced

PARITY = Path(__file__).parent / "parity"
POSTS = read_posts(PARITY / "synthetic_posts.json")
REFERENCE = Reference(POSTS)
select = cache(REFERENCE.select)
AS_THERE = Switches()
DEFAULT = {"sentiment": "default_fs_post1", "impact": "default_fs_post1_with_convo"}  # as the reference files its own


def expected(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PARITY / f"expected_{name}.json").read_text(encoding="utf-8"))
    return found


def utc(comment: Comment) -> str:
    assert comment.time is not None
    return comment.time.strftime("%Y-%m-%dT%H:%M:%SZ")


def kept_fields(tree: Tree, task: str) -> list[str]:
    """The post's fields in the reference's store: what begins with an underscore goes, but for the domain."""
    own = [f for f in tree.fields if not f.startswith("_") or f == "__sub__" or (task == "generation" and f[1] == "_")]
    return sorted(
        {*own, *(() if task == "impact" else ("__sub__", "author", "id", "type"))}
    )  # which the reference puts there


def target_facts(item: Item, tree: Tree) -> dict[str, Any]:
    target = item.target
    parent = tree.by_ref.get(target.parent)
    return {
        "comment_path": list(target.path),
        "reference_id": target.ref,
        "parent_reference_id": target.parent,
        "parent_author": parent.author if parent else tree.fields["author"],
        "score": target.score,
        "true_label": item.truth,
        "text": target.text,
        "timestamp_utc": utc(target),
    }


def example_facts(item: Item) -> dict[str, Any]:
    assert item.example
    shown = item.example.comment
    return {
        "type": "dynamic" if shown else "default",
        "comment_path": list(shown.path) if shown else None,
        "reference_id": shown.ref if shown else None,
        "answer": item.example.answer,
        "later_than_target": earlier(item.target, shown) if shown else None,
    }


def verdict_facts(verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = {"post_ref": verdict.post, "user": verdict.user, "post_index": verdict.index}
    found |= verdict.facts | {"status": verdict.status}
    return found | ({"reason": verdict.reason} if verdict.reason else {})


def scored_facts(verdict: Verdict, place: dict[str, int], task: Any) -> dict[str, Any]:
    found = verdict_facts(verdict)
    if verdict.status == "dropped" and (target := verdict.target):
        found["would_be_target"] = {
            "comment_path": list(target.path),
            "reference_id": target.ref,
            "score": target.score,
        }
    if verdict.status != "selected":
        return found
    at = place[verdict.post]
    item, bare = (select(task, setting).items[at] for setting in ("p-conv", "p-nonconv"))
    assert item.target.time and (bare.post, bare.target, bare.truth) == (item.post, item.target, item.truth)
    tree, shows = POSTS.by_ref[item.post].tree(), seen(item, POSTS, AS_THERE)
    stored = shows.stored[item.post]
    late = [ref for ref in stored if (time := tree.by_ref[ref].time) and time > item.target.time]
    dynamic = item.example is not None and item.example.comment is not None
    masked = item.target.ref in shows.masked
    found |= {
        "output_index": at,
        "subreddit": item.domain,
        "target": target_facts(item, tree),
        "few_shot": example_facts(item),
        "with_conversation": {
            "data_store_posts": sorted([DEFAULT[task], *shows.stored]),
            "target_score_masked_in_data_store": masked,
            "few_shot_score_masked_in_data_store": item.example.comment.ref in shows.masked
            if item.example and item.example.comment
            else None,
            "post_ids_present_in_data_store": masked,  # the mask finds its node by the ids
            "whole_comment_tree_in_data_store": stored == tuple(c.ref for c in tree.comments),
            "comments_later_than_target_in_data_store": len(late),
            "few_shot_in_prompt": dynamic or built_in(task, True) is not None,
        },
        "without_conversation": {
            "data_store_has_comments": any(seen(bare, POSTS, AS_THERE).stored.values()),
            "data_store_fields": kept_fields(tree, task),
            "few_shot_in_prompt": bare.example is not None,
            "few_shot_answer": bare.example.answer if bare.example else None,
            "parent_text_in_prompt": False,
        },
    }
    return found | ({"sign_hint": item.sign} if task == "impact" else {})


@pytest.mark.parametrize("task", ["sentiment", "impact"])
def test_scored_tasks_select_what_the_reference_selects(task: Any) -> None:
    wanted = expected(task)
    selection = select(task, "p-conv")
    assert [item.post for item in selection.items] == wanted["output_order"]
    place = {item.post: n for n, item in enumerate(selection.items)}
    for verdict, post in zip(selection.verdicts, wanted["posts"], strict=True):
        assert scored_facts(verdict, place, task) == post
    assert counts(selection) == wanted["counts"]


def counts(selection: Selection) -> dict[str, int]:
    found = {"posts": len(selection.verdicts)}
    for verdict in selection.verdicts:
        found[verdict.status] = found.get(verdict.status, 0) + 1
    return found


def generation_facts(verdict: Verdict, place: dict[str, int]) -> dict[str, Any]:
    found = verdict_facts(verdict)
    share = found["removed_ratio_in_target_thread"]
    found["removed_ratio_in_target_thread"] = None if share is None else round(share, 4)
    if verdict.status != "selected":
        return found
    at = place[verdict.post]
    item, bare = (select("generation", setting).items[at] for setting in ("p-conv", "p-nonconv"))
    tree, shows = POSTS.by_ref[item.post].tree(), seen(item, POSTS, AS_THERE)
    assert item.example and item.example.comment and item.target.time
    example, target = item.example.comment, item.target
    dated = [(c.ref, c.time) for c in tree.comments if c.ref in shows.context]
    return found | {
        "output_index": at,
        "subreddit": item.domain,
        "target": {
            "comment_path": list(target.path),
            "reference_id": target.ref,
            "parent_reference_id": target.parent,
            "parent_kind": "post" if target.parent == item.post else "comment",
            "true_text": item.truth,
            "timestamp_utc": utc(target),
        },
        "few_shot": {
            "type": "dynamic",
            "comment_path": list(example.path),
            "reference_id": example.ref,
            "answer": item.example.answer,
            "tree_reference_ids": list(shows.example_thread),
            "few_shot_reply_itself_in_tree": example.ref in shows.example_thread,
            "target_in_tree": target.ref in shows.example_thread,
        },
        "with_conversation": {
            "removed_reference_ids": list(shows.removed),
            "context_reference_ids": list(shows.context),
            "messages_later_than_target_in_context": [r for r, time in dated if time and time > target.time],
            "scores_visible": AS_THERE.scores_shown,
        },
        "without_conversation": {
            "post_fields": kept_fields(tree, "generation"),
            "comments_shown": len(seen(bare, POSTS, AS_THERE).context) > 1,
            "few_shot_in_prompt": bare.example is not None,
            "parent_text_in_prompt": True,
        },
    }


def test_generation_selects_what_the_reference_selects() -> None:
    wanted = expected("generation")
    selection = select("generation", "p-conv")
    assert [item.post for item in selection.items] == wanted["output_order"]
    place = {item.post: n for n, item in enumerate(selection.items)}
    for verdict, post in zip(selection.verdicts, wanted["posts"], strict=True):
        assert generation_facts(verdict, place) == post
    assert counts(selection) == wanted["counts"]


def lent(item: Item) -> dict[str, Any]:
    assert item.example and item.example.comment
    return {
        "post_ref": item.post,
        "target_path": list(item.target.path),
        "provider_post_ref": item.example.post,
        "few_shot_path": list(item.example.comment.path),
        "few_shot_answer": item.example.answer,
    }


@pytest.mark.parametrize("task", ["sentiment", "impact"])
def test_np_conv_takes_its_examples_where_the_reference_takes_them(task: Any) -> None:
    wanted = expected("np_conv")[task]
    found = []
    for item in select(task, "np-conv").items:
        shows = seen(item, POSTS, AS_THERE)
        facts = lent(item) | {
            "true_label": item.truth,
            "few_shot_is_target_itself": item.example is not None and item.example.comment == item.target,
            "target_score_masked_in_data_store": item.target.ref in shows.masked,
        }
        if task == "sentiment":
            facts["comments_in_own_data_store_entry"] = len(shows.stored[item.post])
        found.append(facts)
    assert found == wanted["items"]


def test_np_conv_sentiment_has_the_references_pool() -> None:
    from evaluation.benchmark.scored import survey
    from evaluation.benchmark.unrelated import pool

    wanted = expected("np_conv")["sentiment"]
    assert [f.post.ref for f in pool(survey(POSTS, AS_THERE))] == wanted["pool_post_refs"]
    assert expected("np_conv")["impact"]["ring_size"] == len(select("impact", "np-conv").items)


def test_np_conv_generation_skips_and_lends_as_the_reference() -> None:
    wanted = expected("np_conv")["generation"]
    selection = select("generation", "np-conv")
    items = {item.post: item for item in selection.items}
    found: list[dict[str, Any]] = []
    for verdict in selection.verdicts:
        provider = POSTS[int(verdict.facts["provider"] or 0)]
        if verdict.status == "skipped":
            why = {"post_ref": verdict.post, "status": "skipped", "reason": verdict.reason}
            found.append(why | {"provider_post_ref": provider.ref})
            continue
        item = items[verdict.post]
        latest = select("generation", "p-conv")
        own = {v.post: v.target for v in latest.verdicts}[provider.ref]
        found.append(
            lent(item)
            | {
                "status": "selected",
                "true_text": item.truth,
                "provider_is_own_post": provider.ref == item.post,
                "provider_latest_reply_removed_from_context": own is not None
                and own.ref not in seen(item, POSTS, AS_THERE).context,
            }
        )
    assert found == wanted["items"]
    assert wanted["ring_size"] == len(POSTS)


@pytest.mark.parametrize("task", ["sentiment", "impact", "generation"])
@pytest.mark.parametrize("setting", ["p-conv", "p-nonconv", "np-conv"])
def test_every_item_has_a_prompt_that_shows_what_is_to_be_judged_and_hides_what_is_to_be_written(
    task: Any, setting: Any
) -> None:
    for item in select(task, setting).items:
        [(role, text)] = prompt(item, POSTS, AS_THERE)
        assert role == "user"
        if task != "generation":
            assert fenced(item.target.text) in text
        elif item.target.ref not in seen(item, POSTS, AS_THERE).example_thread and item.target.text:
            assert item.target.text not in text


def posts_of(content: Any) -> Posts:
    from evaluation.benchmark.posts import parse_posts

    return parse_posts(json.dumps(content).encode())


def test_the_raw_list_gives_the_same_items_as_the_grouped_object() -> None:
    grouped = json.loads((PARITY / "synthetic_posts.json").read_text(encoding="utf-8"))
    named = {user: [post | {"author": user} for post in own] for user, own in grouped.items()}
    raw = [post for own in named.values() for post in own]
    for task in ("sentiment", "impact", "generation"):
        one, other = (Reference(posts_of(shape)).select(task, "p-conv").items for shape in (named, raw))
        assert one and [(i.id, i.truth) for i in one] == [(i.id, i.truth) for i in other]
