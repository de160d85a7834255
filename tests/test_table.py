import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from dumps import START
from msgspec.structs import replace
from pyarrow import parquet

from memory import table
from memory.corpus import Corpus
from memory.errors import BadInput, Missing
from memory.importing import import_corpus
from memory.reading import Row, Tally
from memory.sources import find, reader

POST: dict[str, Any] = {"id": "a", "author": "ann", "created_utc": START, "title": "A question", "selftext": "why?"}
POST |= {"score": 3, "subreddit": "bikes"}
COMMENT: dict[str, Any] = {"id": "b", "author": "bob", "created_utc": START + 1, "body": "so", "score": -2}
COMMENT |= {"subreddit": "bikes", "link_id": "t3_a", "parent_id": "t3_a"}
ROWS = [
    Row("t3_a", "t3_a", None, "ann", START, "why?", 3, "bikes", "post", "A question", None, 1),
    Row("t1_b", "t3_a", "t3_a", "bob", START + 1, "so", -2, "bikes", "comment", "", None, 2),
]


def read(*given: Any) -> tuple[list[Row], Tally]:
    [source], tally = find(list(given)), Tally()
    return list(reader(source)(source, tally)), tally


def rows_of(*rows: dict[str, Any]) -> list[Row]:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return read([{name: row.get(name) for name in names} for row in rows])[0]


def saved(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """As the `datasets` library saves a split: an Arrow stream and a state."""
    folder.mkdir(parents=True)
    made = pa.Table.from_pylist(rows)
    with pa.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as out, pa.ipc.new_stream(out, made.schema) as to:
        to.write_table(made)
    (folder / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))
    (folder / "dataset_info.json").write_text("{}")
    return folder


def test_a_mixed_table_is_read_row_by_row() -> None:
    assert rows_of(POST, COMMENT) == ROWS


def test_columns_of_text_throughout_are_understood_as_what_they_say() -> None:
    assert rows_of({k: str(v) for k, v in POST.items()}, {k: str(v) for k, v in COMMENT.items()}) == ROWS
    hidden = {**{k: str(v) for k, v in COMMENT.items()}, "score_hidden": "True"}
    assert rows_of(hidden)[0].score is None


@pytest.mark.parametrize(
    "names",
    [
        {"author": "user", "body": "text", "created_utc": "timestamp", "parent_id": "reply_to", "link_id": "thread_id"},
        {"author": "Speaker", "body": "BODY", "created_utc": "created_at", "subreddit": "community", "score": "ups"},
        {"id": "comment_id", "link_id": "post_id", "body": "comment", "subreddit": "__sub__"},
    ],
)
def test_common_other_names_of_columns_are_known(names: dict[str, str]) -> None:
    [row], _ = read([{names.get(k, k): v for k, v in COMMENT.items()}])
    assert row == replace(ROWS[1], line=1)


@pytest.mark.parametrize(
    "when",
    [
        datetime(2020, 9, 13, 12, 26, 40),  # noqa: DTZ001
        datetime(2020, 9, 13, 12, 26, 40, tzinfo=UTC),
        Decimal(START),
        START * 1000,
        START + 0.5,
    ],
)
def test_times_of_every_column_type_are_understood(when: Any) -> None:
    assert rows_of({**POST, "created_utc": when})[0].time == START


def test_missing_numbers_are_nan_and_turn_ids_to_floats() -> None:
    [row] = rows_of({**COMMENT, "parent_id": 43.0, "link_id": 46.0, "score": float("nan")})
    assert (row.parent, row.thread, row.score) == ("t1_17", "t3_1a", None)


@pytest.mark.parametrize(
    ("row", "kind", "parent"),
    [
        ({"id": "a", "text": "x", "parent_id": None}, "post", None),
        ({"id": "a", "text": "x", "parent_id": None, "thread_id": "a"}, "post", None),
        ({"id": "b", "text": "x", "parent_id": "a", "thread_id": "a"}, "comment", "t3_a"),
        ({"id": "b", "text": "x", "parent_id": "c", "thread_id": "a"}, "comment", "t1_c"),
        ({"id": "b", "text": "x", "parent_id": None, "thread_id": "a"}, "comment", "t3_a"),
        ({"id": "b", "text": "x", "thread_id": "a", "title": "the post's title"}, "comment", "t3_a"),
        ({"id": "b", "text": "x", "parent_id": "a", "kind": "Submission"}, "post", None),
    ],
)
def test_posts_and_comments_are_told_apart_by_where_they_hang(
    row: dict[str, Any], kind: str, parent: str | None
) -> None:
    [made] = rows_of({**row, "time": START})
    assert (made.kind, made.parent) == (kind, parent)


