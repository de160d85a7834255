"""What an import is pointed at: files, folders, data sets, rows in memory; and which reader reads each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from memory import policy, readers, table
from memory.batch import Batch
from memory.errors import BadInput, Missing
from memory.reading import Row, Source, Tally

SUFFIXES = (".ndjson", ".jsonl", ".json", ".zst", ".parquet", ".arrow")
LOCAL = "hf:"
Given = Path | str | Iterable[Mapping[str, Any]]
Read = Callable[[Source, Tally], Iterator[Row | Batch]]


def find(given: Sequence[Given], allow_truncated: bool = False) -> list[Source]:
    """The sources that `given` stands for, in its order, those of a folder by name. "hf:PATH" is a data set on disk.

    Raises:
        Missing: nothing there, or a folder without anything to read.
    """
    found: list[Source] = []
    for number, item in enumerate(given, 1):
        if isinstance(item, (Path, str)):
            found += [Source(path, allow_truncated) for path in _paths(Path(item))]
        else:
            found.append(table.Rows(Path(f"rows-{number}"), rows=item))
    return found


def _paths(path: Path) -> list[Path]:
    if str(path).startswith(LOCAL):
        local = Path(str(path).removeprefix(LOCAL)).expanduser()
        if not local.exists():
            raise Missing(
                f"there is no data set at {local}, and none is downloaded at run time; save it first, with "
                f"load_dataset(...).save_to_disk(FOLDER), and import hf:FOLDER"
            )
        path = local
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise Missing(f"there is no file or folder {path}; check the path")
    if any(reader.claims(path) for reader in _readers() if hasattr(reader, "claims")):
        return [path]
    inside = _readable(path.iterdir()) or _readable(path.rglob("*"))
    if not inside:
        raise Missing(f"{path} has no dump in it; files that end in {', '.join(SUFFIXES)} are looked for")
    return inside


def _readable(paths: Iterable[Path]) -> list[Path]:
    return sorted(p for p in paths if p.is_file() and p.suffix in SUFFIXES)


def reader(source: Source) -> Read:
    """The reader whose format the first bytes of `source` are in.

    Raises:
        BadInput: nobody's.
    """
    if isinstance(source, table.Rows):
        return table.read  # type: ignore[return-value]
    known = _readers()
    if source.path.is_dir():
        return _read(next(r for r in known if hasattr(r, "claims") and r.claims(source.path)))
    head = source.head()
    blank = not head.strip(b"\0 \t\r\n")
    for module in known:
        if module.recognises(head) or (blank and module is known[-1]):
            return _read(module)
    names = ", ".join(m.__name__.rpartition(".")[2] for m in known)
    raise BadInput(f"{source.path} is in no format that is known here (it begins with {head[:20]!r}); known: {names}")


def _read(module: ModuleType) -> Read:
    read: Read = getattr(module, "batches", module.read)
    return read


def _readers() -> list[ModuleType]:
    """By name; pushshift, which takes any object a line, last."""
    found = [import_module(f"memory.readers.{name}") for name in policy.names(readers)]
    return sorted(found, key=lambda module: module.__name__.endswith(".pushshift"))
