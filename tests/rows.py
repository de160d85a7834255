"""Rows put straight into a corpus, as an import does after reading: no file of a source, no vectors, nothing published.

Readers hold back some of the rows that a record has to withstand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory.batch import Batch
from memory.corpus import Corpus
from memory.embed import Without
from memory.encoding import encode
from memory.export import _records
from memory.joining import overlay
from memory.reading import Row, Tally
from memory.record import STAGING, Record
from memory.segment import opened
from memory.shares import MOST
from memory.state import new_folder
from memory.writing import write

KEY = b"k" * 32
COPIES = "the same id twice: the newest is kept", "an older copy of what the corpus has"


@dataclass(frozen=True)
class Made:
    """A corpus after one import: its `manifest`, what was noted, the messages kept, and those in plain threads."""

    path: Path
    manifest: dict[str, Any]
    noted: dict[tuple[str, str], int]
    kept: int
    plain: int

    def told(self) -> dict[str, Any]:
        """All that the way of a row into the corpus could change."""
        with closing(Corpus(self.path, self.manifest)) as corpus:
            every = "select {} from {}.{}"
            few = {
                part: sorted(
                    row for s in corpus.segments for row in corpus.sql.execute(every.format(what, s.schema, part))
                )
                for part, what in (("said", "id, coalesce(thread, ''), coalesce(parent, ''), time"), ("mentions", "*"))
            }
            return {
                "messages": list(_records(corpus)),
                "threads": {id: [m.id for m in corpus.thread(id).messages] for id in corpus.thread_ids()},
                "people": corpus.people(),
                "contents": {name: self.manifest[name] for name in ("data_hash", "counts")},
                "noted": {key: count for key, count in self.noted.items() if key[1] not in COPIES},
                "kept": self.kept,
                **few,
            }


def put(
    folder: Path, rows: Iterable[Row | Batch], after: Made | None = None, key: bytes | None = KEY, most: int = MOST
) -> Made:
    """Imports `rows` into the corpus `folder`, `after` what is there; no segment is written again. `most`: rows that
    are sorted together."""
    old: dict[str, Any] = {} if after is None else after.manifest
    names: Sequence[str] = old.get("segments", [])
    folder.mkdir(exist_ok=True)
    segment, segments, tally = new_folder(folder, names), opened(folder, names), Tally()
    with closing(Record(segment / STAGING, key, KEY, segments)) as record:
        record.add(rows, "dump")
        kept = record.mend(tally)
        record.rename()
        record.settle()
        gone, plain = record.gone(), record.plain
        written = write(segment, record, old, lambda done, of: None, hashed=False, most=most)
        folders = overlay(folder, record, gone, segment)
        encode(written, Without(), [], None, lambda done, of: None)
    (segment / STAGING).unlink()
    counts: Any = tally.counts
    return Made(folder, {"segments": [f.name for f in folders], **written.contents}, counts, kept, plain)
