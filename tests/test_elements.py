import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.elements import decoded, elements
from memory.errors import BadInput
from memory.reading import Source, Tally


def found(file: Path, content: bytes, **options: Any) -> tuple[list[tuple[int, str | None, Any]], Tally]:
    file.write_bytes(content)
    source, tally = Source(file, options.pop("allow_truncated", False)), Tally()
    return [(e.line, e.key, decoded(e, source, tally)) for e in elements(source, tally, **options)], tally


def test_objects_in_arrays_come_one_by_one_with_line_and_the_name_of_what_holds_them(tmp_path: Path) -> None:
    text = b'\xef\xbb\xbf{"ann":\n [{"a": [{"b": 1}]},\n{"c": "x ] } \\" {"}], "b\\"b": [], "bob": [{"d": 2}, 5, "x"]}'
    assert found(tmp_path / "a", text)[0] == [
        (2, "ann", {"a": [{"b": 1}]}),
        (3, "ann", {"c": 'x ] } " {'}),
        (3, "bob", {"d": 2}),
    ]


def test_objects_in_objects_come_with_their_own_name(tmp_path: Path) -> None:
    assert found(tmp_path / "a", b'{"x": {"meta": {"y": 1}}, "z": {}}', inside="{")[0] == [
        (1, "x", {"meta": {"y": 1}}),
        (1, "z", {}),
    ]


def test_several_documents_follow_each_other(tmp_path: Path) -> None:
    assert [e[2] for e in found(tmp_path / "a", b'[{"a": 1}]\n[{"b": 1}]\n[[{"c": 1}]]')[0]] == [
        {"a": 1},
        {"b": 1},
        {"c": 1},
    ]


@pytest.mark.parametrize("cut", [b'[{"a": 1}, {"b": "wor', b'[{"a": 1}, {"b": [1', b'[{"a": 1}, ', b'[{"a": 1}'])
def test_a_document_that_breaks_off_gives_what_was_whole_and_says_so(tmp_path: Path, cut: bytes) -> None:
    got, tally = found(tmp_path / "a", cut)
    assert [e[2] for e in got] == [{"a": 1}]
    assert "ends in the middle of its JSON" in tally.problems[0]
    assert found(tmp_path / "a", cut, allow_truncated=True)[1].problems == []


def test_an_element_that_is_damaged_is_mended_or_counted_and_the_next_one_comes(tmp_path: Path) -> None:
    text = b'[{"a": nonsense},\n{"b": "\xff"},\n{"c": "\\ud83d"}, {"d": 1}]'
    got, tally = found(tmp_path / "a", text)
    assert [e[2] for e in got] == [None, {"b": "\ufffd"}, {"c": "\ufffd"}, {"d": 1}]
    assert tally.examples == {
        ("dropped", "not JSON"): ["a:1"],
        ("repaired", "invalid UTF-8 replaced"): ["a:2"],
        ("repaired", "half of a surrogate pair replaced"): ["a:3"],
    }


def test_what_is_larger_than_a_block_is_put_together(tmp_path: Path) -> None:
    rows = [{"n": n, "text": "é]{\\" * 200_000} for n in range(4)]
    got, tally = found(tmp_path / "a", json.dumps(rows, ensure_ascii=False, indent=1).encode())
    assert [e[2] for e in got] == rows and [e[0] for e in got] == [2, 6, 10, 14]
    assert not tally.problems


def test_an_object_without_an_end_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.write(b'[{"a": ')
        file.truncate((1 << 26) + (1 << 22))
    with pytest.raises(BadInput, match="longer than 64 MB"):
        list(elements(Source(tmp_path / "a"), Tally()))


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=9) | st.sampled_from(['"', "]", "{", "\\"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=9,
)


@given(st.lists(st.dictionaries(st.text(max_size=3), VALUES, max_size=4), max_size=5))
def test_what_was_written_as_a_list_is_read_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]
) -> None:
    got, tally = found(tmp_path_factory.mktemp("any") / "a", json.dumps(rows).encode())
    assert [e[2] for e in got] == rows and not tally.counts and not tally.problems


@given(st.binary(max_size=80))
def test_no_bytes_stop_the_splitter(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    found(tmp_path_factory.mktemp("any") / "a", b'[{"' + content)
