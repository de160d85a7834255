"""What an import leaves in the files of a corpus: no name, address or number of a person, nothing that was replaced or
dropped, and nothing of its own work, whether it came to its end or was stopped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dumps import comment, imported, post

from memory.corpus import Corpus
from memory.forget import forget
from memory.importing import import_corpus

PEOPLE = {"Rosalind_F": "u/Rosalind_F", "Crick99": "@crick99", "watson": "/u/Watson", "max-9-p": "MAX-9-P"}
SECRETS = ("lab.example", "7946 0000", "010-1234", "earlier-copy", "dropped-words", "later-removed")


def rows(*, marked: bool) -> list[dict[str, Any]]:
    """Texts with all that is to go, in threads that are `marked`, or in plain ones: a parent makes the difference."""
    parent = "t1_gone" if marked else None
    said = " ".join((*PEOPLE.values(), "ann.b@lab.example, +44 20 7946 0000 or (555) 010-1234"))
    found = [post("a", author="Rosalind_F", title=f"About {said}", selftext=f"of {said}")]
    found += [comment(f"c{n}", "a", parent, who, n + 1, body=f"no {n}: {said}") for n, who in enumerate(PEOPLE)]
    found += [comment(f"d{n}", "a", parent, "watson", 9, body=f"earlier-copy {n} {said}") for n in range(3)]
    found += [comment(f"d{n}", "a", parent, "watson", 9, body=text) for n, text in enumerate(("new", "", "[removed]"))]
    found += [post("e", title="earlier-copy", selftext="earlier-copy"), post("e", title="new", author="Crick99")]
    found += [{**comment("f", "a", body="dropped-words"), "created_utc": None}, {"id": "g", "body": "dropped-words"}]
    return [*found, {**comment("h", "a", "t1_nowhere", body="dropped-words later-removed"), "link_id": None}]


def found(folder: Path) -> set[str]:
    """Which of all that is to go stands in a file of `folder`, or in its name."""
    held = b"\n".join(str(f).encode() + f.read_bytes() for f in folder.rglob("*") if f.is_file()).lower()
    names = [name for name in PEOPLE if name != "watson"]  # an ordinary word stays where it has no mark
    sought = {*names, "u/watson", *SECRETS}
    return {what for what in sought if what.lower().encode() in held}


def working(folder: Path) -> list[str]:
    """Files of an import's own, anywhere in `folder`."""
    kept = (
        "manifest",
        "names",
        "rows",
        "threads",
        "words",
        "by_",
        "time",
        "vectors",
        "known",
        "all_",
        "dead-",
        ".lock",
        "unsettled",
    )
    return [
        str(f) for f in folder.rglob("*") if f.is_file() and not f.name.startswith(kept) and "chroma" not in f.parts
    ]


@pytest.mark.parametrize(("marked", "embedder"), [(False, "none"), (True, "bag")], ids=["plain", "marked"])
def test_no_file_has_a_name_an_address_a_number_or_a_text_that_was_replaced_or_dropped_nor_is_of_the_work(
    tmp_path: Path, marked: bool, embedder: str
) -> None:
    report = imported(tmp_path, *rows(marked=marked), keep_names=False, embedder=embedder)
    assert {what: n for what, _, n, _ in report.changes if what == "dropped"} and report.kept == 9
    assert found(tmp_path / "corpus") == set() and working(tmp_path / "corpus") == []
    assert {f.name for f in tmp_path.iterdir()} == {"corpus", "corpus.key", "dump.ndjson"}
    text = Corpus.open(tmp_path / "corpus").message("t1_c0").text or ""
    assert text.startswith("no 0: u/u_") and text.endswith("[email], [phone] or [phone]")


def test_what_would_be_found_is_there_where_names_are_kept_and_nothing_is_taken_out(tmp_path: Path) -> None:
    imported(tmp_path, *rows(marked=False))
    assert {"Rosalind_F", "Crick99", "max-9-p", "u/watson"} <= found(tmp_path / "corpus")
    assert found(tmp_path / "corpus").isdisjoint(SECRETS)
    (tmp_path / "other").write_text(" ".join(SECRETS))
    assert {*SECRETS} <= found(tmp_path)


@pytest.mark.parametrize("how", ["another copy", "another text", "a name"])
def test_what_a_later_import_replaces_goes_from_the_files(tmp_path: Path, how: str) -> None:
    body = {"another copy": "earlier-copy", "another text": "earlier-copy", "a name": "as u/Rosalind_F says"}[how]
    many = [comment(f"m{n}", "b", time=n) for n in range(9)]
    imported(tmp_path, comment("x", "b", body=body), *many, keep_names=False, embedder="none")
    assert found(tmp_path / "corpus") == ({"Rosalind_F"} if how == "a name" else {"earlier-copy"})
    newer = {
        "another copy": [comment("x", "b", body="earlier-copy"), comment("x", "b", body="new")],
        "another text": [comment("x", "b", body="[deleted]")],
        "a name": [comment("y", "z", author="rosalind_f")],
    }[how]
    imported(tmp_path, *newer, keep_names=False, embedder="none", floor=0)
    assert found(tmp_path / "corpus") == set()


class Stopped(Exception):
    pass


@pytest.mark.parametrize(("before", "read"), [([], 0), ([], 600), ([post("old")], 3)])
def test_an_import_that_a_source_stops_leaves_nothing_of_what_it_read(
    tmp_path: Path, before: list[dict[str, Any]], read: int
) -> None:
    def broken() -> Iterator[dict[str, Any]]:
        yield from [comment(f"c{n}", "a", body=f"earlier-copy u/Rosalind_F {n}", author="Crick99") for n in range(read)]
        raise Stopped

    how: dict[str, Any] = {"embedder": "none", "keep_names": False}
    path = tmp_path / "corpus"
    if before:
        import_corpus([before], path, **how)
    with pytest.raises(Stopped):
        import_corpus([broken()], path, **how)
    assert working(path) == [] and found(path) == set()
    assert len(list(path.glob("segment-*"))) == len(before)
    assert import_corpus([[post("new")]], path, **how).ok
    assert {*Corpus.open(path).thread_ids()} == {"t3_new", *(f"t3_{row['id']}" for row in before)}


@pytest.mark.parametrize("step", ["write", "encode"])
def test_an_import_that_is_stopped_while_it_writes_leaves_nothing_of_what_it_read(tmp_path: Path, step: str) -> None:
    def stop(what: str, done: int, total: int | None) -> None:
        if what == step:
            raise Stopped

    with pytest.raises(Stopped):
        imported(tmp_path, *rows(marked=True), keep_names=False, progress=stop)
    assert working(tmp_path / "corpus") == [] and found(tmp_path / "corpus") == set()
    assert imported(tmp_path, *rows(marked=True), keep_names=False).kept == 9


def test_a_forgetting_that_is_stopped_leaves_nothing_of_its_work_either(tmp_path: Path) -> None:
    def stop(what: str, done: int, total: int | None) -> None:
        raise Stopped

    imported(tmp_path, post("a"), comment("b", "a"))
    with pytest.raises(Stopped):
        forget(tmp_path / "corpus", "bob", progress=stop)
    assert working(tmp_path / "corpus") == [] and len(list((tmp_path / "corpus").glob("segment-*"))) == 1
    assert forget(tmp_path / "corpus", "bob").messages == 1
