"""Results of a run as files for papers and programs: tables in Markdown, LaTeX, JSON, Parquet; rows in Parquet."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from evaluation.rendering.data import SCHEMA
from evaluation.rendering.latex import latex
from evaluation.rendering.markdown import markdown
from evaluation.rendering.parquet import rows_to_parquet, sheet_to_parquet
from evaluation.rows import Scored
from evaluation.sheet import Sheet
from memory.arrow import pyarrow


def write_tables(rows: Sequence[Scored], sheets: Sequence[Sheet], results: Path, folder: Path) -> list[Path]:
    """Writes into `folder`, which is made, and replaces what is there under the same names. `results`: the results
    file, which is copied with its schema. Returns the files.

    Raises: Missing without pyarrow, before anything is written.
    """
    pyarrow()
    folder.mkdir(parents=True, exist_ok=True)
    named = {"tables.md": "\n".join(map(markdown, sheets)), "tables.tex": "\n".join(map(latex, sheets))}
    for name, text in named.items():
        (folder / name).write_text(text, encoding="utf-8", errors="replace")
    shutil.copyfile(results, folder / results.name)
    shutil.copyfile(SCHEMA, folder / "results.schema.json")
    rows_to_parquet(rows, folder / "rows.parquet")
    parquet = [folder / f"{re.sub('[^A-Za-z0-9_-]+', '_', sheet.name)}.parquet" for sheet in sheets if sheet.rows]
    for sheet, file in zip([sheet for sheet in sheets if sheet.rows], parquet, strict=True):
        sheet_to_parquet(sheet, file)
    return [folder / name for name in (*named, results.name, "results.schema.json", "rows.parquet")] + parquet
