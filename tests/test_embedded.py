"""The embedded model, once for real: loopback, a key, answers that the seed decides, a prefix cache, an end."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request as Call
from urllib.request import urlopen

import pytest

from simulator.embedded import EmbeddedServer
from simulator.llm import Completion, Request
from simulator.models import open_llm

ROOT = Path(__file__).parent.parent
RULES = "You take part in a discussion about bicycles. Answer in one short sentence, as the person would."
ABOUT = ("t", "m", "reply", 0)  # one turn
ASK = Request((("system", RULES), ("user", "Which chain do you like?")), 4, 1.5, seed=3, about=ABOUT)
LABEL = Request(
    (("system", RULES), ("user", "Good or bad? One word.")), 1, top_logprobs=100, about=("t", "m", "mood", 0)
)

GIVEN = Request(ASK.messages, 1, given="Any 😀")


@pytest.fixture(scope="module")
def answers() -> dict[str, Completion]:
    """Calls of one model: the same twice, with another seed, for a label, in another turn, and the label after that."""

    async def ask() -> dict[str, Completion]:
        model = open_llm("embedded")
        try:
            first = await model(ASK)
            again = await model(ASK)
            other = await model(replace(ASK, seed=4))
            label = await model(LABEL)
            elsewhere = await model(replace(LABEL, about=("t", "n", "mood", 0)))
            found = {"first": first, "again": again, "other": other, "label": label, "elsewhere": elsewhere}
            return found | {"back": await model(ASK), "then": await model(LABEL), "given": await model(GIVEN)}
        finally:
            await model.close()
            await model.close()  # safe to call twice

    return asyncio.run(ask())


def test_given_words_are_weighed_characters_of_several_tokens_too(answers: dict[str, Completion]) -> None:
    found = answers["given"].likelihood
    assert found is not None and (found.tokens, found.bytes) == (3, 8)
    assert 1 < found.nats / found.tokens < 20


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    with EmbeddedServer(context=256, n_threads=1) as found:
        yield found


def knock(server: EmbeddedServer, key: str | None) -> Any:
    body = json.dumps({"messages": [{"role": "user", "content": "hi"}], "max_tokens": 1}).encode()
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    with urlopen(Call(f"{server.base_url}/chat/completions", body, headers), timeout=30) as answer:
        return json.load(answer)


def test_it_answers_and_counts_tokens(answers: dict[str, Completion]) -> None:
    first = answers["first"]
    assert first.text.strip() and (first.tokens_in or 0) > 20 and 0 < (first.tokens_out or 0) <= 4


def test_the_seed_decides_the_words(answers: dict[str, Completion]) -> None:
    assert answers["again"].text == answers["first"].text != answers["other"].text


def test_what_other_turns_left_is_not_used_so_that_words_do_not_depend_on_it(answers: dict[str, Completion]) -> None:
    assert answers["elsewhere"].cached == answers["back"].cached == 0 < (answers["then"].cached or 0)
    assert answers["back"].text == answers["first"].text
    assert answers["then"].logprobs == answers["label"].logprobs


def test_a_prompt_that_was_just_read_comes_from_the_prefix_cache(answers: dict[str, Completion]) -> None:
    first, again = answers["first"], answers["again"]
    assert not first.cached
    assert (again.cached or 0) > 0.8 * (again.tokens_in or 0)
    assert 0 < (answers["label"].cached or 0) < (answers["label"].tokens_in or 0)  # the rules alone are shared


def test_alternatives_of_the_first_token_are_many_and_are_probabilities(answers: dict[str, Completion]) -> None:
    found = answers["label"].logprobs
    assert len(found) > 90 and all(value <= 0 for value in found.values())
    assert answers["first"].logprobs == {}


def test_it_listens_on_loopback_to_those_who_know_its_key(server: EmbeddedServer) -> None:
    assert urlsplit(server.base_url).hostname == "127.0.0.1"
    assert len(server.key) >= 24
    for key in (None, "unset", server.key[:-1]):
        with pytest.raises(HTTPError) as caught:
            knock(server, key)
        assert caught.value.code == 401
        caught.value.close()
    assert knock(server, server.key)["choices"]


def test_it_is_gone_when_it_is_closed_and_has_another_key_each_time() -> None:
    # In another process: a server that does not end would hold this one for ever.
    code = """
from simulator.embedded import EmbeddedServer
for _ in range(2):
    server = EmbeddedServer(context=256, n_threads=1)
    server.close()
    server.close()
    print(server.base_url, server.key, flush=True)
input()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        late = threading.Timer(60, process.kill)
        late.daemon = True
        late.start()
        said = [process.stdout.readline().split() for _ in range(2)]
        for base_url, _ in said:
            with pytest.raises(URLError, match="refused"):
                urlopen(f"{base_url}/models", timeout=5)
        process.communicate("\n")
        late.cancel()
    assert process.returncode == 0
    assert len({key for _, key in said}) == 2
