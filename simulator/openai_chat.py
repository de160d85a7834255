"""OpenAI-compatible endpoints, hosted, self-hosted or embedded, over the openai client on its aiohttp transport.

The request goes through the general `post` of the client: pool, key and error classes are its own, the body is checked
here against what we read. That halves the CPU of a call. The only file that knows the openai client.
"""

from __future__ import annotations

import asyncio
import os
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

import msgspec

from memory.errors import Missing, clip
from simulator import embedded
from simulator.likelihood import NEEDS, by_prompt, by_steps
from simulator.llm import Completion, Failure, ModelError, Request, first_line

if TYPE_CHECKING:
    import openai
    from openai import AsyncOpenAI

Turn = tuple[str, str, int]  # thread, slot, repeat

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


class OpenAIChat:
    """An LLM at an OpenAI-compatible endpoint. No retries of its own. `endpoint`: "" for hosted and embedded.

    `apart`: what the server has read serves the asks of one turn alone, so that a turn's words do not depend on what
    was asked before it: a prompt read in other pieces gives log-probabilities that differ in the last digits (note 17).
    """

    apart = False

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
        self._turn: Turn | None = None
        self._limit = "max_tokens" if base_url else "max_completion_tokens"  # hosted reasoning models refuse the first
        self._open(model, base_url, key, timeout)

    @classmethod
    def embedded(cls, timeout: float) -> OpenAIChat:
        """The embedded server's model; the server lives as long as this object."""
        self = cls.__new__(cls)
        self._server = embedded.EmbeddedServer()
        self.name, self.apart = f"embedded:{embedded.NAME}", True
        self.endpoint = ""
        self._most_logprobs = embedded.MOST_LOGPROBS
        self._turn = None
        self._limit = "max_tokens"
        self._open(embedded.NAME, self._server.base_url, self._server.key, timeout)
        return self

    def _open(self, model: str, base_url: str | None, key: str, timeout: float) -> None:
        from openai import AsyncOpenAI, DefaultAioHttpClient

        from simulator.bounded import PLAIN, bound

        self._model = model
        self._tells = False  # whether it has told a likelihood
        self._timeout = timeout
        pool = DefaultAioHttpClient(
            timeout=timeout,
            follow_redirects=False,  # words go to the endpoint that was named, nowhere else
            headers=PLAIN,
            event_hooks={"response": [bound]},
        )
        self._client: AsyncOpenAI = AsyncOpenAI(
            api_key=key, base_url=base_url, http_client=pool, max_retries=0, timeout=timeout
        )

    async def __call__(self, request: Request) -> Completion:
        import aiohttp
        import openai

        start = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout):  # the client's own bounds each read alone
                if request.given:
                    return await self._likelihood(request, start)
                answer = await self._client.post("/chat/completions", body=self._body(request), cast_to=object)
        except openai.APIStatusError as error:
            raise self._refused(error) from error
        except ModelError as error:
            raise ModelError(error.kind, f"{self.name}: {error}", fatal=error.fatal) from error
        except TimeoutError as error:
            raise ModelError("transport", f"{self.name}: no answer in {self._timeout:g} s") from error
        except (openai.APIError, aiohttp.ClientError) as error:
            raise ModelError("transport", f"{self.name}: {first_line(error.__cause__ or error)}") from error
        except ValueError as error:  # a body that says it is JSON and is not
            raise ModelError("transport", f"{self.name}: the answer is not JSON ({first_line(error)})") from error
        return self._read(answer, time.perf_counter() - start)

    async def _likelihood(self, request: Request, start: float) -> Completion:
        """An empty answer with the likelihood of `request.given`. Other servers than the embedded one are asked for
        prompt_logprobs; one that refuses them before it has ever told any, or does not know them, ends the run."""
        import openai

        spent: list[Usage] = []  # the embedded server's steps tell none

        async def post(path: str, body: dict[str, Any]) -> Any:
            root = self._server.base_url.removesuffix("/v1") if self._server else ""
            answer: Any = await self._client.post(root + path, body=body, cast_to=object)
            if isinstance(answer, dict) and answer.get("usage"):
                spent.append(msgspec.convert(answer["usage"], Usage))
            return answer

        try:
            if self._server:
                found = await by_steps(post, request)
            else:
                found = await by_prompt(post, self._model, request)
                self._tells = True
        except openai.BadRequestError as error:
            if self._server or self._tells:
                raise
            raise ModelError("refused", f"{NEEDS} ({first_line(error)})", fatal=True) from error
        except (KeyError, IndexError, AttributeError, TypeError) as error:
            raise ModelError("transport", f"the answer has no probabilities ({error!r})") from error
        return Completion(
            "",
            "stop",
            sum(usage.prompt_tokens or 0 for usage in spent) if spent else None,
            sum(usage.completion_tokens or 0 for usage in spent) if spent else None,
            seconds=round(time.perf_counter() - start, 4),
            seeding="kept",
            likelihood=found,
        )

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
        if request.schema:
            schema = {"name": "answer", "schema": msgspec.json.decode(request.schema), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if self.apart:
            turn = request.about and (*request.about[:2], request.about[3])
            body["cache_prompt"] = turn is not None and turn == self._turn
            self._turn = turn
        if request.top_logprobs:
            body |= {"logprobs": True, "top_logprobs": min(request.top_logprobs, self._most_logprobs)}
        return body

    def _refused(self, error: openai.APIStatusError) -> ModelError:
        status, said, wait = error.status_code, first_line(error), retry_after(error)
        if status == 429:
            spent = error.code == "insufficient_quota"
            said = f"{self.name}{' has no quota left' if spent else ' asks to wait'}: {said}"
            return ModelError("limit", said, wait=wait, fatal=spent)
        if status in FATAL:
            return ModelError("refused", f"{self.name}: {FATAL[status]} ({said})", fatal=True)
        if error.code == "content_filter":
            return ModelError("content_filter", f"{self.name} withheld the answer: {said}")
        if 300 <= status < 400:
            where = clip(error.response.headers.get("location", "nowhere"))
            said = f"it redirects to {where}; if you trust that address, name it with --base-url"
        kind: Failure = "refused" if 400 <= status < 500 and status not in PASSING else "transport"
        return ModelError(kind, f"{self.name}: {said}", wait=wait)

    def _read(self, body: object, seconds: float) -> Completion:
        try:
            answer = msgspec.convert(body, Answer)
            choice = answer.choices[0]
        except (msgspec.ValidationError, IndexError) as error:
            shape = "the answer is no chat completion"
            raise ModelError("transport", f"{self.name}: {shape} ({first_line(error)})") from None
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
        await self._client.close()
        if self._server is not None:
            self._server.close()


def retry_after(error: Exception) -> float | None:
    """Seconds that the response in `error` asks to wait, said as seconds or as a date; None where it asks nothing."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    said = headers.get("retry-after") or ""
    try:
        seconds = float(said)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(said).astimezone(UTC) - datetime.now(UTC)).total_seconds()
        except ValueError:
            return None
    return seconds if seconds > 0 else None
