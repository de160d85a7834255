"""Messages: messages of a corpus by their rows, read when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, overload

from memory.message import Message
from memory.stored import Array


class _Corpus(Protocol):
    def rows(self, rows: list[int]) -> tuple[Message, ...]: ...


class Messages(Sequence[Message]):
    """Messages by their rows, read from the record when they are asked for."""

    def __init__(self, corpus: _Corpus, rows: Array) -> None:
        self._corpus = corpus
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Message]:
        return iter(self[:])

    def pick(self, at: Sequence[int]) -> tuple[Message, ...]:
        """Those at these positions."""
        return self._corpus.rows(self._rows[list(at)].tolist())

    @overload
    def __getitem__(self, at: int) -> Message: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, at: int | slice) -> Message | tuple[Message, ...]:
        if not isinstance(at, slice):
            return self._corpus.rows([int(self._rows[at])])[0]
        return self._corpus.rows(self._rows[at].tolist())
