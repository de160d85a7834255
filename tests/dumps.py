"""Makes small dumps and corpora for tests: rows as real ones have them, and the embedder that needs no weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from memory.importing import ImportReport, import_corpus
from memory.reading import Row

START = 1_600_000_000


def post(id: str, author: str = "ann", time: int = 0, title: str = "A question", **more: Any) -> dict[str, Any]:
    row = {"id": id, "author": author, "created_utc": START + time, "title": title, "selftext": "", "score": 3}
    return {**row, "subreddit": "bikes", **more}


def comment(
    id: str, thread: str, parent: str | None = None, author: str = "bob", time: int = 1, **more: Any
) -> dict[str, Any]:
    row = {"id": id, "author": author, "created_utc": START + time, "body": f"words of {id}", "score": 1}
    links = {"link_id": f"t3_{thread}", "parent_id": parent or f"t3_{thread}"}
    return {**row, **links, "subreddit": "bikes", **more}


def write(file: Path, *rows: dict[str, Any] | bytes) -> Path:
    """Rows as lines; bytes stand as they are."""
    lines = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
    file.write_bytes(b"".join(line + b"\n" for line in lines))
    return file


def imported(folder: Path, *rows: dict[str, Any] | bytes, **options: Any) -> ImportReport:
    """A corpus in folder/corpus, with the names kept unless told otherwise."""
    options = {"embedder": "bag", "keep_names": True, **options}
    source = write(folder / "dump.ndjson", *rows)
    return import_corpus([source], folder / "corpus", **options)


def plain(row: Row) -> Row:
    """`row` as a Row and nothing more, to be compared."""
    return Row(*(getattr(row, name) for name in Row.__struct_fields__))
