"""Parquet files, with any of the usual column names; needs pyarrow. Read in batches, only the columns that matter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memory import table
from memory.arrow import EXPORT, exact, pyarrow
from memory.errors import BadInput
from memory.reading import Row, Source, Tally

BATCH = 2048  # rows in memory at a time, beside one row group's columns


def recognises(head: bytes) -> bool:
    return head.startswith(b"PAR1")


def read(source: Source, tally: Tally) -> Iterator[Row]:
    """The rows of the file; those that personaconv wrote come back as they were.

    Raises:
        Missing: pyarrow is not installed. BadInput: no such file, or columns without words or time.
    """
    arrow = pyarrow()
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(source.path) as file:
            ours = (file.schema_arrow.metadata or {}).get(EXPORT) is not None
            names = list(file.schema_arrow.names)
            fields = {} if ours else table.columns(names, str(source.path))
            rows = _rows(file, names if ours else sorted(set(fields.values())), source)
            yield from exact(rows, tally) if ours else table.messages(rows, fields, source.name, tally)
    except arrow.ArrowInvalid as error:
        raise BadInput(f"{source.path} is no whole Parquet file ({str(error)[:80]}); get it again") from None
    source.hash_file()


def _rows(file: Any, names: list[str], source: Source) -> Iterator[Mapping[str, Any]]:
    for group in range(file.num_row_groups):
        for batch in file.iter_batches(BATCH, row_groups=[group], columns=names):
            yield from batch.to_pylist()
        source.done = source.size * (group + 1) // file.num_row_groups
