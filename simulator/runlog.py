"""The run log: one appended JSON line for every finished model call. It is the record; all else can be made from it.

A run folder holds `run.json` (the manifest: what decides the answers, and where they came from), `log.ndjson`,
`checkpoints.sqlite` and whatever evaluation adds; a run in shards has the log of each in a folder of its own. A line is
written whole before its turn counts as done, so a killed run loses at most the calls that were in flight; a half line
at the end is cut off at the next opening.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from memory.errors import BadInput, Missing
from simulator import whole
from simulator.finished import Finished
from simulator.records import Turn
from simulator.shard import places

MANIFEST = "run.json"
LOG = "log.ndjson"
MEASURED = ("seconds", "attempts")  # of an answer: what the clock and the network decide
BLOCK = 65_536  # bytes read at once from the end


def read(run: Path) -> tuple[dict[str, Any], list[Turn]]:
    """Manifest and turns, in the order in which they finished.

    Raises:
        Missing: no run there. BadInput: a line that is not a turn (the last one may be half written: it is left out).
    """
    return manifest(run), turns(run)


def manifest(run: Path) -> dict[str, Any]:
    """What the run was made with. Raises Missing or BadInput."""
    try:
        found: dict[str, Any] = json.loads((run / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise Missing(f"no run in {run}; make one with: personaconv simulate CORPUS -o {run}") from None
    except ValueError as error:
        raise BadInput(f"{run / MANIFEST} is not JSON ({error}); restore it or start a new run folder") from None
    return found


def write_manifest(run: Path, content: dict[str, Any], place: Path) -> None:
    """Writes run.json whole, from a draft in `place`, which nobody else writes in; does nothing where it is there."""
    draft = place / f"{MANIFEST}.new"
    with draft.open("w", encoding="utf-8") as file:
        file.write(json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        file.flush()
        os.fsync(file.fileno())
    with suppress(FileExistsError):
        os.link(draft, run / MANIFEST)  # unlike a rename, it leaves what another shard has just written
    draft.unlink()


def turns(run: Path) -> list[Turn]:
    """All whole lines of the log, in the order in which they finished, shard by shard; [] where there are none yet."""
    return [turn for place in places(run) for _, turn in lines(place / LOG)]


def lines(file: Path) -> Iterator[tuple[int, Turn]]:
    """Each turn of one log, after the byte where its line begins; nothing where there is no such file yet.

    Raises: BadInput for a line that is not a turn (the last one may be half written: it is left out).
    """
    if not file.exists():
        return
    decode = msgspec.json.Decoder(Turn).decode
    at = 0
    with file.open("rb") as log:
        for number, line in enumerate(log, 1):
            try:
                turn = decode(line)
            except msgspec.DecodeError as error:
                if not line.endswith(b"\n"):  # what a kill left of it
                    return
                raise BadInput(
                    f"{file} line {number} is not a turn ({error}); take the line out to have its call made again, "
                    f"e.g. with: sed -i {number}d {file}"
                ) from None
            yield at, turn
            at += len(line)


def comparable(run: Path) -> list[bytes]:
    """The lines of all logs of the run, sorted, each in one byte form with MEASURED set to 0.

    Equal for runs of the same model under the same settings, whatever their concurrency, number of processes and kills.
    """
    return sorted(canonical(_unmeasured(msgspec.to_builtins(turn))) for turn in turns(run))


def _unmeasured(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: 0 if key in MEASURED else _unmeasured(inner) for key, inner in value.items()}
    return [_unmeasured(inner) for inner in value] if isinstance(value, list | tuple) else value


def plain(content: Any) -> Any:
    """`content` as it comes back from JSON: tuples as lists, so that two manifests can be compared."""
    return json.loads(canonical(content))


def canonical(content: Any) -> bytes:
    """One byte form for equal content."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False).encode()


class RunLog:
    """The log open for appending, in `place` (default: the run folder). `done`: the finished calls of the whole run.
    `found` is called for each that was there when it was opened, `seen` for each that is appended."""

    def __init__(
        self,
        run: Path,
        seen: Callable[[Turn], None] = lambda turn: None,
        place: Path | None = None,
        found: Callable[[Turn], None] = lambda turn: None,
    ) -> None:
        self.file = (place or run) / LOG
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.done = Finished()
        for file in (one / LOG for one in places(run)):
            for at, turn in lines(file):
                self.done.add(file, at, turn)
                found(turn)
        self._fd = os.open(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        self._seen = seen
        self._encode = msgspec.json.Encoder().encode
        self._cut_half_line()

    def _cut_half_line(self) -> None:
        end = self._whole()
        try:
            msgspec.json.decode(os.pread(self._fd, os.fstat(self._fd).st_size - end, end), type=Turn)
        except msgspec.DecodeError:
            os.ftruncate(self._fd, end)
        else:  # only the end of the line is missing: what was paid for is kept
            os.write(self._fd, b"\n")

    def _whole(self) -> int:
        """Bytes up to the end of the last whole line."""
        end = os.fstat(self._fd).st_size
        while end:
            start = max(0, end - BLOCK)
            at = os.pread(self._fd, end - start, start).rfind(b"\n")
            if at >= 0:
                return start + at + 1
            end = start
        return 0

    def append(self, turn: Turn) -> None:
        """Writes one whole line, then counts the turn as done. Raises OSError where the disk does not take it."""
        start = whole.add(self._fd, self._encode(turn) + b"\n", "turns", str(self.file))
        self.done.add(self.file, start, turn)
        self._seen(turn)

    def close(self) -> None:
        if self._fd >= 0:
            os.fsync(self._fd)
            os.close(self._fd)
            self._fd = -1
