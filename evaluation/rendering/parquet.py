"""Scored rows and sheets as Parquet files; needs pyarrow (the extra `parquet`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from evaluation.rows import Scored
from evaluation.sheet import Sheet
from evaluation.stats import Interval
from memory.arrow import pyarrow

SPLIT = ("truth", "value", "detail", "options", "metrics", "stamps")  # fields that become several columns


def rows_to_parquet(scored: Sequence[Scored], file: Path) -> None:
    """One row per scored row, in the same order. Texts and numbers of truth and value stand apart (`truth_text`,
    `truth_number`), each metric, detail and option in a column of its own; stamps are in the schema's metadata.

    Raises: Missing without pyarrow.
    """
    columns: dict[str, list[Any]] = {
        of.name: [getattr(row, of.name) for row in scored] for of in fields(Scored) if of.name not in SPLIT
    }
    for name in ("truth", "value"):
        found = [getattr(row, name) for row in scored]
        columns[f"{name}_text"] = [v if isinstance(v, str) else None for v in found]
        columns[f"{name}_number"] = [None if v is None or isinstance(v, str) else float(v) for v in found]
    for prefix, field in (("detail", "detail"), ("option", "options"), ("metric", "metrics")):
        for name in sorted({key for row in scored for key in getattr(row, field)}):
            columns[f"{prefix}_{name}"] = _alike([getattr(row, field).get(name) for row in scored])
    stamps = {f"stamp_{name}": stamp for row in scored for name, stamp in sorted(row.stamps.items())}
    _write(columns, file, stamps)


def sheet_to_parquet(sheet: Sheet, file: Path) -> None:
    """One row per row; a column with intervals is followed by its se, low, high, n and groups. Raises: Missing."""
    columns: dict[str, list[Any]] = {}
    for at, column in enumerate(sheet.columns):
        values = [row[at] for row in sheet.rows]
        columns[column.name] = _alike([v.mean if isinstance(v, Interval) else v for v in values])
        if any(isinstance(v, Interval) for v in values):
            for part in ("se", "low", "high", "n", "groups"):
                of = [getattr(v, part) if isinstance(v, Interval) else None for v in values]
                columns[f"{column.name}_{part}"] = of
    _write(columns, file, {"title": sheet.title, "about": sheet.about})


def _alike(values: list[Any]) -> list[Any]:
    """A Parquet column has one type: all text where any is, all floats where any is."""
    present = [v for v in values if v is not None]
    if any(isinstance(v, str) for v in present):
        return [None if v is None else str(v) for v in values]
    some_float = any(isinstance(v, float) for v in present)
    return [float(v) if some_float and isinstance(v, int) else v for v in values]


def _write(columns: dict[str, list[Any]], file: Path, about: dict[str, str]) -> None:
    arrow = pyarrow()
    from pyarrow import parquet

    table = arrow.table({name: [_plain(value) for value in values] for name, values in columns.items()})
    parquet.write_table(table.replace_schema_metadata(about), file, compression="zstd")


def _plain(value: Any) -> Any:
    """Lone surrogates, which UTF-8 has no form for, become question marks."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    return list(value) if isinstance(value, tuple) else value
