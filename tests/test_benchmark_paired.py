"""Cells of the benchmark side by side: on the items they share, and none whose memory knew too much."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest

from evaluation.benchmark.command import bench
from evaluation.cli import guarded
from evaluation.comparing import compare
from evaluation.costs import written
from evaluation.sides import sides
from memory.errors import BadInput
from simulator.testing import Scripted
from tests.dumps import imported
from tests.test_benchmark_corrected import dump
from tests.test_benchmark_run import reference, say, spec


def test_cells_of_the_reference_are_compared_on_the_items_they_share(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dice = Random(0)
    unsure = Scripted(lambda request: dice.choice([say(request), "who knows?"]))
    whole = {"items": 0, "repeats": 1, "tasks": ("sentiment", "impact")}
    bench(reference(**whole), tmp_path / "a", lambda name: Scripted(say))
    printed = capsys.readouterr().out
    [gain] = re.findall(r"impact +mae +p-conv .*", printed)
    assert len(re.findall(r"-?\d\.\d{3} \[", gain)) >= 3
    assert "No controls: the reference shows what is later" in printed
    bench(reference(**whole, settings=("p-conv",)), tmp_path / "b", lambda name: unsure)
    conv, nonconv, other, second = sides([tmp_path / "a", tmp_path / "b"])
    assert len({frozenset(side.rows) for side in (conv, nonconv, other, second)}) == 1 and len(conv.rows) == 32
    lines = {line.found.metric.name: line for line in compare([conv, second]).lines}
    both = [(conv.rows[item], row) for item, row in second.rows.items() if row.task == "sentiment"]
    failed = sum(row.failure is not None for _, row in both)
    assert lines["accuracy"].failed == (0, failed) and 0 < failed < 16
    lost = sum(a.value == a.truth and b.value is None for a, b in both)
    assert lines["accuracy"].found.only == (0, lost)


def test_settings_of_the_reference_without_a_common_item_are_refused_with_the_reason(tmp_path: Path) -> None:
    bench(reference(settings=("p-conv", "np-conv"), tasks=("sentiment",)), tmp_path, lambda name: Scripted(say))
    with pytest.raises(BadInput, match=r"nothing is shared, as each setting .* run all of them \(items: 0\)"):
        compare(sides([tmp_path]), common=True)


@pytest.mark.parametrize(("cheat", "why"), [
    ("Latest", r"canary: tests.leaky:Latest recalled t\d_\w+ of second \d+ for the answer t1_\w+ of second"),
    ("Renamed", r"canary: a message planted later stands in a prompt of tests.leaky:Renamed \(tree, .*\), for"),
])  # fmt: skip
def test_a_benchmark_of_a_memory_that_cheats_ends_with_a_sentence_and_status_2(
    cheat: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(tmp_path, *dump())
    asked = spec(tmp_path / "corpus", settings=("none/tree", "own/tree"), policies=(f"tests.leaky:{cheat}",))

    def run() -> None:
        bench(asked, tmp_path / "out", lambda name: Scripted(say))

    assert guarded(run) == 2
    assert re.match(f"personaconv: {why}", capsys.readouterr().err)


def test_what_a_memory_asks_is_told_of_each_cell_paid_once_and_kept_for_the_next_sitting(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported(tmp_path, *dump())
    policies = ("dense", "profile_summary")
    asked = spec(tmp_path / "corpus", settings=("none/tree", "own/tree", "own/parent"), policies=policies)
    first, second = Scripted(say), Scripted(say)
    bench(asked, tmp_path / "out", lambda name: first)
    alone = [r for r in first.requests if len(r.messages) == 1]
    assert len(alone) == len({r.messages for r in alone}) > 0
    calls = {cell.name.partition("_fake")[0]: n for cell in (tmp_path / "out" / "cells").iterdir()
             for n, _ in written([cell]).values()}  # fmt: skip
    assert calls["own-tree_profile-summary"] == calls["own-parent_profile-summary"] == len(alone)
    assert calls["own-tree_dense"] == calls["none-tree"] == 0
    table = capsys.readouterr().out.partition("What each memory costs")[2]
    line, plain = (re.search(rf"tree, .*  {name} .*", table) for name in policies[::-1])
    assert line and re.search(rf" {len(alone)} +[\d,]+$", line.group().rstrip())
    assert plain and re.search(r" 0 +0 +\d+\.\d\d$", plain.group().rstrip())
    bench(asked, tmp_path / "out", lambda name: second)
    assert second.requests == []
