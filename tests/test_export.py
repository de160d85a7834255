import json
from pathlib import Path
from typing import Any

import pytest
from dumps import START, comment, imported, post
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluation.cli import main
from memory.corpus import Corpus
from memory.errors import BadInput, Missing, UnknownName
from memory.export import export
from memory.importing import ImportReport, import_corpus

ROWS = (
    post("a", title="  &amp;lt; twice ", selftext="a &amp;amp; b", retrieved_on=START + 99),
    comment("b", "a", body="line\u2028sep\r\n \U0001f600 &amp;gt;", author="Bob"),
    comment("c", "a", "t1_b", author="bob", body="[removed]", score=None, time=2),
    comment("d", "a", "t1_b", author="[deleted]", body="still here", time=2),
    comment("e", "gone", "t1_lost", author="helper-bot", time=5, subreddit=""),
    comment("f", "a", "t1_d", author="ann", body="", score=-1, time=0),
)
FORMATS = ("convokit", "parquet")


def back(folder: Path, source: Path) -> ImportReport:
    return import_corpus([source], folder / "back", embedder="bag", keep_names=True)


def same(folder: Path, to: str) -> None:
    export(folder / "corpus", folder / "out", to)
    report = back(folder, folder / "out")
    assert report.ok and not report.changes
    old, new = Corpus.open(folder / "corpus"), Corpus.open(folder / "back")
    assert [old.thread(id) for id in old.thread_ids()] == [new.thread(id) for id in new.thread_ids()]
    assert new.data_hash == old.data_hash
    assert new.people() == old.people()
    assert new.manifest["counts"] == old.manifest["counts"]


@pytest.mark.parametrize("keep_names", [True, False])
@pytest.mark.parametrize("to", FORMATS)
def test_what_is_exported_comes_back_the_same(tmp_path: Path, to: str, keep_names: bool) -> None:
    imported(tmp_path, *ROWS, keep_names=keep_names)
    same(tmp_path, to)


TEXT = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(["&amp;lt;", "[Deleted]", "a@b.cd", "> x"])
POSTS = st.builds(dict, title=TEXT, selftext=TEXT, author=st.sampled_from(["ann", "Ann", "x_bot", "[deleted]", "é"]))


@pytest.mark.parametrize("to", FORMATS)
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(posts=st.lists(POSTS, min_size=1, max_size=5))
def test_any_text_comes_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, to: str, posts: list[dict[str, Any]]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    imported(folder, *(post(f"p{n}", **given) for n, given in enumerate(posts)))
    same(folder, to)


def test_a_newer_copy_still_replaces_an_older_one_after_the_way_out_and_back(tmp_path: Path) -> None:
    imported(tmp_path, *ROWS)
    for to in FORMATS:
        export(tmp_path / "corpus", tmp_path / to, to)
        back(tmp_path, tmp_path / to)
    older = imported(tmp_path, post("a", title="older", retrieved_on=START + 5))
    assert ("repaired", "an older copy of what the corpus has", 1, "dump.ndjson:1") in older.rows()


def test_the_folder_has_what_convokit_reads(tmp_path: Path) -> None:
    imported(tmp_path, *ROWS)
    export(tmp_path / "corpus", tmp_path / "out", "convokit")
    read = {f.name: f.read_text(encoding="utf-8") for f in (tmp_path / "out").iterdir()}
    assert set(read) == {"utterances.jsonl", "conversations.json", "speakers.json", "corpus.json", "index.json"}
    first = next(json.loads(line) for line in read["utterances.jsonl"].split("\n")[:-1])
    assert first["id"] == "t3_a" and first["conversation_id"] == "t3_a" and first["reply-to"] is None
    assert first["meta"] == {"score": 3, "subreddit": "bikes", "retrieved_on": START + 99}
    for line in read["utterances.jsonl"].split("\n")[:-1]:
        assert isinstance(json.loads(line)["text"], str) and json.loads(line)["speaker"]
    assert json.loads(read["conversations.json"])["t3_a"]["meta"]["title"] == "&lt; twice"
    assert json.loads(read["speakers.json"])["helper-bot"] == {"meta": {"bot": True}, "vectors": []}


def test_what_is_there_is_not_overwritten_and_nothing_half_is_left(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no imported corpus"):
        export(tmp_path / "corpus", tmp_path / "out", "parquet")
    imported(tmp_path, *ROWS)
    with pytest.raises(UnknownName, match="choose from convokit, parquet"):
        export(tmp_path / "corpus", tmp_path / "out", "csv")
    (tmp_path / "out").mkdir()
    with pytest.raises(BadInput, match="is there already"):
        export(tmp_path / "corpus", tmp_path / "out", "convokit")
    assert sorted(f.name for f in tmp_path.iterdir()) == ["corpus", "dump.ndjson", "out"]


def test_the_command_exports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imported(tmp_path, *ROWS)
    out = tmp_path / "new" / "corpus.parquet"
    assert main(["export", str(tmp_path / "corpus"), "--to", "parquet", "-o", str(out)]) == 0
    assert "7 messages" in capsys.readouterr().out and out.is_file()
    assert main(["export", str(tmp_path / "corpus"), "--to", "parquet", "-o", str(out)]) == 2
