"""What all that reads or writes Arrow shares: pyarrow itself, if it is there, and rows as personaconv wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from memory.errors import Missing
from memory.reading import Row, Tally

EXPORT = b"personaconv"  # in the schema's metadata: the version of our own columns


def pyarrow() -> Any:
    """
    Raises:
        Missing: it is not installed.
    """
    try:
        import pyarrow
    except ImportError:
        raise Missing(
            "Parquet and Arrow files need pyarrow, which is not installed; install it with: pip install pyarrow"
        ) from None
    return pyarrow


def exact(rows: Iterable[Mapping[str, Any]], tally: Tally) -> Iterator[Row]:
    """Rows of our own export: nothing is guessed, unescaped or repaired."""
    for number, given in enumerate(rows, 1):
        tally.read += 1
        yield Row(line=number, **given)
