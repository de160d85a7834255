"""Two sides on the same items: paired, refused where they differ, and the same numbers as by hand."""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.cli import main
from evaluation.comparing import compare, sentences
from evaluation.rows import Scored, dump
from evaluation.sides import BENCH_ROWS, Side, side, sides
from evaluation.stats import sign_flip
from evaluation.stored import SCORES
from memory.errors import BadInput, Missing
from simulator.runlog import MANIFEST

BLANK = Scored(
    run="r", mode="replay", task="sentiment", kind="label", thread="t", slot="s", repeat=0, system="model", user="u",
    place="", parent="t", time=1, distance=1, history=3,
)  # fmt: skip


def label(n: int, right: bool, user: str = "", truth: str = "positive", read: bool = True) -> Scored:
    wrong = "negative" if truth == "positive" else "positive"
    value = (truth if right else wrong) if read else None
    p = float(value == "positive") if value else float(truth != "positive")
    return replace(
        BLANK, slot=f"s{n}", user=user or f"u{n}", truth=truth, value=value, failure=None if read else "empty",
        metrics={"correct": float(right and read), "brier": (p - (truth == "positive")) ** 2},
        stamps={"correct": "own 2", "brier": "own 2"},
    )  # fmt: skip


def number(n: int, truth: float, said: float, user: str) -> Scored:
    metrics = {"abs_error": abs(truth - said), "slog_error": 0.0}
    return replace(
        BLANK, task="impact", kind="number", slot=f"s{n}", user=user, truth=truth, value=said, metrics=metrics
    )


def pairs(bits: tuple[str, str]) -> list[Side]:
    first, second = ([label(n, bit == "1") for n, bit in enumerate(b)] for b in bits)
    return [side("a", first), side("b", second)]


def test_accuracy_has_mcnemars_exact_p_and_odds_where_nobody_has_two_items() -> None:
    found = compare(pairs(("0" * 10 + "1" * 10, "1" * 8 + "00" + "1" * 8 + "00")))
    line = found.lines[0]
    assert (line.task, line.found.metric.name, line.found.test) == ("sentiment", "accuracy", "McNemar, exact")
    assert line.found.only == (8, 2) and line.found.effect == 4.0 and line.found.measure == "odds ratio"
    assert line.found.p == pytest.approx(0.109375) == line.found.mcnemar
    assert line.found.difference.mean == pytest.approx(0.3) and line.found.difference.n == 20


def test_a_paired_difference_has_the_error_worked_by_hand_and_the_correlation_of_the_pair() -> None:
    [line, *_] = compare(pairs(("1001001100", "1101101110"))).lines
    assert line.found.difference.mean == pytest.approx(0.3)
    assert line.found.difference.se == pytest.approx(0.152753, abs=1e-6)
    assert line.found.p == pytest.approx(0.25)
    assert line.found.correlation == pytest.approx(0.5345, abs=1e-4)
    assert line.found.detectable == pytest.approx(2.801585 * 0.152753, abs=1e-4)


def test_where_a_person_has_several_items_people_are_swapped_and_mcnemars_p_stands_beside() -> None:
    first = [label(n, False, f"u{n // 10}") for n in range(40)]
    second = [label(n, True, f"u{n // 10}") for n in range(40)]
    [line, *_] = compare([side("a", first), side("b", second)]).lines
    assert line.found.p == 2 / 2**4 and line.found.test == "sign-flip of people"
    assert line.found.mcnemar < 1e-9 and line.found.difference.groups == 4


def test_metrics_that_are_no_means_swap_whole_people_and_resample_both_sides_alike() -> None:
    dice = random.Random(3)
    truth = [float(dice.randint(0, 30)) for _ in range(160)]
    good = [number(n, t, t + dice.choice((-1, 0, 1)), f"u{n // 4}") for n, t in enumerate(truth)]
    poor = [number(n, t, t + dice.choice((-9, 0, 9)), f"u{n // 4}") for n, t in enumerate(truth)]
    found = {line.found.metric.name: line for line in compare([side("poor", poor), side("good", good)]).lines}
    assert list(found) == ["mae", "rmse", "spearman"]
    for name in ("rmse", "spearman"):
        gap = found[name].found.difference
        assert found[name].found.test == "swap of people" and found[name].p_holm < 0.01
        assert not gap.low <= 0 <= gap.high and (gap.n, gap.groups) == (160, 40)
        assert gap.mean == pytest.approx(found[name].found.second.mean - found[name].found.first.mean)
    alike = compare([side("a", poor), side("b", poor)])
    assert all(line.found.p == 1.0 for line in alike.lines)
    assert list(sentences(alike)) == ["no difference holds after Holm's correction of 3 tests"]
    assert "good is better than poor at impact: MAE" in next(
        sentences(compare([side("poor", poor), side("good", good)]))
    )


def test_a_swap_of_whole_people_is_the_sign_flip_where_the_metric_is_a_mean() -> None:
    dice = random.Random(1)
    gaps = [dice.gauss(0.4, 1) for _ in range(9)]
    rows = [[number(n, 0.0, said, f"u{n}") for n, said in enumerate(values)] for values in (gaps, [0.0] * 9)]
    lines = {line.found.metric.name: line.found for line in compare([side("a", rows[0]), side("b", rows[1])]).lines}
    assert lines["mae"].p == pytest.approx(sign_flip([abs(g) for g in gaps], [str(n) for n in range(9)]))
    assert lines["rmse"].p == pytest.approx(2 / 2**9)  # one side is never wrong: only all or none is as large


