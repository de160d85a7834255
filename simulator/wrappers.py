"""LLMs around an LLM, one concern each: Retried waits and asks again, Metered counts."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from simulator.llm import LLM, Completion, ModelError, Request

RETRIED = ("transport", "limit", "empty")  # the other failures would come back the same


@dataclass
class Retried:
    """Asks again after a failure that may pass: exponential waits with jitter, or as long as the server says.

    Until a first call has succeeded, a transport failure that outlives its attempts is fatal: the endpoint is not
    there, and a log full of failed turns would help nobody.
    """

    inner: LLM
    attempts: int = 4
    first_wait: float = 0.5  # seconds, doubled each time
    longest_wait: float = 60.0
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    answered: bool = False

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
                if error.fatal or error.kind not in RETRIED or attempt == self.attempts:
                    error.fatal = error.fatal or (error.kind == "transport" and not self.answered)
                    raise
                wait = self.first_wait * 2 ** (attempt - 1) * (0.5 + jitter.random())
                await self.sleep(min(self.longest_wait, wait if error.wait is None else error.wait))
            else:
                self.answered = True
                return completion
        raise ModelError("transport", f"{self.name}: no attempts allowed; set attempts to 1 or more", fatal=True)

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