def test_a_table_without_parents_is_flat_and_says_so() -> None:
    flat = {k: v for k, v in COMMENT.items() if k != "parent_id"}
    [row], tally = read([flat])
    assert row.parent == "t3_a"
    assert tally.counts == {("repaired", table.NO_PARENTS): 1}


@pytest.mark.parametrize(("gone", "lacking"), [("body", "words"), ("created_utc", "a time")])
def test_a_table_without_words_or_times_is_refused_with_its_columns(gone: str, lacking: str) -> None:
    with pytest.raises(BadInput, match=rf"rows-1 has no column for {lacking} .*its columns are author"):
        read([{k: v for k, v in COMMENT.items() if k != gone}])


def test_a_row_of_wrong_types_is_counted() -> None:
    rows, tally = read([{**COMMENT, "body": ["x"]}, {**COMMENT, "created_utc": None}, COMMENT])
    assert len(rows) == 1 and tally.read == 3 and tally.total("dropped") == 2


def test_parquet_is_read_in_batches(tmp_path: Path) -> None:
    many = [{**COMMENT, "id": f"c{n}", "created_utc": datetime.fromtimestamp(START + n, UTC)} for n in range(5000)]
    parquet.write_table(pa.Table.from_pylist(many), tmp_path / "d.parquet", row_group_size=1500)
    rows, tally = read(tmp_path / "d.parquet")
    assert [(r.id, r.time, r.line) for r in rows] == [(f"t1_c{n}", START + n, n + 1) for n in range(5000)]
    assert tally.read == 5000 and not tally.counts


def test_a_broken_parquet_or_arrow_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "d.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(BadInput, match=r"d\.parquet is no whole Parquet file"):
        read(tmp_path / "d.parquet")
    (tmp_path / "d.arrow").write_bytes(b"\xff\xff\xff\xff and no more")
    with pytest.raises(BadInput, match=r"d\.arrow is no whole Arrow file"):
        read(tmp_path / "d.arrow")


def test_a_data_set_saved_to_disk_is_read_split_by_split(tmp_path: Path) -> None:
    text = [{k: str(v) for k, v in COMMENT.items()}]
    saved(tmp_path / "set" / "bikes", text)
    saved(tmp_path / "set" / "cars", [{**text[0], "id": "c", "subreddit": "cars"}])
    (tmp_path / "set" / "dataset_dict.json").write_text('{"splits": ["bikes", "cars"]}')
    for given in (tmp_path / "set", f"hf:{tmp_path / 'set'}"):
        assert [(r.id, r.place) for r in read(given)[0]] == [("t1_b", "bikes"), ("t1_c", "cars")]
    assert [r.id for r in read(tmp_path / "set" / "cars")[0]] == ["t1_c"]
    with pytest.raises(Missing, match=r"none is downloaded at run time; save it first, with load_dataset"):
        find(["hf:some/name"])


def test_a_data_set_of_parquet_files_below_folders_is_found(tmp_path: Path) -> None:
    (tmp_path / "set" / "data").mkdir(parents=True)
    parquet.write_table(pa.Table.from_pylist([COMMENT]), tmp_path / "set" / "data" / "train.parquet")
    assert [s.name for s in find([f"hf:{tmp_path / 'set'}"])] == ["train.parquet"]


def test_rows_that_are_streamed_come_in_like_a_file(tmp_path: Path) -> None:
    def stream() -> Iterator[dict[str, Any]]:
        yield {**COMMENT, "title": None, "selftext": None}
        yield {**POST, "body": None, "link_id": None, "parent_id": None}

    hashes = []
    for _ in range(2):
        report = import_corpus([stream()], tmp_path / "c", embedder="bag", keep_names=True)
        assert report.ok and report.kept == 2 and not report.changes
        corpus = Corpus.open(tmp_path / "c")
        hashes.append(corpus.data_hash)
        assert len(corpus.manifest["sources"]) == 1
    assert hashes[0] == hashes[1]


def test_without_pyarrow_the_answer_is_how_to_get_it(tmp_path: Path) -> None:
    (tmp_path / "d.parquet").write_bytes(b"PAR1")
    code = f"""
import sys
sys.modules["pyarrow"] = None
from pathlib import Path
from memory.reading import Tally
from memory.sources import find, reader
[source] = find([Path({str(tmp_path / "d.parquet")!r})])
list(reader(source)(source, Tally()))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "Missing: Parquet and Arrow files need pyarrow" in done.stderr and "pip install pyarrow" in done.stderr
