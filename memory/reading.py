"""What all readers share: Row, the Tally of what was repaired or dropped, and lines of plain or zstd files.

Lines are split as bytes on "\\n" alone, so no character is cut at the edge of a chunk and U+2028 stays in its text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec

from memory.errors import BadInput

ZSTD = b"\x28\xb5\x2f\xfd"
WINDOW = 2**31  # real dumps say so; a decoder that is not told refuses them
CHUNK = 1 << 16  # compressed bytes a step: bounds what one step can unpack to
PLAIN = 1 << 20  # bytes a step of a file that is not
PART = 300  # lines decoded together, about: a processor's cache holds what becomes of them
_SAMPLED = 1 << 15  # bytes of a block in which lines are counted
LONGEST = 1 << 26  # bytes of a line; dump rows are below 1 MB
EXAMPLES = 5
CUT = "cut off in the middle"  # (last line), (last object): what a truncated file ends with
ALLOWED = "what stood after the cut of an archive, as allowed"

What = Literal["repaired", "dropped", "passed over"]  # the last: not a message, so nothing is lost


class Row(msgspec.Struct, gc=False):
    """One message as its source states it. `thread` and `parent` may name what is not there; `line`: where it stood.

    `author` is still the real name. `retrieved`: UTC seconds when the source saw it, None where it does not say.
    `bot`: the source says so; names that say so are found later.
    """

    id: str
    thread: str | None
    parent: str | None
    author: str | None
    time: int
    text: str | None
    score: int | None
    place: str
    kind: str = "comment"
    title: str = ""
    retrieved: int | None = None
    line: int = 0
    bot: bool = False


@dataclass
class Tally:
    """Counts by (what, reason), with the first few places of each as "file:line"."""

    read: int = 0
    counts: dict[tuple[What, str], int] = field(default_factory=dict)
    examples: dict[tuple[What, str], list[str]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)  # what makes the whole import incomplete

    def note(self, what: What, reason: str, where: str, count: int = 1) -> None:
        key = (what, reason)
        self.counts[key] = self.counts.get(key, 0) + count
        shown = self.examples.setdefault(key, [])
        if len(shown) < EXAMPLES:
            shown.append(where)

    def total(self, what: What) -> int:
        return sum(n for (kind, _), n in self.counts.items() if kind == what)


@dataclass
class Source:
    """A file being read: `lines()` numbers from 1, `sha256` is known after the last, `done` grows in file bytes."""

    path: Path
    allow_truncated: bool = False
    done: int = 0
    sha256: str = ""

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def size(self) -> int:
        """Bytes on disk, of all files where it is a folder."""
        return sum(file.stat().st_size for file in (self.path, *self.path.rglob("*")) if file.is_file())

    def hash_file(self) -> None:
        """Sets `sha256` and `done` for who reads the file in another way than by lines or blocks."""
        with self.path.open("rb") as file:
            self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        self.done = self.size

    def head(self) -> bytes:
        """The first unpacked bytes, for telling formats apart."""
        return next(self.blocks(Tally()), b"")

    def lines(self, tally: Tally) -> Iterator[tuple[int, bytes, bool]]:
        """(number, line, whole): a last line without its end is not whole. A cut archive is noted in `tally.problems`.

        Raises:
            BadInput: a line longer than 64 MB: not one object a line.
        """
        number = 1
        for part in self.parts(tally):
            for line in BytesIO(part):
                whole = line[-1:] == b"\n"
                yield number, line[:-1] if whole else line, whole
                number += 1

    def parts(self, tally: Tally) -> Iterator[bytes]:
        """Whole lines with their ends, about PART of them together; the last of all may have no end.

        Raises:
            BadInput: as lines().
        """
        rest: list[bytes] = []
        for block in self.blocks(tally):
            start, sample = 0, block[:_SAMPLED]
            pieces = max(1, round(sample.count(b"\n") / PART * len(block) / (len(sample) or 1)))
            for stop in (len(block) * n // pieces for n in range(1, pieces + 1)):
                if end := 1 + block.rfind(b"\n", start, stop):
                    yield b"".join((*rest, block[start:end]))
                    start, rest = end, []
            rest.append(block[start:])
            if sum(map(len, rest)) > LONGEST:
                raise BadInput(
                    f"{self.path}: the line that begins before byte {self.done} is longer than 64 MB; "
                    "one JSON object a line is needed"
                )
        if last := b"".join(rest):
            yield last

    def blocks(self, tally: Tally) -> Iterator[bytes]:
        """Unpacked bytes, in blocks. Sets `sha256` of the file's own bytes at the end."""
        digest = hashlib.sha256()
        self.done = 0
        with self.path.open("rb") as file:
            packed = file.read(4) == ZSTD
            file.seek(0)
            raw = self._raw(file, digest, CHUNK if packed else PLAIN)
            yield from self._unpacked(raw, tally) if packed else raw
        self.sha256 = digest.hexdigest()

    def _raw(self, file: BinaryIO, digest: hashlib._Hash, step: int) -> Iterator[bytes]:
        while block := file.read(step):
            digest.update(block)
            self.done += len(block)
            yield block

    def _unpacked(self, raw: Iterator[bytes], tally: Tally) -> Iterator[bytes]:
        """Frame after frame (merged dumps have several). What was whole before a cut or a damaged place is kept."""
        import zstandard

        unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW)
        frame, open_ = unpacker.decompressobj(), False
        try:
            for block in raw:
                while block:
                    open_ = True
                    unpacked = frame.decompress(block)
                    block = b""
                    if frame.eof:
                        block, open_ = frame.unused_data, False
                        frame = unpacker.decompressobj()
                    if unpacked:
                        yield unpacked
        except zstandard.ZstdError as error:
            for _ in raw:  # the hash is of the whole file
                pass
            tally.problems.append(f"{self.path} is damaged ({error}); what was before that place is kept")
            return
        if open_ and self.allow_truncated:
            tally.note("dropped", ALLOWED, self.name)
        elif open_:
            tally.problems.append(
                f"{self.path} ends in the middle of its archive: the rows before the cut are kept; "
                "get it whole, or accept it with allow_truncated"
            )
