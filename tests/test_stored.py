"""Stored scores: made from the turns alone, the same bytes whenever and wherever, and read back by the report."""

import json
import shutil
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from evaluation.rendering.data import from_json, schema, to_json
from evaluation.results import encoding, largeness, make, score_run
from evaluation.stored import RESULTS, SCORES
from memory.errors import BadInput
from memory.store import MemoryStore
from tests.report_page import Page, packed
from tests.small_world import turn
from tests.test_branch import THREAD, play


@pytest.fixture(scope="module")
def run(store: MemoryStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "run"
    play(store, folder, **THREAD)
    score_run(folder, store.corpus.path)
    return folder


def test_the_same_store_gives_the_same_bytes_also_in_a_copy_of_the_folder(
    run: Path, store: MemoryStore, tmp_path: Path
) -> None:
    first = [(run / name).read_bytes() for name in (SCORES, RESULTS)]
    score_run(run, store.corpus.path)
    assert [(run / name).read_bytes() for name in (SCORES, RESULTS)] == first
    shutil.copytree(run, tmp_path / "copy")
    for name in (SCORES, RESULTS):
        (tmp_path / "copy" / name).unlink()
    score_run(tmp_path / "copy", store.corpus.path)
    assert [(tmp_path / "copy" / name).read_bytes() for name in (SCORES, RESULTS)] == first


def test_results_are_as_the_published_schema_says_and_come_back_whole(run: Path) -> None:
    text = (run / RESULTS).read_text(encoding="ascii")
    Draft202012Validator(schema()).validate(json.loads(text))
    sheets, about = from_json(text, run / RESULTS)
    assert to_json(sheets, about) == text and len(sheets) > 5
    assert about["run"] and len(about["verdicts"]) == 1


def test_a_report_is_made_of_the_stored_scores(run: Path, store: MemoryStore) -> None:
    text = (run / RESULTS).read_text(encoding="ascii")
    (run / RESULTS).write_text(text.replace('"Cost"', '"These are the stored ones"'))
    try:
        page = make(run, store.corpus.path).report.read_text(encoding="utf-8")
    finally:
        (run / RESULTS).write_text(text)
    assert "These are the stored ones" in page


def test_a_report_that_is_large_for_a_phone_says_so_and_has_everything(run: Path, store: MemoryStore) -> None:
    report = make(run, store.corpus.path).report
    size = report.stat().st_size
    assert largeness(report) == "" == largeness(report, size)
    assert largeness(report, size - 1).startswith(f"{report} has {size / 1e6:.1f} MB, all rows, threads and prompts in")


def test_replies_that_take_a_while_to_encode_are_announced() -> None:
    turns = [turn("reply", f"said {n // 2}") for n in range(1200)]
    assert encoding(turns, "minilm-int8@1") == "600 replies are encoded first, for SBERT and MAUVE, about 5 s"
    assert encoding(turns, "sentence-transformers:x").endswith("SBERT and MAUVE")
    assert encoding(turns, "bag-384@1") == "" == encoding(turns[:900], "minilm-int8@1")


@pytest.mark.parametrize("spoil", ["missing", "damaged", "another log"])
def test_scores_that_are_missing_damaged_or_too_old_are_made_again(
    run: Path, store: MemoryStore, tmp_path: Path, spoil: str
) -> None:
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    whole = (copy / RESULTS).read_bytes()
    if spoil == "missing":
        (copy / SCORES).unlink()
    elif spoil == "damaged":
        (copy / RESULTS).write_bytes(whole[: len(whole) // 2])
    else:
        lines = (copy / "log.ndjson").read_bytes().splitlines(keepends=True)
        (copy / "log.ndjson").write_bytes(b"".join(lines[:-1]))
    make(copy, store.corpus.path)
    assert ((copy / RESULTS).read_bytes() == whole) == (spoil != "another log")
    assert (copy / SCORES).exists() and from_json((copy / RESULTS).read_text(), copy / RESULTS)


def test_what_is_no_results_file_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"x\.json is no results file"):
        from_json('{"sheets": [{}]}', tmp_path / "x.json")


def test_a_report_against_another_run_compares_them_and_shows_both(store: MemoryStore, tmp_path: Path) -> None:
    play(store, tmp_path / "a", **THREAD)
    play(store, tmp_path / "b", **{**THREAD, "retriever": "none"})
    html = make(tmp_path / "a", against=[tmp_path / "b"]).report.read_text(encoding="utf-8")
    ids = [json.loads((tmp_path / name / "run.json").read_text())["run"] for name in "ab"]
    assert f"Run <bdi>a ({ids[0]})</bdi> against <bdi>b ({ids[1]})</bdi>" in html and str(tmp_path) not in html
    text = Page(html).text
    assert "The runs compared" in text and "What differs in how they were made" in text
    assert "Does memory help?" in text and "gain over none" in text
    leads = {given["data-where"] for _, given in Page(html).elements if "data-where" in given}
    whole = "system=model&task=generation"
    assert {whole, f"history=10-100&{whole}", "retriever=none&system=model"} <= leads
    assert all(html.count(f"Rollout of <bdi>{name}</bdi>") == 1 for name in "ab")
    [thread] = packed(html, "threads")
    assert sorted(arm[0] for arm in thread["arms"]) == ["a", "b"]
    sides = [{turn["arm"] for turn in node["turns"]} for node in thread["nodes"] if "turns" in node]
    assert sides and all(side == {0, 1} for side in sides)


def test_a_run_is_not_compared_with_itself(run: Path, store: MemoryStore) -> None:
    with pytest.raises(BadInput, match="is a run that is there already"):
        make(run, store.corpus.path, against=[run])
