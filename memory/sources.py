"""What an import is pointed at: files and folders of them; and which reader reads each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from memory import policy, readers
from memory.errors import BadInput, Missing
from memory.reading import Row, Source, Tally

SUFFIXES = (".ndjson", ".jsonl", ".json", ".zst")
Given = Path | Iterable[Mapping[str, Any]]
Read = Callable[[Source, Tally], Iterator[Row]]


def find(given: Sequence[Path], allow_truncated: bool = False) -> list[Source]:
    """The sources that `given` stands for, in its order, those of a folder by name.

    Raises:
        Missing: nothing there, or a folder without anything to read.
    """
    found: list[Source] = []
    for path in given:
        if path.is_dir():
            found += [Source(p, allow_truncated) for p in _inside(path)]
        elif path.is_file():
            found.append(Source(path, allow_truncated))
        else:
            raise Missing(f"there is no file or folder {path}; check the path")
    return found


def _inside(folder: Path) -> list[Path]:
    inside = sorted(f for f in folder.iterdir() if f.is_file() and f.suffix in SUFFIXES)
    if not inside:
        raise Missing(f"{folder} has no dump in it; files that end in {', '.join(SUFFIXES)} are looked for")
    return inside


def reader(source: Source) -> Read:
    """The reader whose format the first bytes of `source` are in.

    Raises:
        BadInput: nobody's.
    """
    head = source.head()
    known = _readers()
    blank = not head.strip(b"\0 \t\r\n")
    for module in known:
        if module.recognises(head) or (blank and module is known[-1]):
            read: Read = module.read
            return read
    names = ", ".join(m.__name__.rpartition(".")[2] for m in known)
    raise BadInput(f"{source.path} is in no format that is known here (it begins with {head[:20]!r}); known: {names}")


def _readers() -> list[ModuleType]:
    """By name; pushshift, which takes any object a line, last."""
    found = [import_module(f"memory.readers.{name}") for name in policy.names(readers)]
    return sorted(found, key=lambda module: module.__name__.endswith(".pushshift"))
