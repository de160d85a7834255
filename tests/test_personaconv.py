import json
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from dumps import START, write

from memory.corpus import Corpus
from memory.importing import import_corpus
from memory.readers import personaconv, pushshift
from memory.reading import Row, Source, Tally

ISO = "2020-09-13T12:26:40Z"
POST: dict[str, Any] = {
    "title": "A question", "author": "ann", "url": "", "score": 5, "num_comments": 2, "content": "why?",
    "timestamp": ISO, "__sub__": "bikes",
    "comments": [
        {"author": "bob", "body": "so", "score": "-2", "timestamp": "2020-09-13 12:26:41", "replies": [
            {"author": "[deleted]", "body": "[removed]", "score": None, "timestamp": START + 5.0, "replies": ""}]},
        {"author": "cy", "body": "no", "score": 1, "timestamp": "2020-09-13T12:26:41.5", "replies": []},
    ],
}  # fmt: skip


def read(file: Path, data: Any) -> tuple[list[Row], Tally]:
    tally = Tally()
    write(file, json.dumps(data).encode())
    assert personaconv.recognises(Source(file).head())
    return list(personaconv.read(Source(file), tally)), tally


def test_a_post_and_its_nested_replies_become_rows(tmp_path: Path) -> None:
    rows, tally = read(tmp_path / "a.json", [POST])
    ids = [r.id for r in rows]
    assert rows == [
        Row(ids[0], ids[0], None, "ann", START, "why?", 5, "bikes", "post", "A question", None, 1),
        Row(ids[1], ids[0], ids[0], "bob", START + 1, "so", -2, "bikes", "comment", "", None, 1),
        Row(ids[2], ids[0], ids[1], None, START + 5, None, None, "bikes", "comment", "", None, 1),
        Row(ids[3], ids[0], ids[0], "cy", START + 1, "no", 1, "bikes", "comment", "", None, 1),
    ]
    assert (tally.read, tally.counts, tally.problems) == (4, {}, [])


def test_list_and_grouped_form_of_the_same_posts_are_the_same_messages(tmp_path: Path) -> None:
    other = {**POST, "title": "Another", "author": "eve", "comments": []}
    raw, _ = read(tmp_path / "raw.json", [POST, other])
    grouped, _ = read(tmp_path / "grouped.json", {"eve": [other], "ann": [POST]})
    assert sorted(raw, key=attrgetter("id")) == sorted(grouped, key=attrgetter("id"))
    assert len({r.id for r in raw}) == 5


def test_the_group_names_the_writer_where_the_post_does_not(tmp_path: Path) -> None:
    bare = {k: v for k, v in POST.items() if k != "author"}
    assert read(tmp_path / "a", {"dan": [bare]})[0][0].author == "dan"
    assert read(tmp_path / "b", {"UNKNOWN_AUTHOR": [bare]})[0][0].author is None
    assert read(tmp_path / "c", {"dan": [{**POST, "author": "[deleted]"}]})[0][0].author is None


def test_an_edited_text_keeps_its_id_and_no_name_is_in_any_id(tmp_path: Path) -> None:
    edited = json.loads(json.dumps(POST).replace('"so"', '"so, edited"').replace('"ann"', '"u_1"'))
    first, second = (read(tmp_path / "a", [p])[0] for p in (POST, edited))
    assert [r.id for r in first] == [r.id for r in second]
    assert [r.text for r in first] != [r.text for r in second]


def test_ids_that_are_there_are_kept(tmp_path: Path) -> None:
    post = {**POST, "id": "p1", "comments": [{**POST["comments"][1], "id": "c1"}]}
    assert [(r.id, r.parent) for r in read(tmp_path / "a", [post])[0]] == [("t3_p1", None), ("t1_c1", "t3_p1")]


def test_two_replies_of_the_same_moment_are_two(tmp_path: Path) -> None:
    rows, _ = read(tmp_path / "a", [{**POST, "comments": [POST["comments"][1]] * 2}])
    assert len({r.id for r in rows}) == 3


def test_what_cannot_be_used_is_counted(tmp_path: Path) -> None:
    bad = [{"author": "x", "body": "no time", "replies": []}, "text", {**POST["comments"][1], "body": ["x"]}]
    rows, tally = read(tmp_path / "a", [{**POST, "comments": bad}])
    assert len(rows) == 1 and tally.read == 4
    assert tally.counts == {
        ("dropped", "no usable time"): 1,
        ("dropped", "a reply that is no object"): 1,
        ("dropped", "a field of a type no dump has"): 1,
    }


def test_a_reply_chain_of_a_hundred_is_read(tmp_path: Path) -> None:
    node: dict[str, Any] = {"author": "a0", "body": "deepest", "score": 1, "timestamp": ISO, "replies": []}
    for n in range(1, 120):
        node = {"author": f"a{n}", "body": "x", "score": 1, "timestamp": ISO, "replies": [node]}
    rows, _ = read(tmp_path / "a", [{**POST, "comments": [node]}])
    assert len(rows) == 121 and rows[-1].parent == rows[-2].id


def test_a_post_nested_deeper_than_json_can_be_read_is_counted_and_the_next_one_comes(tmp_path: Path) -> None:
    deep = b'{"title": "x", "timestamp": 1600000000, "comments": [' + b'{"replies": [' * 30_000 + b"]}" * 30_000 + b"]}"
    tally, file = Tally(), write(tmp_path / "a", b"[" + deep + b",\n" + json.dumps(POST).encode() + b"]")
    assert len(list(personaconv.read(Source(file), tally))) == 4
    assert tally.counts == {("dropped", "not JSON"): 1} and not tally.problems


@pytest.mark.parametrize("head", [b'{"id": "x", "body": "[{"}\n', b'[{"kind": "Listing"}]', b"[1]", b'{"a": 1}'])
def test_other_formats_are_left_to_others(head: bytes) -> None:
    assert not personaconv.recognises(head)


def test_it_comes_in_by_its_contents(tmp_path: Path) -> None:
    file = write(tmp_path / "data.json", json.dumps({"ann": [POST]}, indent=1).encode())
    assert not pushshift.recognises(Source(file).head())
    report = import_corpus([file], tmp_path / "c", embedder="bag", keep_names=True)
    assert report.rows() == [("read", "rows", 4, ""), ("kept", "messages", 4, "")]
    again = import_corpus([file], tmp_path / "c", embedder="bag", keep_names=True)
    assert again.encoded == 0 and again.counts == report.counts
    assert Corpus.open(tmp_path / "c").people() == {"ann": 1, "bob": 1, "cy": 1}
