"""Budgets in tokens, money and time: what a call may take at most is set aside before it is sent, or it is not sent.

The run's ledger (spending.ndjson in its folder) has a line for each sum set aside and one for what was spent of it. All
calls, processes and sittings of the run share it; what a killed sitting had set aside counts whole.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from memory.errors import BadInput, PersonaconvError
from memory.tokens import count
from simulator import whole
from simulator.llm import LLM, Completion, ModelError, Request
from simulator.prices import Prices, cost

FILE = "spending.ndjson"
FREE = ("limit", "refused")  # failures that cost nothing: nothing was read or written
MARGIN = 1.5  # other tokenizers than ours make up to this many tokens of one of ours, in English prose
FRAME = 16  # tokens that a chat template puts around a message
_SPLIT = re.compile(r"[^A-Za-z\s]")  # characters that a small tokenizer gives a token of their own, one for each byte


class Spent(PersonaconvError):
    """The next call might go beyond a budget: it was not sent, and none is in flight. Says how to go on."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Of a whole run, None for no limit. `cost` is in the currency of the prices."""

    tokens: int | None = None
    cost: float | None = None
    minutes: float | None = None

    @property
    def counted(self) -> bool:
        return self.tokens is not None or self.cost is not None


class Line(msgspec.Struct, omit_defaults=True):
    """`open`: set aside for call `id`; else what it took in the end. `at`: UTC seconds."""

    id: str
    at: float
    tokens: int
    cost: float = 0.0
    open: bool = False


def prompt_bound(request: Request) -> int:
    """Tokens of the prompt that no usual tokenizer exceeds: MARGIN times ours, each digit, sign or byte by itself."""
    return sum(
        int(MARGIN * count(text)) + len("".join(_SPLIT.findall(text)).encode("utf-8", "replace")) // 2 + FRAME
        for _, text in request.messages
    )


