"""Sheets in every form say the same, and text of a corpus stays text in all of them."""

import json
import math
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from pyarrow import parquet

from evaluation.rendering.data import from_json, schema, to_json
from evaluation.rendering.files import write_tables
from evaluation.rendering.html import SHOWN, table
from evaluation.rendering.latex import latex
from evaluation.rendering.markdown import markdown
from evaluation.rendering.parquet import sheet_to_parquet
from evaluation.rendering.svg import BARS, SERIES, picture
from evaluation.rendering.text import print_sheet, shown
from evaluation.rows import Scored
from evaluation.sheet import Column, Plot, Sheet
from evaluation.stats import Interval

COLUMNS = (Column("name", "Name"), Column("n", "N"), Column("value", "Value", "a share", higher=True))
ABOUT = {"format": 2, "run": "r", "log": "0" * 64, "data_hash": "d", "verdicts": [], "cells": []}


def sheet(*rows, plot=None, where=()) -> Sheet:
    return Sheet("some", "Some thing", "What it is.", COLUMNS, rows, where, plot)


BOTH = sheet(
    ("ann", 1200, Interval(0.5, 0.1, 0.3, 0.7, 10, 5)),
    ("bob", 3, -0.25),
    ("cat", None, math.nan),
    ("dan", 0, Interval(0.5, math.nan, math.nan, math.nan, 1, 1)),
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (math.nan, "n/a"),
        (-0.25, "−0.250"),
        (-0.0001, "0.000"),
        (1234.5, "1,234.500"),
        (-1234, "−1,234"),
        (Interval(0.5, 0.1, 0.3, 0.7, 10, 5), "0.500 [0.300, 0.700]"),
        (Interval(0.5, math.nan, math.nan, math.nan, 1, 1), "0.500"),
        ("a\u202eb", "a<U+202E>b"),
    ],
)
def test_a_value_is_shown_with_its_interval_and_a_real_minus(value, text: str) -> None:
    assert shown(value, Column("x", "X")) == text


def test_markdown_is_a_table_with_numbers_on_the_right() -> None:
    lines = markdown(BOTH).splitlines()
    assert lines[:6] == [
        "### Some thing", "", "What it is.", "", "| Name | N | Value ↑ |", "| --- | ---: | ---: |",
    ]  # fmt: skip
    assert lines[6] == "| ann | 1,200 | 0.500 \\[0.300, 0.700\\] |" and lines[-1] == "- Value: a share"


def test_latex_is_a_table_with_rules_caption_and_label() -> None:
    text = latex(BOTH)
    assert r"\begin{tabular}{lrr}" in text and r"\label{tab:some}" in text and "Value $\\uparrow$" in text
    assert "bob & 3 & $-$0.250 \\\\" in text


ATTACKS = [
    r"\input{/etc/passwd}", r"\write18{id}", "$x$", "a & b \\\\", "50% off", "{}{}", "^^5cinput", "~#_", "[arg]", "*",
    "| a | b |", "<script>alert(1)</script>", "[x](javascript:alert(1))", "![x](http://x.example)", "`code`", "**b**",
    "www.example.com", "line\nbreak", "\u202eoops", "\ud800",
]  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_of_a_cell_is_a_command_or_markup(attack: str) -> None:
    hurt = sheet((attack, 1, 0.5))
    calm = sheet(("calm", 1, 0.5))
    assert len(markdown(hurt).splitlines()) == len(markdown(calm).splitlines())
    row = markdown(hurt).splitlines()[6]
    assert len(re.findall(r"(?<!\\)\|", row)) == 4 and not re.search(r"(?<!\\)[<>`*\[\]!]|https?://|www\.", row)
    assert len(latex(hurt).splitlines()) == len(latex(calm).splitlines())
    cell = latex(hurt).splitlines()[8].split(" & 1 & ")[0]
    plain = re.sub(r"\\(text[a-z]+\{\}|[{}$&#%_])|^\{\}", "", cell)
    assert (not re.search(r"[\\{}$&#%_^~<>|\"]", plain) and not plain.startswith(("[", "*"))) or cell.startswith("{}")


def test_json_comes_back_without_loss_and_fits_the_schema() -> None:
    drawn = sheet(*BOTH.rows, plot=Plot("line", "n", "value", size="n", log=True), where=({"mode": "replay"},) * 4)
    text = to_json([drawn, sheet()], ABOUT)
    Draft202012Validator(schema()).validate(json.loads(text))
    back, about = from_json(text, Path("x"))
    assert repr(back) == repr([drawn, sheet()]) and about == ABOUT
    assert "NaN" not in text and text.isascii()


def test_the_schema_refuses_what_is_no_value() -> None:
    spoilt = json.loads(to_json([BOTH], ABOUT))
    spoilt["sheets"][0]["rows"][0][1] = {"mean": 1}
    assert not Draft202012Validator(schema()).is_valid(spoilt)


def test_parquet_has_a_column_for_each_end_of_an_interval(tmp_path: Path) -> None:
    sheet_to_parquet(BOTH, tmp_path / "x.parquet")
    found = parquet.read_table(tmp_path / "x.parquet").to_pydict()
    assert found["name"] == ["ann", "bob", "cat", "dan"] and found["n"] == [1200, 3, None, 0]
    assert found["value_low"][0] == 0.3 and found["value_low"][1] is None and found["value"][1] == -0.25


