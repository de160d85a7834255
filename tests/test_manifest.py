"""What decides a run is in its manifest, and where two runs differ is said so that the difference can be seen."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import simulator
from evaluation.running import asks
from memory.errors import BadInput
from memory.store import MemoryStore
from simulator.handmade import Card
from simulator.interventions import Remove
from simulator.manifest import NAMED, SPEED_ONLY, RunSpec, agree, manifest
from simulator.opening import Opening

OTHER: dict[str, Any] = {
    "mode": "replay", "model": "openai:m", "base_url": "http://127.0.0.1:9/v1", "retriever": "none", "card": False,
    "profile": True, "enough": 9, "personas": {"ann": Card(name="ann", about="rides")}, "threads": ("t3_2",),
    "scheduler": "hazard", "cut": 2, "openings": (Opening(place="bikes"),), "people": ("ann",),
    "interventions": (Remove(do="remove", at=1, message="t1_11"),), "models": {"ann": "openai:m"},
    "scores": "community", "max_turns": 1, "max_rounds": 1, "max_size": 9, "repeats": 2, "seed": 1,
    "keep_prompts": True, "thread_tokens": 99, "memory_tokens": 99, "message_tokens": 99,
}  # fmt: skip


def made(store: MemoryStore, folder: Path, threads: tuple[str, ...] = ("t3_1",), **fields: Any) -> dict[str, Any]:
    spec = RunSpec(threads=("t3_1",)).model_copy(update=fields)
    return manifest(spec, asks(["none"]), store, fields.get("threads", threads), ("fake", {}), folder)


def refused(folder: Path, wanted: dict[str, Any]) -> str:
    with pytest.raises(BadInput, match="use the same settings or another folder") as caught:
        agree(folder, wanted, folder)
    return str(caught.value)


def test_every_setting_decides_or_is_listed_as_one_that_does_not() -> None:
    assert {*OTHER, *SPEED_ONLY, *NAMED} == set(RunSpec.model_fields)


@pytest.mark.parametrize("name", sorted(OTHER))
def test_a_run_does_not_go_on_under_another_setting(store: MemoryStore, tmp_path: Path, name: str) -> None:
    agree(tmp_path, made(store, tmp_path), tmp_path)
    said = refused(tmp_path, made(store, tmp_path, **{name: OTHER[name]}))
    assert re.search(rf"made otherwise: {name}\b.* was .*, now ", said), said


def templates(folder: Path, more: str = "") -> str:
    """A folder with a copy of the packaged templates, `more` at the end of the system prompt."""
    folder.mkdir()
    for file in (Path(simulator.__file__).parent / "templates").glob("*.txt"):
        text = file.read_text(encoding="utf-8")
        (folder / file.name).write_text(text + more if file.stem == "system" else text, encoding="utf-8")
    return str(folder)


def test_templates_are_compared_by_what_they_say_wherever_they_lie(store: MemoryStore, tmp_path: Path) -> None:
    agree(tmp_path, made(store, tmp_path, prompt_templates=templates(tmp_path / "one")), tmp_path)
    agree(tmp_path, made(store, tmp_path, prompt_templates=templates(tmp_path / "two")), tmp_path)
    other = made(store, tmp_path, prompt_templates=templates(tmp_path / "three", "Be brief.\n"))
    assert "prompt_templates was" in refused(tmp_path, other)


def test_long_settings_are_shown_from_where_they_differ(store: MemoryStore, tmp_path: Path) -> None:
    many = [f"t3_{n}" for n in range(200)]
    agree(tmp_path, made(store, tmp_path, threads=tuple(many)), tmp_path)
    said = refused(tmp_path, made(store, tmp_path, threads=(*many[:150], "t3_new", *many[151:])))
    shown = re.search(r"threads was (\.\.\..*), now (\.\.\..*); use", said)
    assert shown and "'t3_150'" in shown[1] and "'t3_new'" in shown[2] and max(map(len, shown.groups())) <= 80, said
    said = refused(tmp_path, made(store, tmp_path, threads=tuple(many[:-1])))
    assert "'t3_199'" in said.partition(", now ")[0]
