"""YAML files of fields: what they hold, and what is said of those that hold none."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.errors import BadInput, Missing
from memory.yaml_file import fields


def test_fields_are_read_by_type_or_as_they_are_written(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text("name: 007\ntone: no\nlist: [1, yes]\n", encoding="utf-8-sig")
    assert fields(file) == {"name": 7, "tone": False, "list": [1, True]}
    assert fields(file, plain=True) == {"name": "007", "tone": "no", "list": ["1", "yes"]}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"a: [", r"a\.yaml line 2 is not YAML"),
        (b"a: 2020-13-45", r"a\.yaml is not YAML \(month must be in 1\.\.12"),
        (b"a: \xff", r"a\.yaml is not YAML \('utf-8' codec"),
        (b"- a", r"a\.yaml holds no fields"),
        (b"1: a", r"a\.yaml holds no fields"),
        (b"", r"a\.yaml holds no fields"),
    ],
)
def test_a_file_that_holds_none_is_named_in_a_sentence(raw: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(raw + b"\n")
    with pytest.raises(BadInput, match=said) as found:
        fields(file)
    assert "\n" not in str(found.value)


def test_a_file_that_is_not_there_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no file"):
        fields(tmp_path / "nowhere.yaml")
