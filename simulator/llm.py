"""The model seam: a Request goes in, a Completion comes out, or a ModelError says what failed.

Wrappers (limit, retry, record, meter) are LLMs around an LLM. This file knows no provider.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from memory.errors import PersonaconvError
from memory.recall import Ask

Failure = Literal[
    "transport",  # no connection, reset, time-out, a server error, a body that is not the protocol
    "limit",  # told to wait (429) more often than we retry, or a budget spent
    "refused",  # the endpoint said no: key, model name, a parameter
    "content_filter",  # the provider withheld the answer
    "empty",  # an answer without words
    "truncated",  # nothing usable before the token limit
    "unparseable",  # an answer that is not what was asked for
    "no_reply",  # nothing to judge, because the reply it was about failed
]


class ModelError(PersonaconvError):
    """A call that gave no answer. `kind` is counted in every table; `wait` is the server's Retry-After in seconds."""

    def __init__(self, kind: Failure, message: str, *, fatal: bool = False, wait: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.fatal = fatal  # every further call would fail the same way: stop the run, do not log a turn
        self.wait = wait
        self.attempts = 1


def first_line(error: BaseException) -> str:
    """What foreign code's exception says: at most 200 characters of its first line, its class where it is silent."""
    lines = str(error).strip().splitlines()
    return lines[0][:200] if lines else type(error).__name__


@dataclass(frozen=True, slots=True)
class Request:
    """All that decides an answer besides the model itself, so that it can serve as the key of a recorded call.

    `top_logprobs` > 0 asks for that many alternatives of the first answer token; not every endpoint has them.
    """

    messages: tuple[tuple[str, str], ...]  # (role, text)
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    stop: tuple[str, ...] = ()
    top_logprobs: int = 0
    repeat: int = 0  # tells repeats apart where an endpoint ignores seeds
    about: tuple[str, str, str, int] | None = field(default=None, compare=False)  # the turn's key; decides nothing


@dataclass(frozen=True, slots=True)
class Completion:
    """An answer. Token counts are the endpoint's, None where it is silent. `logprobs`: first token -> natural log."""

    text: str
    finish: str = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    cached: int | None = None  # of tokens_in, served from a prefix cache
    seconds: float = 0.0
    logprobs: dict[str, float] = field(default_factory=dict)


class LLM(Protocol):
    """A chat model."""

    @property
    def name(self) -> str:
        """Provider and model, e.g. "openai:gpt-x": stands in every row this model makes."""

    async def __call__(self, request: Request) -> Completion:
        """Raises ModelError; never returns an error text as an answer."""

    async def close(self) -> None:
        """Releases connections or the embedded server. Safe to call twice."""


def asking(llm: LLM, seed: int = 0, max_tokens: int = 300) -> Ask:
    """`llm` as memory policies know a model: prompt in, answer out, at temperature 0. Raises what `llm` raises."""

    async def ask(prompt: str) -> str:
        return (await llm(Request((("user", prompt),), max_tokens, seed=seed))).text

    return ask
