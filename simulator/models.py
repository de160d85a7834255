"""Chat models by name: "embedded", "openai:<model>" (also at a base URL), any "provider:model" of LangChain.

The only file that knows LangChain's chat models.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memory.errors import BadInput, Missing, UnknownName
from simulator import embedded
from simulator.llm import LLM, Completion, Failure, ModelError, Request

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

TIMEOUT = 120.0  # seconds for one attempt; a long answer of a slow local model takes tens
MOST_LOGPROBS = 20  # what hosted OpenAI endpoints allow


def open_llm(name: str, base_url: str | None = None, timeout: float = TIMEOUT) -> LLM:
    """The model called `name`, ready to be asked. `base_url` ends in /v1 as a rule and goes with "openai:" names.

    The key comes from the provider's own environment variable (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...).

    Raises:
        UnknownName: a name without a known provider. Missing: a key or package, and how to get it.
        ModelError: nothing answers at `base_url`.
    """
    if name == "embedded":
        return ChatModel.embedded(timeout)
    provider, _, model = name.partition(":")
    if not model:
        raise UnknownName("model", name, ["embedded", "openai:<model>", "<any LangChain provider>:<model>"])
    if base_url:
        if provider != "openai":
            raise BadInput(f"--base-url goes with openai:<model>, not with {name!r}")
        knock(base_url)
        key = os.environ.get("OPENAI_API_KEY", "unset")
        return ChatModel(name, timeout, {"base_url": base_url, "api_key": key}, endpoint=base_url)
    return ChatModel(name, timeout)


def knock(base_url: str) -> None:
    """Raises BadInput for what is no URL, ModelError where nobody answers its port."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise BadInput(f"--base-url must be like http://127.0.0.1:8000/v1, found {base_url!r}")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        socket.create_connection((parts.hostname, port), timeout=5).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(
            "transport", f"nothing answers at {base_url} ({reason}); start the server or correct --base-url", fatal=True
        ) from None


class ChatModel:
    """An LLM over a LangChain chat model: one client, one connection pool, no retries of its own."""

    def __init__(
        self,
        name: str,
        timeout: float = TIMEOUT,
        extra: Mapping[str, Any] | None = None,
        *,
        endpoint: str = "",
        most_logprobs: int = MOST_LOGPROBS,
        server: embedded.EmbeddedServer | None = None,
    ) -> None:
        self.name = name
        self.endpoint = endpoint  # of the embedded server: "", it changes at every start
        self._most_logprobs = most_logprobs
        self._server = server
        self._timeout = timeout
        self._extra = dict(extra or {})
        self._models: dict[tuple[float, int], BaseChatModel] = {}
        self._openai = server is not None or name.startswith("openai:")
        self._http = self._pool() if self._openai else None
        self._model(Request((), 1))  # a wrong provider or a missing key is said now, not at the first turn

    @staticmethod
    def embedded(timeout: float = TIMEOUT) -> ChatModel:
        """The embedded server's model; the server lives as long as this object."""
        server = embedded.EmbeddedServer()
        extra = {"base_url": server.base_url, "api_key": server.key}
        name = f"embedded:{embedded.NAME}"
        return ChatModel(name, timeout, extra, most_logprobs=embedded.MOST_LOGPROBS, server=server)

    def _pool(self) -> Any:
        from openai import DefaultAioHttpClient  # half the CPU of the default transport

        return DefaultAioHttpClient(timeout=self._timeout)

    def _model(self, request: Request) -> BaseChatModel:
        key = (request.temperature, request.max_tokens)
        if key not in self._models:
            self._models[key] = self._build(temperature=request.temperature, max_tokens=request.max_tokens)
        return self._models[key]

    def _build(self, **settings: Any) -> BaseChatModel:
        from langchain.chat_models import init_chat_model

        provider, _, model = self.name.partition(":")
        if self._openai:
            settings |= {"http_async_client": self._http, "stream_usage": False}
            provider = "openai"
        settings |= {"max_retries": 0, "timeout": self._timeout, **self._extra}
        try:
            built: BaseChatModel = init_chat_model(model, model_provider=provider, **settings)
        except ImportError as error:
            raise Missing(f"provider {provider!r} needs another package: {error}") from None
        except ValueError as error:
            raise UnknownName("model provider", provider, _providers(error)) from None
        except Exception as error:  # noqa: BLE001 - each provider reports a missing key with a class of its own
            raise Missing(
                f"cannot open {self.name}: {_first_line(error)}; set the provider's key in the environment"
            ) from None
        return built

    async def __call__(self, request: Request) -> Completion:
        options: dict[str, Any] = {}
        if request.stop:
            options["stop"] = list(request.stop)
        if self._openai:
            options["seed"] = request.seed
            if request.top_logprobs:
                options |= {"logprobs": True, "top_logprobs": min(request.top_logprobs, self._most_logprobs)}
        start = time.perf_counter()
        try:
            answer = await self._model(request).ainvoke(list(request.messages), **options)
        except Exception as error:  # the one boundary to foreign code: a provider may raise anything
            raise _classed(error, self.name) from error
        return _completion(answer, time.perf_counter() - start)

    async def close(self) -> None:
        if self._http is not None:
            await self._http.aclose()
        if self._server is not None:
            self._server.close()