def row(**given) -> Scored:
    fixed = {"run": "r", "mode": "replay", "thread": "t", "slot": "s", "repeat": 0, "system": "model", "user": "ann"}
    return Scored(**{**fixed, "place": "p", "parent": "t", "time": 1, "distance": 1, "history": 2, **given})


def test_all_results_are_written_as_files(tmp_path: Path) -> None:
    rows = [
        row(task="impact", kind="number", truth=3.0, value=2.0, metrics={"off": 1.0}, stamps={"off": "own"}),
        row(task="generation", kind="text", truth="\ud800", value=None, failure="empty", recalled=("a", "b")),
    ]
    (tmp_path / "results.json").write_text(to_json([BOTH], ABOUT))
    files = write_tables(rows, [BOTH], tmp_path / "results.json", tmp_path / "out")
    assert {file.name for file in files} == {
        "tables.md", "tables.tex", "results.json", "results.schema.json", "rows.parquet", "some.parquet",
    }  # fmt: skip
    found = parquet.read_table(tmp_path / "out" / "rows.parquet")
    assert found.column("truth_number").to_pylist() == [3.0, None] and found.schema.metadata[b"stamp_off"] == b"own"
    assert found.column("recalled").to_pylist() == [[], ["a", "b"]] and found.column("metric_off")[0].as_py() == 1


def test_the_console_shows_a_sheet(capsys: pytest.CaptureFixture[str]) -> None:
    print_sheet(BOTH)
    said = capsys.readouterr().out
    assert "Some thing" in said and "0.500 [0.300, 0.700]" in said and "Value ↑" in said


def test_a_long_sheet_is_cut_in_the_page_and_packed_whole() -> None:
    people = [f"p{n}" for n in range(SHOWN + 5)]
    long = sheet(*((name, n, 0.5) for n, name in enumerate(people)), where=tuple({"user": name} for name in people))
    made, packed = table(long, str.upper)
    assert (len(made.rows), made.total, len(packed)) == (SHOWN, SHOWN + 5, SHOWN + 5)
    assert packed[3] == ("user=p3", ["p3", "3", "0.500"])
    assert table(BOTH, str.upper)[1] == []


def test_a_line_has_a_point_and_a_whisker_for_each_value_within_the_field() -> None:
    found = picture(sheet(*BOTH.rows, plot=Plot("line", "name", "value")))
    assert found is not None
    [line] = found.lines
    left, top, right, bottom = found.box
    assert len(line.points) == 3 and len(line.whiskers) == 1  # nan is no point, and has no place to be drawn at
    assert all(left <= x <= right and top <= y <= bottom for x, y, _ in line.points)
    assert [label for _, label in found.x_ticks] == ["ann", "bob", "cat", "dan"]
    (x, low, high), (at, middle, _) = line.whiskers[0], line.points[0]
    assert x == at and low > middle > high


def test_a_scatter_on_a_log_scale_has_ticks_at_tens_and_the_line_of_equality() -> None:
    rows = [("a", -5, 2.0), ("a", 300, 120.0), ("a", 0, 0.0)]
    found = picture(sheet(*rows, plot=Plot("scatter", "n", "value", size="value", equality=True, log=True)))
    assert found is not None and found.equality is not None
    assert [label for _, label in found.x_ticks] == ["−1", "0", "1", "10", "100"]
    places = [x for x, _ in found.x_ticks]
    assert places == sorted(places) and found.equality[0] < found.equality[2] and found.equality[1] > found.equality[3]
    small = picture(sheet(("a", 0, 1.0), ("b", 9, 2.0), plot=Plot("scatter", "n", "value", equality=True, log=True)))
    assert small is not None and [label for _, label in small.x_ticks] == ["0", "1", "2", "5"]


def test_more_series_or_bars_than_can_be_told_apart_stay_in_the_table() -> None:
    many = [(f"s{n}", n, 0.5) for n in range(BARS + 3)]
    found = picture(sheet(*many, plot=Plot("bars", "name", "n")))
    assert found is not None and (len(found.bars), found.left_out) == (BARS, 3)
    lines = picture(sheet(*many, plot=Plot("line", "n", "value", "name")))
    assert lines is not None and (len(lines.lines), lines.left_out) == (SERIES, BARS + 3 - SERIES)


def test_a_bar_below_zero_is_told_apart() -> None:
    plot = Plot("bars", "name", "value")
    falling, rising = picture(sheet(("a", 1, -0.5), plot=plot)), picture(sheet(("a", 1, 0.5), plot=plot))
    assert falling is not None and falling.below and rising is not None and not rising.below


def test_nothing_to_draw_is_no_picture() -> None:
    plot = Plot("line", "name", "value")
    assert picture(BOTH) is None and picture(sheet(plot=plot)) is None
    assert picture(sheet(("a", 1, math.nan), plot=plot)) is None
    assert picture(sheet(("a", 1, 0.5), plot=plot)) is None  # a line of one point is left to the table
    assert picture(sheet(("a", 1, 0.5), ("b", 2, 0.5), plot=plot)) is not None
