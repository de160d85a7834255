"""Answers over HTTP have a longest length: one that is longer is broken off while it is read, and is a failed call.

Knows the HTTP clients that the clients of model providers stand on (httpx2, of others httpx), and nothing of what an
answer says.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

from simulator.llm import ModelError

if TYPE_CHECKING:
    from httpx2 import Response

MOST_BYTES = 16 * 2**20  # a long answer with all log-probabilities has 1 MB
PLAIN = {"Accept-Encoding": "identity"}  # a small answer may unpack to any size
_CLIENTS = ("root_async_client", "async_client", "_async_client")  # where chat models of LangChain keep theirs


async def bound(response: Response) -> None:
    """A response hook. Raises ModelError at once for a packed answer, which may unpack to any size."""
    if response.headers.get("content-encoding", "identity") != "identity":
        raise ModelError("transport", "the answer is packed, which was not asked for")
    Stream = import_module(type(response).__module__.partition(".")[0]).AsyncByteStream
    if isinstance(response.stream, Stream):
        response.stream = type("Bounded", (_Bounded, Stream), {})(response.stream)


def bound_all(model: Any) -> None:
    """Has all answers to a chat model of LangChain bounded, where the client that it keeps takes hooks, as those of
    OpenAI, Azure, Anthropic and Groq do; others are left as they are."""
    for name in _CLIENTS:
        http = getattr(getattr(model, name, None), "_client", None)
        hooks = getattr(http, "event_hooks", None)
        if http is not None and hooks is not None and bound not in hooks["response"]:
            http.event_hooks = {**hooks, "response": [*hooks["response"], bound]}
            http.headers.update(PLAIN)


class _Bounded:
    """A stream that raises ModelError instead of going on beyond MOST_BYTES."""

    def __init__(self, inner: Any) -> None:
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