def _completion(answer: Any, seconds: float) -> Completion:
    about = answer.response_metadata
    finish = str(about.get("finish_reason") or about.get("stop_reason") or "stop")
    if finish == "content_filter":
        raise ModelError("content_filter", "the provider withheld the answer")
    text = str(answer.text).encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    if not text.strip():
        raise ModelError(
            "truncated" if finish == "length" else "empty", f"no words in the answer (finish reason {finish})"
        )
    usage = answer.usage_metadata or {}
    return Completion(
        text=text,
        finish=finish,
        tokens_in=usage.get("input_tokens"),
        tokens_out=usage.get("output_tokens"),
        cached=(usage.get("input_token_details") or {}).get("cache_read"),
        seconds=round(seconds, 4),
        logprobs=_first_token(about.get("logprobs")),
    )


def _first_token(logprobs: Any) -> dict[str, float]:
    content = (logprobs or {}).get("content") or []
    return {top["token"]: float(top["logprob"]) for top in content[0]["top_logprobs"]} if content else {}


FATAL = {401: "the key is not accepted", 403: "the key may not use this", 404: "no such model or address"}


def _classed(error: Exception, name: str) -> ModelError:
    """Any provider's exception as one of ours. Which class it is decides whether it is worth another try."""
    from langchain_core import exceptions as known

    status = getattr(error, "status_code", None)
    said = _first_line(error)
    kind: Failure
    if status == 429 or isinstance(error, known.ModelRateLimitError):
        return ModelError("limit", f"{name} asks to wait: {said}", wait=_retry_after(error))
    if status in FATAL:
        return ModelError("refused", f"{name}: {FATAL[status]} ({said})", fatal=True)
    if isinstance(error, known.ModelRefusalError):
        kind = "content_filter"
    elif isinstance(error, known.ModelInvalidRequestError | known.ContextOverflowError) or (
        status and 400 <= status < 500
    ):
        kind = "refused"
    else:
        kind = "transport"
    return ModelError(kind, f"{name}: {type(error).__name__}: {said}", wait=_retry_after(error))


def _retry_after(error: Exception) -> float | None:
    response = getattr(error, "response", None)
    try:
        return float(response.headers["retry-after"]) if response is not None else None
    except (KeyError, ValueError):
        return None


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


def _providers(error: Exception) -> list[str]:
    """The provider names that LangChain lists in its own message."""
    _, _, tail = str(error).partition("are:")
    found = [word.strip(" '\"`-,") for word in tail.replace("\n", ",").split(",")]
    return [word for word in found if word.isidentifier()] or ["openai", "anthropic", "ollama"]
