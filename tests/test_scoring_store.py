"""Scoring over a real corpus folder: the store keeps what the small stand-in of the other tests promises."""

import asyncio
import json
from pathlib import Path

import pytest
from small_world import NEW, OLD, small_store, turn

from evaluation.scoring import dump, score
from memory.importing import import_corpus
from memory.store import MemoryStore

TURNS = [
    turn(ask, text, id)
    for ask, text in (("reply", "hm"), ("impact", "?"), ("sentiment", "positive"))
    for id in ("t1_x", "t1_z")
]
DRAWN = ("baseline:other_random", "baseline:own_nearest")  # by the store's own draw and vectors


def line(m) -> str:
    shared = {"id": m.id[3:], "author": m.author, "created_utc": m.time, "score": m.score, "subreddit": m.place}
    if m.kind == "post":
        return json.dumps({**shared, "title": m.title, "selftext": m.text})
    return json.dumps({**shared, "body": m.text, "link_id": m.thread, "parent_id": m.parent})


@pytest.fixture
def store(tmp_path: Path):
    sources = []
    for name, kind in (("RS_small.ndjson", "post"), ("RC_small.ndjson", "comment")):
        sources.append(tmp_path / name)
        sources[-1].write_text("".join(line(m) + "\n" for t in (OLD, NEW) for m in t.messages if m.kind == kind))
    import_corpus(sources, tmp_path / "corpus", embedder="bag", keep_names=True)
    opened = MemoryStore.open(tmp_path / "corpus")
    yield opened
    opened.close()


def test_rows_over_a_real_corpus_agree_with_the_stand_in_and_repeat(store: MemoryStore, tmp_path: Path) -> None:
    real, small = asyncio.run(score(TURNS, store)), asyncio.run(score(TURNS, small_store()))
    assert [r.key for r in real] == [r.key for r in small]
    for ours, theirs in zip(real, small, strict=True):
        if ours.system not in DRAWN:
            assert (ours.value, ours.truth, ours.fallback, ours.fill) == (
                theirs.value,
                theirs.truth,
                theirs.fallback,
                theirs.fill,
            )
    assert all(store.embedder in r.stamps["sbert"] for r in real if r.kind == "text")
    again = MemoryStore.open(tmp_path / "corpus")
    dump(real, tmp_path / "one")
    dump(asyncio.run(score(TURNS, again)), tmp_path / "two")
    again.close()
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
