"""Chat models by name: "embedded", "openai:<model>" (also at a base URL), any "provider:model" of LangChain.

The only file that knows LangChain's chat models.
"""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from memory.errors import BadInput, Missing, UnknownName
from memory.weights import SMOLLM2
from simulator import embedded
from simulator.bounded import bound_all
from simulator.identity import Identity, endpoint
from simulator.likelihood import NEEDS
from simulator.llm import LLM, Completion, Failure, ModelError, Request, first_line
from simulator.openai_chat import FATAL, PASSING, OpenAIChat, retry_after

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

TIMEOUT = 120.0  # seconds for one attempt; a long answer of a slow local model takes tens
NAMES = ("embedded", "openai:<model>", "<any LangChain provider>:<model>")


def open_llm(name: str, base_url: str | None = None, timeout: float = TIMEOUT) -> LLM:
    """The model called `name`, ready to be asked. `base_url` ends in /v1 as a rule and goes with "openai:" names.

    The key comes from the provider's own environment variable (OPENAI_API_KEY, ANTHROPIC_API_KEY, ...).

    Raises:
        UnknownName: a name without a known provider. Missing: a key or package, and how to get it.
        ModelError: nothing answers at `base_url`.
    """
    provider, _, model = name.partition(":")
    if base_url and provider != "openai":
        raise BadInput(f"--base-url goes with openai:<model>, not with {name!r}")
    if name == "embedded":
        return OpenAIChat.embedded(timeout)
    if not model:
        raise UnknownName("model", name, NAMES)
    if base_url:
        knock(base_url)
    return OpenAIChat(model, base_url, timeout) if provider == "openai" else LangChainChat(name, timeout)


def identity(name: str, base_url: str | None = None) -> Identity:
    """What a recording calls the model called `name`; nothing is opened or looked for."""
    if name == "embedded":
        return Identity(f"embedded:{embedded.NAME}", SMOLLM2.sha256[:12])
    return Identity(name, endpoint=endpoint(base_url))


def knock(base_url: str) -> None:
    """Raises BadInput for what is no URL, ModelError where nobody answers its port."""
    parts = urlsplit(base_url)
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:  # no number, or none of a port
        port = 0
    if parts.scheme not in ("http", "https") or not parts.hostname or not port:
        raise BadInput(f"--base-url must be like http://127.0.0.1:8000/v1, found {base_url!r}")
    try:
        socket.create_connection((parts.hostname, port), timeout=5).close()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ModelError(
            "transport", f"nothing answers at {base_url} ({reason}); start the server or correct --base-url", fatal=True
        ) from None


class LangChainChat:
    """An LLM over any chat model of LangChain: no retries of its own, no seed or log-probabilities (no common name)."""

    def __init__(self, name: str, timeout: float = TIMEOUT) -> None:
        self.name = name
        self._timeout = timeout
        self._models: dict[tuple[float, int], BaseChatModel] = {}
        self._model(Request((), 1))  # a wrong provider or a missing key is said now, not at the first turn

    def _model(self, request: Request) -> BaseChatModel:
        key = (request.temperature, request.max_tokens)
        if key not in self._models:
            self._models[key] = self._build(temperature=request.temperature, max_tokens=request.max_tokens)
        return self._models[key]

    def _build(self, **settings: Any) -> BaseChatModel:
        from langchain.chat_models import init_chat_model

        provider, _, model = self.name.partition(":")
        settings |= {"max_retries": 0, "timeout": self._timeout}
        try:
            built: BaseChatModel = init_chat_model(model, model_provider=provider, **settings)
        except ImportError as error:
            raise Missing(f"provider {provider!r} needs another package: {error}") from None
        except Exception as error:  # noqa: BLE001 - each provider reports a missing key with a class of its own
            if "Unsupported provider" in str(error):
                raise UnknownName("model provider", provider, _providers(error)) from None
            said = first_line(error)
            raise Missing(f"cannot open {self.name}: {said}; set the provider's key in the environment") from None
        bound_all(built)
        return built

    async def __call__(self, request: Request) -> Completion:
        if request.given:
            raise ModelError("refused", f"{self.name}: {NEEDS}", fatal=True)
        if request.schema:
            raise ModelError("refused", f"{self.name} takes no JSON schema here; openai:<model> does", fatal=True)
        options: dict[str, Any] = {"stop": list(request.stop)} if request.stop else {}
        start = time.perf_counter()
        try:
            async with asyncio.timeout(self._timeout):  # not every provider has one, and few bound a whole answer
                answer = await self._model(request).ainvoke(list(request.messages), **options)
        except TimeoutError as error:
            raise ModelError("transport", f"{self.name}: no answer in {self._timeout:g} s") from error
        except Exception as error:  # the one boundary to foreign code: a provider may raise anything
            raise _classed(error, self.name) from error
        return _completion(answer, time.perf_counter() - start)

    async def close(self) -> None:
        self._models.clear()


def _completion(answer: Any, seconds: float) -> Completion:
    about = answer.response_metadata or {}
    finish = str(about.get("finish_reason") or about.get("stop_reason") or "stop")
    text = str(answer.text).encode("utf-8", "replace").decode()  # half a surrogate pair is no text
    refusal = (answer.additional_kwargs or {}).get("refusal")
    usage = answer.usage_metadata or {}
    return Completion(
        text=text or (str(refusal) if refusal else ""),
        finish="refusal" if refusal else finish,
        tokens_in=_number(usage.get("input_tokens")),
        tokens_out=_number(usage.get("output_tokens")),
        cached=_number((usage.get("input_token_details") or {}).get("cache_read")),
        seconds=round(seconds, 4),
        reasoning=_number((usage.get("output_token_details") or {}).get("reasoning")),
        fingerprint=str(about.get("system_fingerprint") or ""),
        seeding="not_sent",
    )


def _number(value: Any) -> int | None:
    """Not every provider checks what it passes on, and a count that is none would make the log unreadable."""
    return value if isinstance(value, int) else None


def _classed(error: Exception, name: str) -> ModelError:
    """Any provider's exception as one of ours. Which class it is decides whether it is worth another try."""
    from langchain_core import exceptions as known

    if isinstance(error.__cause__, ModelError):  # of simulator/bounded.py, inside the provider's client
        return ModelError(error.__cause__.kind, f"{name}: {error.__cause__}")
    status = getattr(error, "status_code", None)
    said = first_line(error)
    kind: Failure
    if status == 429 or isinstance(error, known.ModelRateLimitError):
        spent = getattr(error, "code", None) == "insufficient_quota"
        said = f"{name}{' has no quota left' if spent else ' asks to wait'}: {said}"
        return ModelError("limit", said, wait=retry_after(error), fatal=spent)
    if status in FATAL:
        return ModelError("refused", f"{name}: {FATAL[status]} ({said})", fatal=True)
    filtered = getattr(error, "code", None) == "content_filter" or "content filter" in said  # the latter by Azure
    if filtered or isinstance(error, known.ModelRefusalError):
        kind = "content_filter"
    elif status in PASSING:
        kind = "transport"
    elif isinstance(error, known.ModelInvalidRequestError | known.ContextOverflowError) or status in range(400, 500):
        kind = "refused"
    else:
        kind = "transport"
    return ModelError(kind, f"{name}: {type(error).__name__}: {said}", wait=retry_after(error))


def _providers(error: Exception) -> list[str]:
    """The provider names that LangChain lists in its own message."""
    _, _, tail = str(error).partition("are:")
    found = [word.strip(" '\"`-,") for word in tail.replace("\n", ",").split(",")]
    return [word for word in found if word.isidentifier()] or ["openai", "anthropic", "ollama"]
