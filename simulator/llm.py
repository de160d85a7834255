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
    "refusal",  # the model declined
    "empty",  # an answer without words
    "truncated",  # the token limit was reached before the first word
    "overlong",  # a message that was not at its end at the token limit
    "several_speakers",  # words of others too, or of the prompt's own form
    "copied",  # a long run of words from what the prompt showed
    "unparseable",  # an answer that is not what was asked for
    "no_reply",  # nothing to judge, because the reply it was about failed
]


Seeding = Literal[  # what the seed of a request is worth
    "kept",  # the same seed gives the same answer: tested here
    "best_effort",  # the endpoint names its build: equal seeds mostly agree while that stays the same
    "unknown",  # it was sent, and the endpoint does not say
    "not_sent",  # this provider has no common name for it
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


WITHHELD = ("content_filter", "refusal")  # finish reasons under which a text is no answer


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
    schema: str = ""  # JSON schema that the answer must fit, as JSON
    given: str = ""  # words whose likelihood as the answer is asked, in place of an answer
    about: tuple[str, str, str, int] | None = field(default=None, compare=False)  # the turn's key; decides nothing


@dataclass(frozen=True, slots=True)
class Likelihood:
    """Of given words as an answer: minus the natural log of their probability, over how many tokens and UTF-8 bytes."""

    nats: float
    tokens: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Completion:
    """What came back. `text` may be "", or hold what a provider says instead (see `finish`): simulator/answers.py tells
    whether it is an answer. Token counts are the endpoint's, None where it is silent. `logprobs`: first token ->
    natural log. `attempts`: how often it was asked, where failures before it passed.
    """

    text: str
    finish: str = "stop"  # the endpoint's word; "refusal" where the text is one
    tokens_in: int | None = None
    tokens_out: int | None = None
    cached: int | None = None  # of tokens_in, served from a prefix cache
    seconds: float = 0.0
    logprobs: dict[str, float] = field(default_factory=dict)
    reasoning: int | None = None  # of tokens_out, thought and not said
    fingerprint: str = ""  # the endpoint's name for the build that answered (system_fingerprint)
    seeding: Seeding = "unknown"
    attempts: int = 1
    likelihood: Likelihood | None = None  # of the words that were given


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
    """`llm` as memory policies know a model: prompt in, answer out, at temperature 0.

    Raises: ModelError, of `llm` or for an answer without words.
    """

    async def ask(prompt: str) -> str:
        found = await llm(Request((("user", prompt),), max_tokens, seed=seed))
        return worded(found, llm.name)

    return ask


def worded(found: Completion, name: str) -> str:
    """What the model called `name` says in `found`. Raises ModelError for an answer without words."""
    if found.text.strip() and found.finish not in WITHHELD:
        return found.text
    raise ModelError("empty", f"{name}: no words in the answer (finish reason {found.finish})")
