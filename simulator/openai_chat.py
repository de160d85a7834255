"""OpenAI-compatible endpoints, hosted, self-hosted or embedded, straight over aiohttp.

One request, one answer that is checked against what we read of it: the openai client's own layers cost three times as
much CPU as the call itself. The only file that knows the protocol.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec

from memory.errors import Missing, clip
from simulator import embedded
from simulator.llm import Completion, Failure, ModelError, Request, first_line

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

HOSTED = "https://api.openai.com/v1"
MOST_BYTES = 16 * 2**20  # of an answer: a long one with all log-probabilities has 1 MB
MOST_LOGPROBS = 20  # what hosted endpoints allow
FATAL = {
    401: "the key is not accepted",
    402: "there is no credit left",
    403: "the key may not use this",
    404: "no such model or address",
}
PASSING = (408, 409, 425)  # of the 4xx: the request was good, the moment was not


class Top(msgspec.Struct):
    token: str
    logprob: float


class Token(msgspec.Struct):
    top_logprobs: list[Top] = []


class Logprobs(msgspec.Struct):
    content: list[Token] | None = None


class Said(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class Choice(msgspec.Struct):
    message: Said
    finish_reason: str | None = None
    logprobs: Logprobs | None = None


class Details(msgspec.Struct):
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None


class Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None


class Answer(msgspec.Struct):
    """What is read of a chat completion; all else is ignored."""

    choices: list[Choice]
    usage: Usage | None = None
    system_fingerprint: str | None = None


class Wrong(msgspec.Struct):
    message: str = ""
    code: str | int | None = None


class Refusal(msgspec.Struct):
    """What is read of an answer that is none."""

    error: Wrong


_ANSWER = msgspec.json.Decoder(Answer)
_ENCODER = msgspec.json.Encoder()


class OpenAIChat:
    """An LLM at an OpenAI-compatible endpoint. No retries of its own. `endpoint`: "" for hosted and embedded."""

    def __init__(self, model: str, base_url: str | None, timeout: float) -> None:
        key = os.environ.get("OPENAI_API_KEY") or ("unset" if base_url else "")
        if not key:
            raise Missing(
                f"openai:{model} needs a key: set OPENAI_API_KEY, or name your own endpoint with --base-url, "
                "or use the model 'embedded'"
            )
        self.name = f"openai:{model}"
        self.endpoint = base_url or ""
        self._server: embedded.EmbeddedServer | None = None
        self._most_logprobs = MOST_LOGPROBS
        self._limit = "max_tokens" if base_url else "max_completion_tokens"  # hosted reasoning models refuse the first
        self._open(model, base_url, key, timeout)

    @classmethod
    def embedded(cls, timeout: float) -> OpenAIChat:
        """The embedded server's model; the server lives as long as this object."""
        self = cls.__new__(cls)
        self._server = embedded.EmbeddedServer()
        self.name = f"embedded:{embedded.NAME}"
        self.endpoint = ""
        self._most_logprobs = embedded.MOST_LOGPROBS
        self._limit = "max_tokens"
        self._open(embedded.NAME, self._server.base_url, self._server.key, timeout)
        return self

    def _open(self, model: str, base_url: str | None, key: str, timeout: float) -> None:
        base_url = base_url or os.environ.get("OPENAI_BASE_URL") or HOSTED
        self._model = model
        self._timeout = timeout
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._proxy = proxy(self._url)
        self._headers = {
            "Authorization": f"Bearer {key}",
            "Content-Type": "application/json",
            "Accept-Encoding": "identity",  # a small answer may unpack to any size
        }
        self._session: ClientSession | None = None

    def _connections(self) -> ClientSession:
        """Opened at the first call, in the loop that calls. As many as there are calls at once: a run has its limit."""
        import aiohttp

        if self._session is None:
            connector = aiohttp.TCPConnector(limit=0)
            jar = aiohttp.DummyCookieJar()
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=jar, auto_decompress=False)
        return self._session

    async def __call__(self, request: Request) -> Completion:
        import aiohttp

        start = time.perf_counter()
        body = _ENCODER.encode(self._body(request))
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._connections().post(
                    self._url,
                    data=body,
                    headers=self._headers,
                    proxy=self._proxy,
                    allow_redirects=False,  # words go to the endpoint that was named, nowhere else
                    timeout=aiohttp.ClientTimeout(),  # the bound above is the whole call's
                ) as response,
            ):
                said = await self._whole(response)
        except TimeoutError as error:
            raise ModelError("transport", f"{self.name}: no answer in {self._timeout:g} s") from error
        except aiohttp.ClientError as error:
            raise ModelError("transport", f"{self.name}: {first_line(error)}") from error
        if not 200 <= response.status < 300:
            raise self._refused(response.status, response.headers, said)
        return self._read(said, time.perf_counter() - start)

    async def _whole(self, response: ClientResponse) -> bytes:
        """The answer's bytes; one that is longer than MOST_BYTES is broken off while it is read."""
        if response.headers.get("Content-Encoding", "identity") != "identity":
            response.close()
            raise ModelError("transport", f"{self.name}: the answer is packed, which was not asked for")
        parts, size = [], 0
        async for part in response.content.iter_any():
            parts.append(part)
            size += len(part)
            if size > MOST_BYTES:
                response.close()
                raise ModelError("transport", f"{self.name}: the answer is longer than {MOST_BYTES >> 20} MB")
        return b"".join(parts)

    def _body(self, request: Request) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": role, "content": text} for role, text in request.messages],
            self._limit: request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
        }
        if request.stop:
            body["stop"] = list(request.stop)
        if request.top_logprobs:
            body |= {"logprobs": True, "top_logprobs": min(request.top_logprobs, self._most_logprobs)}
        return body

    def _refused(self, status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
        try:
            error = msgspec.json.decode(body, type=Refusal).error
        except ValueError:  # a page of a proxy, an error of another shape
            error = Wrong(body[:500].decode(errors="replace"))
        said = f"status {status}: {(error.message.strip().splitlines() or ['no reason given'])[0][:200]}"
        wait = asked_to_wait(headers)
        if status == 429:
            spent = error.code == "insufficient_quota"
            said = f"{self.name}{' has no quota left' if spent else ' asks to wait'}: {said}"
            return ModelError("limit", said, wait=wait, fatal=spent)
        if status in FATAL:
            return ModelError("refused", f"{self.name}: {FATAL[status]} ({said})", fatal=True)
        if error.code == "content_filter":
            return ModelError("content_filter", f"{self.name} withheld the answer: {said}")
        if 300 <= status < 400:
            where = clip(headers.get("Location", "nowhere"))
            said = f"it redirects to {where}; if you trust that address, name it with --base-url"
        kind: Failure = "refused" if 400 <= status < 500 and status not in PASSING else "transport"
        return ModelError(kind, f"{self.name}: {said}", wait=wait)

    def _read(self, body: bytes, seconds: float) -> Completion:
        try:
            answer = _decoded(body)
            choice = answer.choices[0]
        except (msgspec.ValidationError, IndexError) as error:
            shape = "the answer is no chat completion"
            raise ModelError("transport", f"{self.name}: {shape} ({first_line(error)})") from None
        except ValueError as error:
            raise ModelError("transport", f"{self.name}: the answer is not JSON ({first_line(error)})") from error
        refusal = choice.message.refusal
        text = (choice.message.content or refusal or "").encode("utf-8", "replace").decode()  # half a pair is no text
        usage = answer.usage or Usage()
        built = answer.system_fingerprint or ""
        tokens = choice.logprobs.content if choice.logprobs and choice.logprobs.content else []
        return Completion(
            text=text,
            finish="refusal" if refusal else choice.finish_reason or "stop",
            tokens_in=usage.prompt_tokens,
            tokens_out=usage.completion_tokens,
            cached=usage.prompt_tokens_details.cached_tokens if usage.prompt_tokens_details else None,
            seconds=round(seconds, 4),
            logprobs={top.token: top.logprob for top in tokens[0].top_logprobs} if tokens else {},
            reasoning=usage.completion_tokens_details.reasoning_tokens if usage.completion_tokens_details else None,
            fingerprint=built,
            seeding="kept" if self._server else "best_effort" if built else "unknown",
        )

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None
        if self._server is not None:
            self._server.close()


def _decoded(body: bytes) -> Answer:
    """Raises ValidationError for another shape, ValueError for what is no JSON."""
    try:
        return _ANSWER.decode(body)
    except msgspec.ValidationError:
        raise
    except ValueError:  # half a surrogate pair, NaN: Python's own reader takes what this one does not
        try:
            return msgspec.convert(json.loads(body), Answer)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error


def proxy(url: str) -> str | None:
    """The proxy that the environment names for `url`; None where there is none, or the host is excepted."""
    parts = urlsplit(url)
    return None if proxy_bypass(parts.hostname or "") else getproxies().get(parts.scheme)


def retry_after(error: Exception) -> float | None:
    """Seconds that the response in `error` asks to wait; None where there is none, or it asks nothing."""
    return asked_to_wait(getattr(getattr(error, "response", None), "headers", None) or {})


def asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds that a response asks to wait, said as seconds or as a date; None where it asks nothing."""
    said = headers.get("retry-after") or ""
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(said).astimezone(UTC) - datetime.now(UTC)).total_seconds()
        except ValueError:
            return None
    return seconds if seconds > 0 else None