def test_holms_p_counts_every_test_of_the_table_and_failures_of_both_are_told() -> None:
    first = [label(n, n % 3 > 0, truth="positive" if n % 2 else "negative") for n in range(30)]
    worse = [label(n, n % 3 > 1, truth="positive" if n % 2 else "negative", read=n > 2) for n in range(30)]
    found = compare([side("a", first), side("b", worse), side("c", first)])
    assert len(found.lines) == 6 and found.family == 6
    assert all(line.p_holm >= line.found.p for line in found.lines)
    assert [line.failed for line in found.lines] == [(0, 3)] * 3 + [(0, 0)] * 3
    sheet = found.contrasts
    assert f"family of {found.family}" in sheet.about and "Holm of 6" in sheet.columns[7].title
    assert all(len(row) == len(sheet.columns) for row in sheet.rows)


def test_other_items_are_refused_by_name_unless_the_common_ones_will_do() -> None:
    first, second = [label(n, True) for n in range(9)], [label(n, n > 3) for n in range(2, 12)]
    both = [side("a", first), side("b", second)]
    with pytest.raises(BadInput, match=r"a and b answer different items: 7 are shared, 2 and 3 are not, e\.g\. sent"):
        compare(both)
    assert compare(both, common=True).lines[0].found.difference.n == 7
    with pytest.raises(BadInput, match="nothing is shared"):
        compare([side("a", first[:2]), side("b", second[4:])], common=True)


def test_other_truths_and_other_makes_of_a_metric_are_refused() -> None:
    first = [label(n, True) for n in range(4)]
    with pytest.raises(BadInput, match="different truths for sentiment t s0 0"):
        compare([side("a", first), side("b", [replace(first[0], truth="negative"), *first[1:]])])
    with pytest.raises(BadInput, match=r"correct of sentiment was made in two ways in a and b \(own 2; own 3\)"):
        compare([side("a", first), side("b", [replace(r, stamps={"correct": "own 3"}) for r in first])])
    with pytest.raises(BadInput, match="a has two answers to sentiment t s0 0"):
        side("a", [first[0], replace(first[0], mode="rollout")])


def run(folder: Path, rows: list[Scored], seed: int) -> Path:
    folder.mkdir()
    (folder / MANIFEST).write_text(json.dumps({"decides": {"spec": {"seed": seed, "model": "m"}, "data_hash": "d"}}))
    dump(rows, folder / SCORES)
    return folder


def test_runs_are_read_with_what_differs_in_how_they_were_made_listed_first(tmp_path: Path) -> None:
    rows = [label(n, True) for n in range(3)]
    found = sides([run(tmp_path / "a", rows, 1), run(tmp_path / "b", rows, 2)])
    config, contrasts = compare(found).sheets
    assert config.rows == (("spec.seed", "1", "2"),) and contrasts.rows
    (tmp_path / "b" / SCORES).unlink()
    with pytest.raises(Missing, match="has no scores yet; make them with: personaconv"):
        sides([tmp_path / "a", tmp_path / "b"])
    with pytest.raises(Missing, match="is no run folder"):
        sides([tmp_path / "a", tmp_path])
    with pytest.raises(BadInput, match="named twice"):
        sides([tmp_path / "a", tmp_path / "a"])
    with pytest.raises(BadInput, match="one side only"):
        sides([tmp_path / "a"])


def test_every_cell_of_a_benchmark_is_a_side(tmp_path: Path) -> None:
    from dataclasses import asdict

    about = {"protocol": "corrected", "policy": "dense", "model": "m", "seed": 0}
    lines = [
        json.dumps(asdict(label(n, True)) | about | {"setting": setting})
        for setting in ("own/tree", "none/tree")
        for n in range(3)
    ]
    (tmp_path / BENCH_ROWS).write_text("\n".join(lines))
    found = sides([tmp_path])
    assert [s.name for s in found] == ["own/tree dense m seed 0", "none/tree dense m seed 0"]
    assert compare(found).config.rows == (("setting", "own/tree", "none/tree"),)
    (tmp_path / BENCH_ROWS).write_text(lines[0] + "\n{}\n")
    with pytest.raises(BadInput, match=r"rows.ndjson line 2 is no row of a benchmark \('system'\)"):
        sides([tmp_path])


def test_one_person_gives_a_difference_without_an_interval() -> None:
    rows = [[label(n, right, "u") for n in range(3)] for right in (True, False)]
    [line, *_] = compare([side("a", rows[0]), side("b", rows[1])]).lines
    assert line.found.difference.mean == -1.0 and math.isnan(line.found.difference.low) and line.found.p == 1.0


def test_the_command_prints_tables_json_or_markdown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [[label(n, right or n > 9) for n in range(20)] for right in (False, True)]
    both = [str(run(tmp_path / name, own, n)) for n, (name, own) in enumerate(zip("ab", rows, strict=True))]
    assert main(["compare", *both]) == 0
    printed = capsys.readouterr().out
    assert printed.index("spec.seed") < printed.index("p, Holm of 3") and "family of 3 takes" in printed
    assert "b is better than" in printed and "McNemar" in printed
    assert main(["compare", *both, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["family"] == 3 and [sheet["name"] for sheet in found["sheets"]] == ["configuration", "contrasts"]
    assert main(["compare", *both, "--markdown"]) == 0
    assert "| spec.seed | 0 | 1 |" in capsys.readouterr().out.replace("&#46;", ".").replace("\\", "")
    assert main(["compare", *both, "--json", "--markdown"]) == 2
    assert main(["compare", both[0]]) == 2
    assert "one side only" in capsys.readouterr().err
