"""LLMs around an LLM, one concern each: Retried waits and asks again, Metered counts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from simulator.llm import LLM, Completion, ModelError, Request

RETRIED = ("transport", "limit", "empty")  # the other failures would come back the same
GONE = ("transport", "limit")  # nothing came back at all


@dataclass
class Retried:
    """Asks again after a failure that may pass: after exponential waits, or as long as the server says, with jitter.

    A call takes at most attempts * timeout + (attempts - 1) * longest_wait seconds: 660 as the settings are.

    An endpoint that is gone ends the run, because a log full of failed turns would help nobody: when it cannot be
    reached before it has ever answered, or when `patience` calls in a row, whoever made them, have failed for good.
    """

    inner: LLM
    attempts: int = 4
    first_wait: float = 0.5  # seconds, doubled each time
    longest_wait: float = 60.0  # also where the server says more
    patience: int = 8
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    answered: bool = False
    lost: int = 0  # calls in a row that failed for good

    @property
    def name(self) -> str:
        return self.inner.name

    async def __call__(self, request: Request) -> Completion:
        jitter = random.Random(request.seed)  # spreads waits, decides nothing else
        for attempt in range(1, self.attempts + 1):
            try:
                completion = await self.inner(request)
            except ModelError as error:
                error.attempts = attempt
                if error.fatal or error.kind not in RETRIED:
                    raise
                if attempt == self.attempts:
                    raise self._given_up(error) from error
                await self.sleep(self._wait(attempt, error.wait, jitter.random()))
            else:
                self.answered, self.lost = True, 0
                return completion if attempt == 1 else replace(completion, attempts=attempt)
        raise ModelError("transport", f"{self.name}: no attempts allowed; set attempts to 1 or more", fatal=True)

    def _wait(self, attempt: int, told: float | None, jitter: float) -> float:
        """Seconds; never less than told, but for `longest_wait`. Jitter keeps those apart who were told the same."""
        own = self.first_wait * 2 ** (attempt - 1)
        return min(self.longest_wait, own * (0.5 + jitter) if told is None else told + self.first_wait * jitter)

    def _given_up(self, error: ModelError) -> ModelError:
        if error.kind not in GONE:
            self.lost = 0
            return error
        self.lost += 1
        if error.kind == "transport" and not self.answered:
            error.fatal = True
        elif self.lost >= self.patience:
            said = f"{error}; the last {self.lost} calls failed: the run stops here, and the same command goes on"
            error = ModelError(error.kind, said, fatal=True)
            error.attempts = self.attempts
        return error

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class Usage:
    """What has been spent so far. Tokens that the endpoint did not report count as 0 and are counted in `unsaid`."""

    calls: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    unsaid: int = 0


@dataclass
class Metered:
    """Counts calls and tokens of all attempts that came back."""

    inner: LLM
    usage: Usage = field(default_factory=Usage)

    @property
    def name(self) -> str:
        return self.inner.name

    async def __call__(self, request: Request) -> Completion:
        usage = self.usage
        usage.calls += 1
        try:
            completion = await self.inner(request)
        except ModelError:
            usage.failed += 1
            raise
        usage.tokens_in += completion.tokens_in or 0
        usage.tokens_out += completion.tokens_out or 0
        usage.cached += completion.cached or 0
        usage.unsaid += completion.tokens_in is None
        return completion

    async def close(self) -> None:
        await self.inner.close()
