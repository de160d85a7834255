"""import_corpus: from dumps to a corpus folder that can be killed at any moment and run again.

Nobody sees half an import: it writes a new segment of the folder and switches at the end. What is expensive, the
vectors, is kept in Chroma as it is made, so a second run goes on where the first was stopped. It costs what it touches,
however much is there already: see docs/decisions/0012.

Sources are streamed: an import without vectors takes about 130 MB, however long they are (see bench/RESULTS.md), and
for a dump the window it was packed with (up to 2 GB); what is sorted is in files, in the folder itself. With vectors,
Chroma's index of them is in memory while they are written: 3 to 5 kB a message.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from memory import carried, lock, pseudonym, unsettled
from memory.batch import Batch
from memory.embed import Embedder, open_embedder
from memory.encoding import encode
from memory.errors import BadInput, Missing
from memory.forget import key_file, settle
from memory.joining import FLOOR, joined, overlay
from memory.known import Known
from memory.reading import ALLOWED, CUT, Row, Source, Tally
from memory.record import STAGING, Record
from memory.segment import opened
from memory.sources import Given, find, reader
from memory.state import MANIFEST, new_folder, publish, read_manifest, sweep, swept
from memory.statements import one
from memory.store import Index
from memory.wiping import wiped
from memory.writing import Written, write

Progress = Callable[[str, int, int | None], None]


@dataclass(frozen=True)
class ImportReport:
    """What an import did. `ok` is False where something is missing from the result that was in the sources."""

    path: Path
    counts: dict[str, int]
    read: int
    kept: int
    changes: list[tuple[str, str, int, str]] = field(default_factory=list)  # repaired and dropped
    problems: list[str] = field(default_factory=list)
    encoded: int = 0  # texts encoded now; the others were known
    seconds: dict[str, float] = field(default_factory=dict)  # by step
    truncated: bool = False  # files that break off were allowed

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def lost(self) -> list[tuple[str, int, str]]:
        """(reason, count, examples) of the rows that were dropped, but for those that `allow_truncated` gives up."""
        dropped = [(reason, n, where) for what, reason, n, where in self.changes if what == "dropped"]
        return [d for d in dropped if not (self.truncated and (d[0] == ALLOWED or d[0].startswith(CUT)))]

    def rows(self) -> list[tuple[str, str, int, str]]:
        """(read | kept | repaired | dropped | passed over, reason, count, "file:line, ..." or ids), for a table."""
        return [("read", "rows", self.read, ""), ("kept", "messages", self.kept, ""), *self.changes]


def import_corpus(  # noqa: PLR0913
    sources: Sequence[Given],
    out: Path,
    *,
    embedder: str = "minilm",
    keep_names: bool = False,
    allow_truncated: bool = False,
    strict: bool = False,
    progress: Progress | None = None,
    floor: int = FLOOR,
) -> ImportReport:
    """Adds `sources` to the corpus `out`, which is made if need be. See the report's `ok`. A source is a file, a folder
    of files, a ConvoKit corpus, a data set saved to disk, or any iterable of dicts (a `datasets.Dataset` is one).

    Names become pseudonyms with a key that is kept beside the folder, in `out`.key, unless `keep_names`. `strict`:
    anything repaired or dropped is a problem, and so is nothing at all. A comment that names no thread is dropped where
    its parent comes in a later import: give both together. `floor`: segments of so many messages are
    written again with what is added; larger ones only when much is.

    Raises:
        Missing: a source that is not there, or a model. BadInput: a format nobody reads. Busy: somebody else imports.
    """
    found = find(sources, allow_truncated)
    model = open_embedder(embedder)
    with lock.held(out, "personaconv import"), swept(out):
        return _Import(out, model, embedder, _calm(progress), strict).run(found, keep_names, floor)


class _Import:
    def __init__(self, out: Path, model: Embedder, embedder: str, progress: Progress, strict: bool) -> None:
        self.out, self.model, self.embedder, self.progress, self.strict = out, model, embedder, progress, strict
        self.tally = Tally()
        self.seconds: dict[str, float] = {}
        self.encoded = 0
        self.floor = FLOOR
        self.truncated = False
        self._since = time.perf_counter()

    def run(self, sources: list[Source], keep_names: bool, floor: int) -> ImportReport:
        self.floor, self.truncated = floor, any(source.allow_truncated for source in sources)
        old = read_manifest(self.out) if (self.out / MANIFEST).is_file() else {}
        if not sources and not old:
            raise BadInput("nothing to import: no source was named; name files or folders of dumps")
        if old and old["keep_names"] != keep_names:
            how = "with the real names" if old["keep_names"] else "with pseudonyms"
            raise BadInput(f"{self.out} was imported {how}; import the same way, or into a new folder")
        if old and old["embedder"]["dim"] and not self.model.dim:
            has = old["embedder"]["name"]
            raise BadInput(f"{self.out} has vectors of {has!r}; import with --embedder {has}, or into a new folder")
        settle(self.out)
        names = old.get("segments", [])
        sweep(self.out, names)
        forgotten = old.get("forgotten", 0)
        secret = self._key(bool(old)) if forgotten or not keep_names else None
        segments, again, folder = opened(self.out, names), unsettled.ids(self.out), new_folder(self.out, names)
        with closing(Record(folder / STAGING, None if keep_names else secret, secret, segments)) as record:
            stated = {(s["name"], s["sha256"]): s for s in [*old.get("sources", []), *self._read(sources, record)]}
            self._step("read")
            kept = record.mend(self.tally, again)
            record.rename()
            changed = record.settle(again)
            self._step("repair")
            written = list[Path]()
            if changed or record.plain or not segments or not self._same_model(old):
                given = carried.load({s.path.parent for s in sources}, self.model.name)
                written, names, contents = self._write(folder, record, old, given, again)
            else:
                contents = {name: old[name] for name in ("data_hash", "counts")}
            report = self._report(contents["counts"], kept)
            manifest = {
                "segments": names,
                "embedder": {"name": self.embedder, "stamp": self.model.name, "dim": self.model.dim},
                "keep_names": keep_names,
                "sources": list(stated.values()),
                **contents,
                "report": report.rows(),
                "problems": report.problems,
            }
            manifest = record.forgotten.cleaned_all(manifest)
        (folder / STAGING).unlink()
        publish(self.out, {**manifest, "forgotten": forgotten} if forgotten else manifest, written)
        unsettled.clear(self.out)
        self._step("write")
        return report

    def _write(
        self, folder: Path, record: Record, old: dict[str, Any], given: list[Known], again: list[str]
    ) -> tuple[list[Path], list[str], dict[str, Any]]:
        """(folders written, names of all segments, contents) of the new state."""
        segments, same = record.attached, self._same_model(old)
        gone = record.gone()
        new = record.plain + one(record.sql, "select count(*) from messages")
        record.move(joined(segments, gone, new, self.floor) if same else segments)
        told = partial(self.progress, "write")
        written = write(folder, record, old, told, hashed=bool(self.model.dim))
        written.fresh[:] |= not same
        folders = overlay(self.out, record, gone, folder)
        given = [*given, *(s.known for s in segments if same)]
        self._step("write")
        self.encoded = self._encode(record, written, given, again, same)
        self._step("encode")
        new_folders = [f for f in folders if f not in {s.folder for s in segments}]
        return new_folders, [f.name for f in folders], written.contents

    def _encode(self, record: Record, written: Written, given: list[Known], again: list[str], same: bool) -> int:
        def told(done: int, total: int) -> None:
            self.progress("encode", done, total)

        resumed = unsettled.stamp(self.out) == self.model.name
        away = written.away(record, again)
        if not (self.model.dim and (written.fresh.any() or away)):
            return encode(written, self.model, given, None, told)
        unsettled.note(self.out, self.model.name, [*written.ids(), *away])
        with wiped(), closing(Index(self.out, self.model.name, new=not same and not resumed)) as index:
            index.remove(away)
            return encode(written, self.model, given, index, told, resumed=resumed)

    def _same_model(self, old: dict[str, Any]) -> bool:
        """Whether the corpus' vectors are this model's too."""
        return bool(old) and old["embedder"]["stamp"] == self.model.name

    def _key(self, needed: bool) -> bytes:
        file = key_file(self.out)
        if needed and not file.exists():
            raise Missing(f"{file} is gone, so new names would not fit the old ones; put it back, or use a new folder")
        return pseudonym.key(file)

    def _step(self, name: str) -> None:
        now = time.perf_counter()
        self.seconds[name], self._since = self.seconds.get(name, 0.0) + now - self._since, now

    def _read(self, sources: list[Source], record: Record) -> list[dict[str, Any]]:
        size, done = sum(source.size for source in sources), 0
        stated = []
        for source in sources:
            rows = self._watched(reader(source)(source, self.tally), source, done, size)
            record.add(rows, source.name)
            done += source.done
            stated.append({"name": source.name, "sha256": source.sha256, "bytes": source.done})
        self.progress("rows", self.tally.read, self.tally.read)
        self.progress("read", size, size)
        return stated

    def _watched(self, rows: Iterator[Row | Batch], source: Source, done: int, size: int) -> Iterator[Row | Batch]:
        """`rows` as they are; tells how many there were ("rows") and how far in the sources' bytes that is ("read").
        The end of the bytes is not the end of the rows, which is for _read to tell."""
        for at, row in enumerate(rows):
            if (at % 1024 == 0 or isinstance(row, Batch)) and (not size or done + source.done < size):
                self.progress("rows", self.tally.read, None)
                self.progress("read", done + source.done, size or None)
            yield row

    def _report(self, counts: dict[str, int], kept: int) -> ImportReport:
        tally = self.tally
        changes: list[tuple[str, str, int, str]] = [
            (what, reason, count, ", ".join(tally.examples[what, reason]))
            for (what, reason), count in sorted(tally.counts.items(), key=lambda c: (c[0][0], -c[1], c[0][1]))
        ]
        problems = list(tally.problems)
        if not counts["messages"]:
            why = ", ".join(reason for _, reason, _, _ in changes) or "the sources are empty"
            problems.append(f"no message was found: {tally.read} lines read ({why}); this corpus can simulate nobody")
        if self.strict and changes:
            total = sum(count for _, _, count, _ in changes)
            problems.append(f"strict: {total} rows were repaired or dropped")
        done = self.encoded, self.seconds, self.truncated
        return ImportReport(self.out, counts, tally.read, kept, changes, problems, *done)


def _calm(progress: Progress | None) -> Progress:
    """`progress` at most four times a second for each thing done, and at its end."""
    last: dict[str, float] = {}

    def calm(what: str, done: int, total: int | None) -> None:
        now = time.monotonic()
        if progress is not None and (done == total or now - last.get(what, 0) > 0.25):
            last[what] = now
            progress(what, done, total)

    return calm
