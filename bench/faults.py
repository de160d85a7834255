"""What can go wrong between a client and a model server, over real HTTP: each fault answers a request in its own way.

Which fault a request meets is decided by the request, its number of attempts and a seed: the same in every run.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import random
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

from aiohttp import web

Fault = Callable[[web.Request, bytes], Awaitable[web.StreamResponse]]
MEGABYTE = 2**20


def plain(raw: bytes, kind: str = "application/json", **headers: str) -> web.Response:
    return web.Response(body=raw, content_type=kind, headers=headers)


async def too_many(request: web.Request, whole: bytes) -> web.StreamResponse:
    return web.json_response({"error": {"message": "slow down"}}, status=429)


async def too_many_wait(request: web.Request, whole: bytes) -> web.StreamResponse:
    return web.json_response({"error": {"message": "slow down"}}, status=429, headers={"Retry-After": "0.2"})


async def server_error(request: web.Request, whole: bytes) -> web.StreamResponse:
    return web.Response(text="Internal Server Error", status=500)


async def reset(request: web.Request, whole: bytes) -> web.StreamResponse:
    if request.transport:
        request.transport.abort()
    return web.Response()


async def garbage(request: web.Request, whole: bytes) -> web.StreamResponse:
    """Bytes that are no HTTP."""
    if request.transport:
        request.transport.write(b"\x16\x03\x01 hello\r\n\r\n")
        request.transport.close()
    return web.Response()


async def stall(request: web.Request, whole: bytes) -> web.StreamResponse:
    """Says nothing for 30 s, unless the client goes away."""
    await asyncio.sleep(30)
    return plain(whole)


async def drip(request: web.Request, whole: bytes) -> web.StreamResponse:
    """No read of the client waits long, but the answer never ends."""
    answer = await _begun(request)
    for _ in range(600):
        await answer.write(b" ")
        await asyncio.sleep(0.05)
    return answer


async def half_a_body(request: web.Request, whole: bytes) -> web.StreamResponse:
    answer = await _begun(request, length=len(whole))
    await answer.write(whole[: len(whole) // 2])
    return await reset(request, whole)


async def html(request: web.Request, whole: bytes) -> web.StreamResponse:
    return plain(b"<html><body>Sign in</body></html>", "text/html")


async def html_as_json(request: web.Request, whole: bytes) -> web.StreamResponse:
    return plain(b"<html><body>Sign in</body></html>")


async def wrong_schema(request: web.Request, whole: bytes) -> web.StreamResponse:
    return web.json_response({"choices": [{"text": "fine"}], "usage": {"prompt_tokens": "many"}})


async def no_usage(request: web.Request, whole: bytes) -> web.StreamResponse:
    answer = json.loads(whole)
    del answer["usage"]
    return web.json_response(answer)


async def huge(request: web.Request, whole: bytes) -> web.StreamResponse:
    answer = await _begun(request)
    for _ in range(100):
        await answer.write(b" " * MEGABYTE)
    await answer.write(whole)
    return answer


async def huge_when_unpacked(request: web.Request, whole: bytes) -> web.StreamResponse:
    packed = _spaces() + gzip.compress(whole)  # two members, one after the other, unpack to both
    return web.Response(body=packed, content_type="application/json", headers={"Content-Encoding": "gzip"})


async def redirect(request: web.Request, whole: bytes) -> web.StreamResponse:
    return web.Response(status=307, headers={"Location": "http://127.0.0.1:9/elsewhere"})


async def short_length(request: web.Request, whole: bytes) -> web.StreamResponse:
    """Says that the body ends where it does not."""
    answer = await _begun(request, length=len(whole) - 9)
    await answer.write(whole)
    answer.force_close()
    return answer


async def bad_utf8(request: web.Request, whole: bytes) -> web.StreamResponse:
    return plain(whole.replace(b'"content": "', b'"content": "\xff\xfe\xc3(', 1))


@cache
def _spaces() -> bytes:
    return gzip.compress(b" " * (100 * MEGABYTE), 1)


async def _begun(request: web.Request, length: int | None = None) -> web.StreamResponse:
    answer = web.StreamResponse(headers={"Content-Type": "application/json"})
    answer.content_length = length
    await answer.prepare(request)
    return answer


HARMLESS = ("no_usage",)  # an answer all the same
ALL: dict[str, Fault] = {
    fault.__name__: fault
    for fault in (
        too_many,
        too_many_wait,
        server_error,
        reset,
        garbage,
        stall,
        drip,
        half_a_body,
        html,
        html_as_json,
        wrong_schema,
        no_usage,
        huge,
        huge_when_unpacked,
        redirect,
        short_length,
        bad_utf8,
    )
}


def drawn(rate: float, body: dict[str, Any], attempt: int, seed: int = 0) -> str | None:
    """The name of the fault that the nth attempt of a request meets; None for a whole answer, or at rate 0."""
    dice = random.Random(f"{seed}:{attempt}:{json.dumps(body, sort_keys=True)}")
    return dice.choice(sorted(ALL)) if dice.random() < rate else None
