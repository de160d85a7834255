"""Data sets of the `datasets` library that were saved to disk, read from their Arrow files; needs pyarrow, no network.

A loaded set needs no reader: import_corpus takes it, or any iterable of dicts, in place of a path.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memory import table
from memory.arrow import pyarrow
from memory.errors import BadInput
from memory.reading import Row, Source, Tally


def recognises(head: bytes) -> bool:
    """A single Arrow file, as a stream or as a file."""
    return head.startswith((b"\xff\xff\xff\xff", b"ARROW1"))


def claims(folder: Path) -> bool:
    """What save_to_disk makes, of one split or of several."""
    return (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file()


def read(source: Source, tally: Tally) -> Iterator[Row]:
    """The rows of all splits, split by split.

    Raises:
        Missing: pyarrow is not installed. BadInput: a file that is no Arrow data, or columns without words or time.
    """
    digest, done = hashlib.sha256(), 0
    for file in _files(source.path):
        part = Source(file)
        rows = _rows(file)
        first = next(rows, None)
        if first is not None:
            fields = table.columns(first.keys(), str(file))
            yield from table.messages(_all(first, rows), fields, file.name, tally)
        part.hash_file()
        digest.update(part.sha256.encode())
        done += part.size
        source.done = done
    source.sha256 = digest.hexdigest()


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if (path / "dataset_dict.json").is_file():
        splits = json.loads((path / "dataset_dict.json").read_text(encoding="utf-8"))["splits"]
        return [file for split in splits for file in _files(path / split)]
    state = json.loads((path / "state.json").read_text(encoding="utf-8"))
    return [path / part["filename"] for part in state["_data_files"]]


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    arrow = pyarrow()
    try:
        with arrow.memory_map(str(file)) as mapped:
            if mapped.read(6) == b"ARROW1":
                whole = arrow.ipc.open_file(mapped)
                batches = (whole.get_batch(n) for n in range(whole.num_record_batches))
            else:
                mapped.seek(0)
                batches = iter(arrow.ipc.open_stream(mapped))
            for batch in batches:
                yield from batch.to_pylist()
    except arrow.ArrowInvalid as error:
        raise BadInput(f"{file} is no whole Arrow file ({str(error)[:80]}); save the data set again") from None


def _all(first: Mapping[str, Any], rest: Iterator[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    yield first
    yield from rest
