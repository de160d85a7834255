"""BERTScore is an option: refused in one sentence where it cannot be computed, else a column of its own."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.bertscore import checked, model_stamp, scores
from evaluation.measuring import measured
from evaluation.options import split
from evaluation.scoring import score, table
from memory.embed import MiniLM
from memory.errors import BadInput, Missing
from tests.small_world import small_store, turn


def folder(home: Path, layers: int = 2) -> Path:
    found = home / "tiny"
    found.mkdir(exist_ok=True)
    (found / "config.json").write_text(f'{{"num_hidden_layers": {layers}}}')
    (found / "model.safetensors").write_bytes(b"weights")
    return found


def shared(said: list[str], true: list[str]) -> list[float]:
    """Stands for the package: the share of the true words that were said."""
    return [len({*a.split()} & {*b.split()}) / len({*b.split()}) for a, b in zip(said, true, strict=True)]


def test_without_the_package_the_option_is_refused_with_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="install it with: pip install bert-score"):
        checked(f"{folder(tmp_path)}@2", package="not_installed_here")
    assert checked(f"{folder(tmp_path)}@2", package="json") == (tmp_path / "tiny", 2)


@pytest.mark.parametrize("value", ["roberta-large", "@17", "models/x@last", "models/x@0"])
def test_a_value_without_folder_or_layer_is_refused(value: str) -> None:
    with pytest.raises(BadInput, match="like models/roberta-large@17"):
        split(f"generation:bertscore={value}")


def test_a_model_that_is_not_here_or_has_no_such_layer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="none is downloaded"):
        split(f"generation:bertscore={tmp_path}@2")
    with pytest.raises(BadInput, match="has 2 layers; found layer 3"):
        split(f"generation:bertscore={folder(tmp_path)}@3")
    (tmp_path / "config.json").write_text("[1]")
    with pytest.raises(BadInput, match="is no model's"):
        split(f"generation:bertscore={tmp_path}@2")


def test_every_pair_is_asked_once_and_an_empty_side_is_0() -> None:
    asked: list[str] = []

    def counted(said: list[str], true: list[str]) -> list[float]:
        asked.extend(said)
        return shared(said, true)

    pairs = [("a b", "a"), ("a b", "a"), ("a b", " "), ("", "a")]
    assert scores(pairs, counted) == {("a b", "a"): 0.5, ("a b", " "): 0.0, ("", "a"): 0.0}
    assert asked == ["a"] and scores([("", "")], counted) == {("", ""): 0.0}


def test_the_option_makes_a_column_with_a_stamp_where_failed_answers_are_0(tmp_path: Path) -> None:
    store, model = small_store(), f"{folder(tmp_path)}@2"
    turns = [turn("reply", "says my doctor"), turn("reply", None, "t1_x")]
    rows = asyncio.run(score(turns, store))
    assert "bertscore" not in table(rows)[0].metrics
    opened: list[str] = []

    def bert(name: str):
        opened.append(name)
        return shared

    asked = [replace(row, options={"bertscore": model, "token_match": "minilm"}) for row in rows]
    rows = asyncio.run(measured(asked, store, {"bertscore": bert, "token_match": lambda name: shared}))
    own = [row for row in rows if row.system == "model"]
    values = {row.slot: row.metrics["bertscore"] for row in own}
    [truth] = [str(row.truth) for row in own if row.value]
    assert values == {"t1_x": 0.0, "t1_z": round(shared(["says my doctor"], [truth])[0], 6)} and values["t1_z"] > 0
    cells = table(rows)
    assert opened == [model] and all("bertscore" in cell.metrics for cell in cells)
    assert all(row.metrics["token_match"] == row.metrics["bertscore"] for row in rows)
    assert cells[0].stamps["token_match"].endswith(f", {MiniLM.name}")
    stamp = cells[0].stamps["bertscore"]
    assert stamp.startswith("bert-score ") and stamp.endswith(
        f", not rescaled, all words alike, empty = 0, {model_stamp(model)}"
    )


def test_the_stamp_names_folder_weights_and_layer_wherever_they_lie(tmp_path: Path) -> None:
    first, other, changed = (tmp_path / name for name in "abc")
    for home in (first, other, changed):
        home.mkdir()
    (folder(changed) / "model.safetensors").write_bytes(b"others")
    stamps = [model_stamp(f"{home / 'tiny'}@2") for home in (folder(first).parent, folder(other).parent, changed)]
    assert stamps[0] == stamps[1] != stamps[2] and stamps[0].startswith("tiny@") and stamps[0].endswith(", layer 2")