@dataclass
class Ledger:
    """What a run has spent and set aside. Without `prices` nothing has a cost. Close it after the run.

    Raises: BadInput for a limit of cost without prices, and for a limit that is not above 0.
    """

    folder: Path
    limits: Limits = field(default_factory=Limits)
    prices: Prices | None = None
    tokens: int = 0  # spent, by earlier sittings and other processes too
    cost: float = 0.0
    _open: dict[str, Line] = field(default_factory=dict)
    _sittings: dict[str, tuple[float, float]] = field(default_factory=dict)  # when each began and was last seen
    _read: int = 0
    _fd: int = -1
    _slowest: float = 0.0  # seconds of the longest call of this sitting
    _mine: set[str] = field(default_factory=set)  # calls of this process in flight
    _settled: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        for name, limit in (("tokens", self.limits.tokens), ("cost", self.limits.cost), ("time", self.limits.minutes)):
            if limit is not None and not limit > 0:
                raise BadInput(f"a budget of {limit} {name} lets nothing be asked; name one above 0")
        if self.limits.cost is not None and self.prices is None:
            raise BadInput("a budget of money needs prices: give --prices input=...,output=... per million tokens")
        self._began = time.time()
        self._sitting = f"{time.time_ns():x}.{os.getpid()}"
        self._count = 0
        if (self.folder / FILE).exists():
            self._fd = os.open(self.folder / FILE, os.O_RDONLY)
            self._sync()
            os.close(self._fd)
            self._fd = -1

    @property
    def seconds(self) -> float:
        """How long the run has been played: the union of its sittings, this one up to now."""
        total, end = 0.0, 0.0
        for start, last in sorted([*self._sittings.values(), (self._began, time.time())]):
            total += max(0.0, last - max(start, end))
            end = max(end, last)
        return total

    @property
    def left(self) -> float | None:
        """Seconds until the time is spent; None without a limit."""
        return None if self.limits.minutes is None else 60 * self.limits.minutes - self.seconds

    async def reserve(self, request: Request) -> Line:
        """Sets aside what `request` may take, once it fits beside what others have set aside.

        Raises: Spent, when it does not fit though nothing of this process is in flight any more.
        """
        tokens, price = 0, 0.0
        if self.limits.counted:
            prompt = prompt_bound(request)
            tokens = prompt + request.max_tokens
            price = self._price(Completion("", tokens_in=prompt, tokens_out=request.max_tokens))
        while isinstance(found := self._set_aside(tokens, price), str):
            if not self._mine:
                raise Spent(found)
            self._settled.clear()
            await self._settled.wait()
        return found

    def _price(self, completion: Completion) -> float:
        return (cost(completion, self.prices) or 0.0) if self.prices else 0.0

    def _set_aside(self, tokens: int, price: float) -> Line | str:
        """The line of what is now set aside, or why it does not fit."""
        with self._alone():
            self._sync()
            why = self._beyond(tokens, price)
            if why is not None:
                return why
            self._count += 1
            line = Line(f"{self._sitting}.{self._count}", round(time.time(), 2), tokens, price, open=True)
            if self.limits.counted:
                self._append(line)
            self._mine.add(line.id)
            return line

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Between reading what other processes have set aside and adding to it, and while a line is written."""
        fd = self._opened()
        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)

    def _beyond(self, tokens: int, price: float) -> str | None:
        aside = self._open.values()
        held, owed = self.tokens + sum(line.tokens for line in aside), self.cost + sum(line.cost for line in aside)
        limits = self.limits
        if limits.tokens is not None and held + tokens > limits.tokens:
            return _said("tokens", f"{limits.tokens:,}", f"{held:,}", f"{tokens:,}", "--max-tokens-total")
        if limits.cost is not None and owed + price > limits.cost:
            return _said("money", f"{limits.cost:.4f}", f"{owed:.4f}", f"{price:.4f}", "--max-cost")
        if self.left is not None and limits.minutes is not None and self.left <= self._slowest:
            took = f"{self.seconds / 60:.1f}"
            return _said("minutes", f"{limits.minutes:g}", took, f"{self._slowest / 60:.1f}", "--max-minutes")
        return None

    def settle(self, line: Line, completion: Completion | None, free: bool = False) -> None:
        """Books what a call took: what its answer says, nothing where it was `free`, else all that was set aside."""
        self._mine.discard(line.id)
        self._settled.set()
        now = round(time.time(), 2)
        self._slowest = max(self._slowest, now - line.at)
        booked = Line(line.id, now, 0 if free else line.tokens, 0.0 if free else line.cost)
        if completion is not None and completion.tokens_in is not None and completion.tokens_out is not None:
            booked.tokens = completion.tokens_in + completion.tokens_out
            booked.cost = self._price(completion)
        with self._alone():
            self._append(booked)

    def drop(self, line: Line) -> None:
        """A call was broken off: what it took is not known, so all that was set aside stays so."""
        self._mine.discard(line.id)
        self._settled.set()

    async def sleep(self, seconds: float) -> None:
        """Waits between attempts, but not beyond the time that is left. Raises Spent instead."""
        if self.left is not None and seconds >= self.left:
            wait = f"{seconds / 60:.1f}"
            raise Spent(_said("minutes", f"{self.limits.minutes:g}", f"{self.seconds / 60:.1f}", wait, "--max-minutes"))
        await asyncio.sleep(seconds)

    def _opened(self) -> int:
        if self._fd < 0:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.folder / FILE, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            with self._alone():
                size = os.fstat(self._fd).st_size
                if size and os.pread(self._fd, 1, size - 1) != b"\n":
                    os.write(self._fd, b"\n")  # a kill has cut the last line
        return self._fd

    def _append(self, line: Line) -> None:
        whole.add(self._opened(), msgspec.json.encode(line) + b"\n", "finished turns", str(self.folder / FILE))

    def _sync(self) -> None:
        """Takes in the whole lines that were added since, by whomever; a line that a kill has cut is passed over."""
        while more := os.pread(self._fd, 1 << 20, self._read):
            end = more.rfind(b"\n") + 1
            if not end:
                return
            self._read += end
            for text in more[:end].splitlines():
                try:
                    self._take(msgspec.json.decode(text, type=Line))
                except msgspec.DecodeError:
                    continue

    def _take(self, line: Line) -> None:
        sitting = line.id.rpartition(".")[0]
        if sitting != self._sitting:
            start, last = self._sittings.get(sitting, (line.at, line.at))
            self._sittings[sitting] = (min(start, line.at), max(last, line.at))
        if line.open:
            self._open[line.id] = line
            return
        self._open.pop(line.id, None)
        self.tokens += line.tokens
        self.cost += line.cost

    def close(self) -> None:
        """Safe to call twice."""
        if self._fd >= 0:
            self._sync()
            os.close(self._fd)
            self._fd = -1


def _said(what: str, limit: str, spent: str, more: str, option: str) -> str:
    return (
        f"the budget of {limit} {what} is spent: {spent} so far in this run, and the next call may take {more}; "
        f"all finished turns are kept, and the same command with a larger {option} goes on from here"
    )


@dataclass
class Budgeted:
    """An LLM around an LLM that sends a call only when what it may take has been set aside; stands inside Retried, so
    that each attempt counts. A call that is not back when the time is spent is broken off."""

    inner: LLM
    ledger: Ledger

    @property
    def name(self) -> str:
        return self.inner.name

    async def __call__(self, request: Request) -> Completion:
        ledger = self.ledger
        line = await ledger.reserve(request)
        left = ledger.left
        try:
            async with asyncio.timeout(left) as cut:
                completion = await self.inner(request)
        except ModelError as error:
            ledger.settle(line, None, free=error.fatal or error.kind in FREE)
            raise
        except TimeoutError:
            ledger.drop(line)
            if not cut.expired():
                raise
            took = f"{ledger.seconds / 60:.1f}"
            raise Spent(_said("minutes", f"{ledger.limits.minutes:g}", took, "longer", "--max-minutes")) from None
        except BaseException:
            ledger.drop(line)
            raise
        ledger.settle(line, completion)
        return completion

    async def close(self) -> None:
        await self.inner.close()
        self.ledger.close()
