"""How likely a model finds given words as its answer: asked of servers that can tell, over their own HTTP interface.

llama.cpp, as the embedded server has it: one step a token, which is forced and its probability read, over a prefix that
stays cached. vLLM: `prompt_logprobs` of a prompt that ends in the words. No other endpoint is known to tell.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from simulator.llm import Likelihood, ModelError, Request

Post = Callable[[str, dict[str, Any]], Awaitable[Any]]  # path, body -> the answer's JSON
FORCED = 1000.0  # added to a logit: no other token can win
EVERY = 1 << 17  # of the likeliest tokens: all there are
NEEDS = (
    "gives no probabilities of given words, so their likelihood cannot be asked there; it takes a server with "
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


async def by_prompt(post: Post, model: str, name: str, request: Request) -> Likelihood:
    """From the log-probabilities of a prompt that ends in the words; how long it is without them is asked first. The
    template of the server decides what blanks at their ends become.

    Raises: ModelError, fatal, where the endpoint does not give any.
    """
    messages = [{"role": role, "content": text} for role, text in request.messages]
    body: dict[str, Any] = {"model": model, "max_tokens": 1, "temperature": 0}
    shorter = await post("/chat/completions", body | {"messages": messages})
    whole = [*messages, {"role": "assistant", "content": request.given}]
    asked = {"add_generation_prompt": False, "continue_final_message": True, "prompt_logprobs": 0}
    found = await post("/chat/completions", body | {"messages": whole} | asked)
    start = (shorter.get("usage") or {}).get("prompt_tokens")
    told = found.get("prompt_logprobs")
    if not isinstance(told, list) or not isinstance(start, int) or not 0 < start < len(told):
        raise ModelError("refused", f"{name} {NEEDS}", fatal=True)
    return Likelihood(-sum(map(_stated, told[start:])), len(told) - start, len(request.given.encode()))


def _stated(position: dict[str, dict[str, Any]]) -> float:
    """Of the prompt's own token, which comes first."""
    return float(next(iter(position.values()))["logprob"])
