"""One question of a turn put to the model, its answer checked: asked again once where it does not stand."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from math import fsum
from typing import Protocol

from memory.tokens import clip_tokens
from simulator.answers import TRIES, fault
from simulator.likelihood import NEEDS
from simulator.llm import LLM, Completion, ModelError, Request
from simulator.prices import Prices, cost
from simulator.prompt import Scene, prompt_hash
from simulator.records import Ask, Mode, Rejected, Slot, Turn

TOP_LOGPROBS = 100  # asked for; each endpoint gives at most what it allows
WEIGHED = 100  # tokens of o200k, of the true words: 4 CPU s by steps on the embedded model
REPLY = "reply"  # the ask whose answer is somebody's message


class Setting(Protocol):
    """What is looked at of a Cast."""

    @property
    def mode(self) -> Mode: ...
    @property
    def llm(self) -> LLM: ...
    @property
    def keep_prompts(self) -> bool: ...
    @property
    def prices(self) -> Prices | None: ...


def turn_seed(seed: int, slot: Slot, ask: str, repeat: int) -> int:
    """31 bits from (run seed, thread, slot, ask, repeat): the same whatever the order and the concurrency."""
    return _bits(f"{seed}\x1f{slot.thread}\x1f{slot.id}\x1f{ask}\x1f{repeat}")


async def answer(blank: Turn, ask: Ask, shared: Scene, cast: Setting, judged: str | None) -> Turn:
    """`blank` with what came of it. `judged`: the words that a judging ask is about.

    An answer that does not stand (simulator/answers.py) is kept in `rejected`, and one more is asked for under another
    seed; a second one makes the turn a failure of its class. Probes are not asked again: they are not drawn.

    Raises: ModelError, a fatal one.
    """
    if ask.judges and judged is None:
        return replace(blank, failure="no_reply", reason="the reply to be judged failed")
    messages = shared.messages(ask, judged)
    turn = replace(
        blank,
        prompt_hash=prompt_hash(messages, shared.stamp),
        judged=("real" if cast.mode == "replay" else "simulated") if ask.judges else None,
        prompt="\n\n".join(text for _, text in messages) if cast.keep_prompts else None,
        attempts=0,
    )
    if ask.weighs:
        return _priced(await weighed(turn, messages, judged or "", cast.llm), cast)
    request = Request(
        messages,
        ask.max_tokens,
        ask.temperature,
        blank.seed,
        ask.stop,
        TOP_LOGPROBS if ask.labels or ask.numbers else 0,
        schema=ask.schema,
        repeat=blank.repeat,
        about=turn.key,
    )
    for number in range(TRIES if ask.name == REPLY else 1):
        if number:
            request = replace(request, seed=_bits(f"{blank.seed}\x1f{number}"))
        try:
            found = await cast.llm(request)
        except ModelError as error:
            if error.fatal:
                raise
            failed = replace(turn, failure=error.kind, reason=str(error)[:300], attempts=turn.attempts + error.attempts)
            return _priced(failed, cast)
        if found.logprobs:
            found = replace(found, logprobs=_of_labels(found, ask))
        attempts = turn.attempts + found.attempts
        wrong = fault(found, shared.shown if ask.name == REPLY else None)
        if wrong is None:
            turn = replace(turn, completion=found, attempts=attempts)
            return _priced(await _sampled(turn, ask, request, cast) if ask.samples > 1 else turn, cast)
        turn = replace(turn, rejected=(*turn.rejected, Rejected(*wrong, request.seed, found)), attempts=attempts)
    last = turn.rejected[-1]
    return _priced(replace(turn, failure=last.failure, reason=last.reason), cast)


async def _sampled(turn: Turn, ask: Ask, request: Request, cast: Setting) -> Turn:
    """`turn` with the further answers that its ask wants, each under a seed of its own."""
    found: list[Completion | None] = []
    for number in range(1, ask.samples):
        try:
            found.append(await cast.llm(replace(request, seed=_bits(f"{turn.seed}\x1fsample {number}"))))
        except ModelError as error:
            if error.fatal:
                raise
            found.append(None)
    return replace(turn, samples=tuple(found), attempts=turn.attempts + sum(c.attempts for c in found if c))


async def weighed(turn: Turn, messages: tuple[tuple[str, str], ...], words: str, llm: LLM) -> Turn:
    """`turn` with the likelihood of the first WEIGHED tokens of `words` as the answer.

    Raises: ModelError, a fatal one.
    """
    given = clip_tokens(words, WEIGHED)
    if not given.strip():
        return replace(turn, failure="empty", reason="no true words to be weighed")
    try:
        request = Request(messages, 1, 0.0, turn.seed, given=given, repeat=turn.repeat, about=turn.key)
        found = await llm(request)
    except ModelError as error:
        if error.fatal:
            raise
        return replace(turn, failure=error.kind, reason=str(error)[:300], attempts=error.attempts)
    if found.likelihood is None:
        return replace(turn, failure="unparseable", reason=f"{llm.name}: {NEEDS}"[:300])
    return replace(turn, completion=found, attempts=found.attempts)


def _priced(turn: Turn, cast: Setting) -> Turn:
    if cast.prices is None or not turn.answers:
        return turn
    costs = [cost(found, cast.prices) for found in turn.answers]
    known = [one for one in costs if one is not None]
    return replace(turn, cost=fsum(known)) if len(known) == len(costs) else turn


def _bits(name: str) -> int:
    return int.from_bytes(sha256(name.encode()).digest()[:4]) >> 1


def _of_labels(completion: Completion, ask: Ask) -> dict[str, float]:
    """The likeliest first token and those that begin a label; the rest of the list would fill the log."""
    starts = tuple(label.casefold() for label in ask.labels)

    def begins(token: str) -> bool:
        bare = token.strip().casefold()
        return bool(bare) and (any(label.startswith(bare) for label in starts) or (ask.numbers and bare.isdecimal()))

    likeliest = max(completion.logprobs, key=completion.logprobs.__getitem__, default=None)
    return {token: value for token, value in completion.logprobs.items() if token == likeliest or begins(token)}
