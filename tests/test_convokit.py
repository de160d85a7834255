import json
from pathlib import Path
from typing import Any

import pytest
from dumps import START, write

from memory.batch import Batch
from memory.corpus import Corpus
from memory.importing import import_corpus
from memory.readers import convokit, pushshift
from memory.reading import Row, Source, Tally
from memory.sources import find, reader

META: dict[str, Any] = {"score": 4, "subreddit": "bikes", "retrieved_on": -1, "gilded": -1}
POST: dict[str, Any] = {
    "id": "a", "conversation_id": "a", "text": "why?", "speaker": "ann", "reply-to": None, "timestamp": START,
    "meta": META, "vectors": [],
}  # fmt: skip
REPLY = {**POST, "id": "b", "reply-to": "a", "speaker": "bob", "text": "so", "meta": {"score": -1}}
ABOUT = {"a": {"meta": {"title": "A &amp; question", "subreddit": "cars", "num_comments": 1}, "vectors": []}}


def corpus(folder: Path, *utterances: Any, about: Any = ABOUT) -> Path:
    folder.mkdir(exist_ok=True)
    write(folder / "utterances.jsonl", *utterances)
    write(folder / "conversations.json", json.dumps(about).encode())
    for name in ("speakers", "corpus", "index"):
        write(folder / f"{name}.json", b"{}")
    return folder


def read(folder: Path) -> tuple[list[Row], Tally]:
    [source], tally = find([folder]), Tally()
    found = reader(source)(source, tally)
    return [row for some in found for row in (some.rows() if isinstance(some, Batch) else (some,))], tally


def test_utterances_become_messages_with_titles_from_their_conversations(tmp_path: Path) -> None:
    rows, tally = read(corpus(tmp_path / "c", POST, REPLY))
    assert rows == [
        Row("t3_a", "t3_a", None, "ann", START, "why?", 4, "bikes", "post", "A & question", None, 1),
        Row("t1_b", "t3_a", "t3_a", "bob", START, "so", -1, "cars", "comment", "", None, 2),
    ]
    assert (tally.read, tally.counts) == (2, {})


@pytest.mark.parametrize("key", ["reply-to", "reply_to"])
def test_both_spellings_of_the_reply_and_replies_to_replies_are_understood(tmp_path: Path, key: str) -> None:
    bare = {k: v for k, v in POST.items() if k != "reply-to"}
    rows, _ = read(
        corpus(tmp_path / "c", {**bare, key: None}, {**bare, "id": "b", key: "a"}, {**bare, "id": "c", key: "b"})
    )
    assert [(r.id, r.parent) for r in rows] == [("t3_a", None), ("t1_b", "t3_a"), ("t1_c", "t1_b")]


def test_old_corpora_with_users_roots_and_one_list_are_read(tmp_path: Path) -> None:
    old = {"id": "a", "root": "a", "user": {"id": "ann"}, "text": "why?", "reply_to": None, "timestamp": str(START)}
    (tmp_path / "c").mkdir()
    write(tmp_path / "c" / "utterances.json", json.dumps([old, {**old, "id": "b", "reply_to": "a"}]).encode())
    rows, tally = read(tmp_path / "c")
    assert [(r.id, r.author, r.parent) for r in rows] == [("t3_a", "ann", None), ("t1_b", "ann", "t3_a")]
    assert tally.read == 2


def test_the_utterances_alone_are_recognised_and_find_the_titles_beside_them(tmp_path: Path) -> None:
    file = corpus(tmp_path / "c", POST) / "utterances.jsonl"
    assert convokit.recognises(Source(file).head())
    assert read(file)[0][0].title == "A & question"
    assert not convokit.recognises(b'{"id": "b", "body": "\\"reply-to\\": x", "link_id": "t3_a"}\n')
    assert pushshift.recognises(Source(file).head())  # so it must be asked last


def test_what_cannot_be_used_is_counted_by_line(tmp_path: Path) -> None:
    bad = [{**POST, "timestamp": None}, {**POST, "id": None}, {**POST, "text": 5}, b"[1]", b"{half", b""]
    rows, tally = read(corpus(tmp_path / "c", *bad, POST))
    assert len(rows) == 1 and tally.read == 7 and (tally.total("dropped"), tally.total("passed over")) == (5, 1)
    assert tally.examples["dropped", "no usable time"] == ["utterances.jsonl:1"]
    assert tally.examples["dropped", "not JSON"] == ["utterances.jsonl:5"]


def test_several_openings_of_one_conversation_hang_under_it(tmp_path: Path) -> None:
    rows, _ = read(corpus(tmp_path / "c", POST, {**POST, "id": "x"}))
    assert [(r.id, r.thread, r.parent) for r in rows] == [("t3_a", "t3_a", None), ("t1_x", "t3_a", "t3_a")]


def test_a_folder_comes_in_whole_and_again_without_change(tmp_path: Path) -> None:
    folder = corpus(tmp_path / "in", POST, REPLY, {**REPLY, "id": "c", "text": "[removed]", "speaker": "[deleted]"})
    first = import_corpus([folder], tmp_path / "c", embedder="bag", keep_names=True)
    stated = Corpus.open(tmp_path / "c").manifest["sources"]
    assert first.ok and first.kept == 3 and not first.changes
    assert [s["name"] for s in stated] == ["in"] and len(stated[0]["sha256"]) == 64
    import_corpus([folder], tmp_path / "c", embedder="bag", keep_names=True)
    assert Corpus.open(tmp_path / "c").manifest["sources"] == stated
    assert Corpus.open(tmp_path / "c").people() == {"ann": 1, "bob": 1}
