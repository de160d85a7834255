import json
from pathlib import Path
from typing import Any

import pytest
from dumps import START, comment, imported, post, write

from memory.readers import personaconv, reddit_api
from memory.reading import Row, Source, Tally


def listing(*children: Any) -> dict[str, Any]:
    return {"kind": "Listing", "data": {"after": None, "children": list(children)}}


def thing(kind: str, row: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": kind, "data": {**row, "created_utc": float(row["created_utc"]), "created": 1.0, **more}}


MORE = {"kind": "more", "data": {"count": 4, "id": "m", "name": "t1_m", "parent_id": "t1_b", "children": ["m"]}}
BELOW = listing(thing("t1", comment("c", "a", "t1_b", author=None, body="[deleted]", time=2), replies=""), MORE)
COMMENTS = listing(thing("t1", comment("b", "a"), replies=BELOW), thing("t1", comment("d", "a"), replies=""))
THREAD = [listing(thing("t3", post("a"))), COMMENTS]


def read(file: Path, *documents: Any) -> tuple[list[Row], Tally]:
    tally = Tally()
    write(file, *(json.dumps(d).encode() for d in documents))
    assert reddit_api.recognises(Source(file).head()) and not personaconv.recognises(Source(file).head())
    return list(reddit_api.read(Source(file), tally)), tally


def test_a_thread_as_the_api_answers_it_is_read_in_depth_and_more_nodes_are_no_messages(tmp_path: Path) -> None:
    rows, tally = read(tmp_path / "a", THREAD)
    assert [(r.id, r.parent, r.author, r.text, r.time - START) for r in rows] == [
        ("t3_a", None, "ann", "", 0),
        ("t1_b", "t3_a", "bob", "words of b", 1),
        ("t1_c", "t1_b", None, None, 2),
        ("t1_d", "t3_a", "bob", "words of d", 1),
    ]
    assert tally.read == 5
    assert tally.counts == {("passed over", "a `more` node: replies that the source does not hold"): 1}


@pytest.mark.parametrize("documents", [[THREAD], THREAD, [COMMENTS, THREAD[0]], [json.loads(json.dumps([*THREAD]))]])
def test_one_listing_a_list_of_them_and_several_documents_are_the_same(tmp_path: Path, documents: list[Any]) -> None:
    assert {r.id for r in read(tmp_path / "a", *documents)[0]} == {"t3_a", "t1_b", "t1_c", "t1_d"}


def test_keys_in_any_order_are_recognised(tmp_path: Path) -> None:
    write(tmp_path / "a", json.dumps(THREAD, sort_keys=True, indent=2).encode())
    assert reddit_api.recognises(Source(tmp_path / "a").head())


def test_a_hidden_score_is_no_score(tmp_path: Path) -> None:
    rows, _ = read(tmp_path / "a", listing(thing("t1", comment("b", "a"), score_hidden=True)))
    assert rows[0].score is None


def test_other_kinds_and_broken_things_are_counted(tmp_path: Path) -> None:
    things = (
        {"kind": "t5", "data": {}},
        {"kind": "t1", "data": {"body": ["x"]}},
        {"kind": "t1", "data": {"body": "x"}},
    )
    rows, tally = read(tmp_path / "a", listing(*things, "t1_x"))
    assert rows == [] and tally.read == 3 + 0
    assert tally.counts == {
        ("passed over", "kind t5: not a message"): 1,
        ("dropped", "a field of a type no dump has"): 1,
        ("dropped", "no id"): 1,
    }


@pytest.mark.parametrize(
    "head", [b'{"id": "b", "body": "\\"kind\\": \\"t1\\""}\n', b'[{"title": "x", "comments": []}]', b"[]"]
)
def test_other_formats_are_left_to_others(head: bytes) -> None:
    assert not reddit_api.recognises(head)


def test_it_comes_in_by_its_contents(tmp_path: Path) -> None:
    report = imported(tmp_path, json.dumps(THREAD).encode())
    assert report.ok and report.kept == 4
    assert report.rows()[2] == (
        "passed over",
        "a `more` node: replies that the source does not hold",
        1,
        "dump.ndjson:1",
    )
    assert not imported(tmp_path, json.dumps(THREAD).encode(), strict=True).ok
