"""ends.ndjson: why each thread of a run ended, one line a thread and repeat."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec

from memory.errors import BadInput
from simulator import whole
from simulator.shard import places

FILE = "ends.ndjson"


@dataclass(frozen=True, slots=True)
class End:
    """`unmet`: interventions that found nothing to change. `left_out`: real messages that nobody could be asked to
    write. `lines`: of the run log that it rests on, 0 where that was not noted."""

    thread: str
    repeat: int
    stop: str
    rounds: int
    turns: int
    failed: int
    unmet: int = 0
    left_out: int = 0
    lines: int = 0


def note(place: Path, end: End) -> None:
    """Appends one whole line. Raises OSError where the disk does not take it."""
    whole.note(place / FILE, msgspec.json.encode(end) + b"\n", "turns")


def read(run: Path) -> dict[tuple[str, int], End]:
    """By thread and repeat, the one noted last; nothing of threads that have not ended.

    Raises: BadInput for a line that is none.
    """
    found: dict[tuple[str, int], End] = {}
    for file in (place / FILE for place in places(run)):
        for line in whole.lines(file):
            try:
                end = msgspec.json.decode(line, type=End)
            except msgspec.DecodeError as error:
                raise BadInput(f"{file} has a line that is no end of a thread ({error}); take it out") from None
            found[end.thread, end.repeat] = end
    return found
