"""Which of Chroma's rows an import was just changing: while the file is there, they may not be what the corpus says."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

FILE = "unsettled"


def note(corpus: Path, stamp: str, ids: Iterable[str]) -> None:
    """To be called before the rows of these messages are changed, in the collection of one embedder."""
    with (corpus / FILE).open("w", encoding="utf-8") as file:
        for line in (stamp, *ids):
            file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


def stamp(corpus: Path) -> str | None:
    """The embedder whose import was killed; None where none was."""
    lines = _lines(corpus)
    return lines[0] if lines else None


def ids(corpus: Path) -> list[str]:
    return _lines(corpus)[1:]


def clear(corpus: Path) -> None:
    (corpus / FILE).unlink(missing_ok=True)


def _lines(corpus: Path) -> list[str]:
    """A line that a kill has cut is no matter: nothing was changed before all were there."""
    file = corpus / FILE
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n")[:-1]]
