"""Answers over HTTP have a longest length: one that is longer is broken off while it is read, and is a failed call.

Knows httpx2, which the openai client stands on, and nothing of what an answer says.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from httpx2 import AsyncByteStream, Response

from simulator.llm import ModelError

MOST_BYTES = 16 * 2**20  # a long answer with all log-probabilities has 1 MB


async def bound(response: Response) -> None:
    """A response hook. Raises ModelError at once for a packed answer, which may unpack to any size."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ModelError("transport", "the answer is packed, which was not asked for")
    if isinstance(response.stream, AsyncByteStream):
        response.stream = Bounded(response.stream)


class Bounded(AsyncByteStream):
    """A stream that raises ModelError instead of going on beyond MOST_BYTES."""

    def __init__(self, inner: AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._inner:
            size += len(part)
            if size > MOST_BYTES:
                raise ModelError("transport", f"the answer is longer than {MOST_BYTES >> 20} MB")
            yield part

    async def aclose(self) -> None:
        await self._inner.aclose()
