"""The run log: one appended JSON line for every finished model call. It is the record; all else can be made from it.

A run folder holds `run.json` (the manifest: what decides the answers, and where they came from), `log.ndjson`,
`checkpoints.sqlite` and whatever evaluation adds; a run in shards has the log of each in a folder of its own. A line is
written whole before its turn counts as done, so a killed run loses at most the calls that were in flight; a half line
at the end is cut off at the next opening.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from memory.errors import BadInput, Missing
from simulator.records import Turn
from simulator.shard import places

MANIFEST = "run.json"
LOG = "log.ndjson"
MEASURED = ("seconds", "attempts")  # of an answer: what the clock and the network decide

Key = tuple[str, str, str, int]


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
    return [turn for place in places(run) for turn in _turns(place / LOG)]


def _turns(file: Path) -> list[Turn]:
    if not file.exists():
        return []
    lines = file.read_bytes().split(b"\n")
    decode = msgspec.json.Decoder(Turn).decode
    found = []
    for number, line in enumerate(lines, 1):
        try:
            found.append(decode(line))
        except msgspec.DecodeError as error:
            if number == len(lines):  # nothing, or what a kill left of a line
                break
            raise BadInput(
                f"{file} line {number} is not a turn ({error}); take the line out to have its call made again, "
                f"e.g. with: sed -i {number}d {file}"
            ) from None
    return found


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
    """The log open for appending, in `place` (default: the run folder). `done` maps the key of each finished call of
    the whole run to its turn."""

    def __init__(self, run: Path, seen: Callable[[Turn], None] = lambda turn: None, place: Path | None = None) -> None:
        self.file = (place or run) / LOG
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self.done: dict[Key, Turn] = {turn.key: turn for turn in turns(run)}
        self._fd = os.open(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        self._seen = seen
        self._encode = msgspec.json.Encoder().encode
        self._cut_half_line()

    def _cut_half_line(self) -> None:
        content = self.file.read_bytes()
        whole = content.rfind(b"\n") + 1
        try:
            msgspec.json.decode(content[whole:], type=Turn)
        except msgspec.DecodeError:
            os.ftruncate(self._fd, whole)
        else:  # only the end of the line is missing: what was paid for is kept
            os.write(self._fd, b"\n")

    def append(self, turn: Turn) -> None:
        """Writes one whole line, then counts the turn as done. Raises OSError where the disk does not take it."""
        line = self._encode(turn) + b"\n"
        start = os.fstat(self._fd).st_size
        try:
            written = os.write(self._fd, line)
            while written < len(line):  # a disk that is full takes a part, then says so
                written += os.write(self._fd, line[written:])
        except OSError as error:
            os.ftruncate(self._fd, start)
            said = f"{error.strerror}; this turn's call will be made again, all earlier turns are kept"
            raise OSError(error.errno, said, str(self.file)) from None
        self.done[turn.key] = turn
        self._seen(turn)

    def close(self) -> None:
        if self._fd >= 0:
            os.fsync(self._fd)
            os.close(self._fd)
            self._fd = -1
