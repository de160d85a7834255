"""Baselines of the reference protocol know what the benchmark's file has before an item, and no more."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from evaluation.benchmark.guesses import guesses
from evaluation.benchmark.items import Item
from evaluation.benchmark.past import FilePast
from evaluation.benchmark.posts import Posts, parse_posts
from evaluation.benchmark.reference import Reference

AT = "2024-01-{:02d}T00:00:00Z"


def comment(author: str, day: int, body: str, score: Any = 1, *replies: Any) -> dict[str, Any]:
    return {"author": author, "body": body, "score": score, "timestamp": AT.format(day), "replies": list(replies)}


def post(author: str, day: int, *comments: Any) -> dict[str, Any]:
    fields = {"author": author, "title": "a title", "content": "", "score": 9, "timestamp": AT.format(day)}
    return {**fields, "__sub__": "art", "comments": list(comments)}


def file(*more: Any) -> Posts:
    early = post("ann", 1, comment("bob", 2, "early words", 7), comment("ann", 3, "mine, early", -4))
    own = (comment("ann", d, f"own {d}", s) for d, s in ((11, 2), (12, 5), (13, 8)))
    target = post("ann", 10, comment("bob", 11, "here", 3, *own), comment("cid", 12, "hi"), comment("dot", 12, "so"))
    return parse_posts(json.dumps([early, target, *more]).encode())


def past(posts: Posts) -> FilePast:
    return FilePast(posts, "bag")


def said(posts: Posts, task: Any = "impact") -> dict[str, Any]:
    [item] = [i for i in Reference(posts).select(task, "p-conv").items if i.post == "u1p2"]
    return by_name(item, posts)


def by_name(item: Item, posts: Posts) -> dict[str, Any]:
    rows = asyncio.run(guesses([item], posts, past(posts), seed=0))
    return {row["system"].removeprefix("baseline:"): row["value"]["chat"] for row in rows}


def test_scores_are_strictly_earlier_and_outside_of_the_items_own_post() -> None:
    posts = file()
    second = int(posts[0].tree().comments[1].time.timestamp())  # type: ignore[union-attr]
    assert past(posts).scores(before=second, place="art").tolist() == [9, 7]
    assert past(posts).scores(before=second + 1, author="ann").tolist() == [9, -4]
    assert past(posts).scores(before=2**33, outside="u1p2").tolist() == [9, 7, -4]
    assert past(posts).scores(before=2**33, place="elsewhere").tolist() == []


def test_numbers_come_from_the_persons_and_the_communitys_past() -> None:
    found = said(file())
    assert (found["one"], found["own_median"], found["own_mean"]) == (1.0, -4.0, -4.0)
    assert (found["median"], found["community_mean"], found["parent_score"]) == (1.5, 1.5, 3.0)


def test_texts_come_from_what_had_been_said() -> None:
    posts = file()
    [item] = [i for i in Reference(posts).select("impact", "p-conv").items if i.post == "u1p2"]
    found = by_name(Item("generation", "p-conv", item.post, item.user, "art", item.target, "so it is", None), posts)
    assert (found["parent_copy"], found["own_last"], found["other_random"]) == ("here", "own 12", "early words")
    assert found["own_nearest"] in ("mine, early", "own 11", "own 12")


def test_whatever_is_said_later_moves_no_baseline() -> None:
    later = post("zoe", 14, comment("ann", 15, "later words", 900), comment("bob", 16, "later too", -900))
    for task in ("sentiment", "impact"):
        assert said(file(later), task) == said(file(), task)


def test_messages_without_time_or_score_are_in_no_past() -> None:
    odd = post("ann", 2, comment("bob", 2, "no score", None), {"author": "bob", "body": "no time", "score": 50})
    assert past(file(odd)).scores(before=2**33, author="bob").tolist() == [7, 3]
    assert [m.text for m in past(file(odd)).history("bob", 2**33).messages] == ["early words", "no score", "here"]
