"""How likely a model finds given words as its answer: asked of servers that can tell, over their own HTTP interface.

llama.cpp, as the embedded server has it: one step a token, which is forced and its probability read, over a prefix that
stays cached. vLLM: `prompt_logprobs` of a prompt that ends in the words. No other endpoint is known to tell.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from itertools import takewhile
from math import fsum
from typing import Any, NamedTuple

from simulator.llm import Likelihood, ModelError, Request

Post = Callable[[str, dict[str, Any]], Awaitable[Any]]  # path, body -> the answer's JSON
FORCED = 1000.0  # added to a logit: no other token can win
EVERY = 1 << 17  # of the likeliest tokens: all there are
NEVER = -9999.0  # how vLLM writes minus infinity, which JSON has not
ENDS_OTHERWISE = (
    "it does not end its prompt in the words that are given (continue_final_message), so their likelihood cannot be "
    "asked there"
)
NEEDS = (
    "it gives no probabilities of given words, so their likelihood cannot be asked there; it takes a server with "
    "prompt_logprobs, as vLLM has, or the embedded model"
)


async def by_steps(post: Post, request: Request) -> Likelihood:
    """Teacher forcing, token by token: 36 CPU ms each with SmolLM2, 0.7 s for one that is part of a character, whose
    probability stands in the server's list of all tokens alone. `post` takes paths of the server's root.

    The words are what the template puts an answer's words to; its end is not counted.
    """
    messages = [{"role": role, "content": text} for role, text in request.messages]
    prompt = (await post("/apply-template", {"messages": messages}))["prompt"]
    before = (await post("/tokenize", {"content": prompt, "add_special": False, "parse_special": True}))["tokens"]
    tokens = (await post("/tokenize", {"content": request.given, "add_special": False}))["tokens"]
    other = (await post("/tokenize", {"content": ".", "add_special": False}))["tokens"][0]
    nats = 0.0
    for at, token in enumerate(tokens):
        body = {"prompt": [*before, *tokens[:at]], "n_predict": 1, "temperature": 0, "cache_prompt": True}
        found = await post("/completion", body | {"n_probs": 1, "logit_bias": [[token, FORCED]]})
        stated = found.get("completion_probabilities")
        if not stated:  # a part of a character: no text, so no probability
            found = await post("/completion", body | {"n_probs": EVERY, "logit_bias": [[other, FORCED]]})
            stated = [top for top in found["completion_probabilities"][0]["top_logprobs"] if top["id"] == token]
        nats -= float(stated[0]["logprob"])
    return Likelihood(nats, len(tokens), len(request.given.encode()))


class Position(NamedTuple):
    """One token of a prompt: its id, the natural log of its probability, and its text where the server says it."""

    id: str
    logprob: float
    text: str


async def by_prompt(post: Post, model: str, request: Request) -> Likelihood:
    """From the log-probabilities of a prompt that ends in the words, as chat completions of vLLM have them beside the
    choices: a list with null for the first token, then one object a token, its id -> logprob, rank, decoded_token.

    The words begin where that prompt parts from the one without them, whatever a template puts before an answer. The
    template of the server decides what blanks at their ends become.

    Raises: ModelError, fatal, where the endpoint gives none or does not end its prompt in the words; one of class
    "unparseable" where a token has no probability (vLLM writes -9999 for minus infinity).
    """
    messages = [{"role": role, "content": text} for role, text in request.messages]
    body: dict[str, Any] = {"model": model, "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}
    without = _positions(await post("/chat/completions", body | {"messages": messages}))
    whole = [*messages, {"role": "assistant", "content": request.given}]
    going_on = {"add_generation_prompt": False, "continue_final_message": True}
    tokens = _positions(await post("/chat/completions", body | {"messages": whole} | going_on))
    same = takewhile(lambda pair: pair[0].id == pair[1].id, zip(without, tokens, strict=False))
    own = tokens[sum(1 for _ in same) :]
    said = "".join(position.text for position in own)
    if not own or (all(position.text for position in own) and not _bare(said).endswith(_bare(request.given))):
        raise ModelError("refused", ENDS_OTHERWISE, fatal=True)
    if not all(NEVER < position.logprob <= 0 for position in own):
        raise ModelError("unparseable", "it gives a token of the words no probability")
    return Likelihood(-fsum(position.logprob for position in own), len(own), len(request.given.encode()))


def _positions(answer: Any) -> list[Position]:
    """Of the prompt's own tokens, which come first in their objects; the first token of all has none."""
    found = []
    try:
        for position in (answer.get("prompt_logprobs") or [])[1:]:
            id, one = next(iter(position.items()))
            found.append(Position(id, float(one["logprob"]), one.get("decoded_token") or ""))
    except (LookupError, AttributeError, TypeError, ValueError, StopIteration) as error:
        raise ModelError("transport", f"the answer has no probabilities ({error!r})") from None
    if not found:
        raise ModelError("refused", NEEDS, fatal=True)
    return found


def _bare(text: str) -> str:
    """What of it every way of decoding tokens has in common."""
    return re.sub(r"<0x..>|[^a-z0-9]", "", text.lower())
