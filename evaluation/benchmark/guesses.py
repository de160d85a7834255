"""Baselines on the items of the reference protocol: those of every table, from what the file has before each item."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from evaluation import baselines
from evaluation.benchmark import figures
from evaluation.benchmark.items import Item
from evaluation.benchmark.past import FilePast
from evaluation.benchmark.posts import Posts
from evaluation.rows import BASELINE
from evaluation.tasks import load
from simulator.answering import turn_seed
from simulator.records import Slot


async def guesses(items: Iterable[Item], posts: Posts, past: FilePast, seed: int) -> list[dict[str, Any]]:
    """A row for each item and baseline, without the cosines of texts. `seed`: of the random ones."""
    found = []
    for item in items:
        slot = slot_of(item)
        known = _known(item, slot, posts, past, seed, masked=True)
        seeing = _known(item, slot, posts, past, seed, masked=False)
        for baseline in baselines.of_kind(load(item.task).KIND):
            value, fallback = await baseline.guess(seeing if baseline.hindsight else known)
            row: dict[str, Any] = {
                "protocol": "reference", "system": BASELINE + baseline.name, "task": item.task, "setting": item.setting,
                "policy": "", "model": "", "seed": seed, "repeat": 0, "thread": item.post, "slot": item.id,
                "user": slot.author, "place": item.domain, "truth": item.truth, "answer": None,
                "value": {"chat": value, "log": value}, "failure": None, "fallback": fallback,
                "hindsight": baseline.hindsight,
            }  # fmt: skip
            if item.task == "generation":
                row["metrics"] = figures.texts(str(item.truth), str(value)) if item.truth else {}
            found.append(row)
    return found


def slot_of(item: Item) -> Slot:
    """Who is asked what; the person by their number, because logs keep no names."""
    when = item.target.time
    user = item.post.partition("p")[0]
    return Slot(item.post, item.id, user, item.target.parent, math.floor(when.timestamp()) if when else 0)


def _known(item: Item, slot: Slot, posts: Posts, past: FilePast, seed: int, masked: bool) -> baselines.Known:
    user = posts.by_ref[item.post].user
    thread = past.thread(item.post).before(slot.time, answering=slot.parent)
    return baselines.Known(
        Slot(slot.thread, slot.id, user, slot.parent, slot.time),
        past.place(item.post),
        thread.masked() if masked else thread,
        past.history(user, slot.time),
        past,
        turn_seed(seed, slot, item.task, 0),
    )
