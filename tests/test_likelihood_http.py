"""Likelihoods over real HTTP: a server that answers as vLLM does, one that ignores the option, and ones that err."""

from __future__ import annotations

import asyncio
import json
import math
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from bench.stub_server import completion
from evaluation.benchmark import tables
from evaluation.benchmark.command import bench
from evaluation.benchmark.spec import BenchSpec
from evaluation.metrics import UNIFORM
from simulator.llm import Completion, Likelihood, ModelError, Request
from simulator.models import open_llm
from tests.dumps import imported
from tests.test_benchmark_corrected import dump
from tests.test_benchmark_run import loaded

WORDS = "So it is, sadly 🙁"
REQUEST = Request((("system", "Be brief."), ("user", "x" * 41)), 1, given=WORDS)


@dataclass
class Server:
    """`how`: it answers, by name. `bodies`: of all calls."""

    how: str = "vllm"
    bodies: list[dict[str, Any]] = field(default_factory=list)

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.bodies.append(body)
        if self.how == "too long" and body.get("continue_final_message"):
            return web.json_response({"error": {"message": "too many tokens"}}, status=400)
        if self.how == "refuses" and "prompt_logprobs" in body:
            return web.json_response({"error": {"message": "unknown field prompt_logprobs"}}, status=400)
        kept = {key: value for key, value in body.items() if self.how != "ends the turn" or "continue" not in key}
        answer = completion(kept, len(self.bodies), 10)
        if "prompt_logprobs" in answer and self.how not in ("vllm", "too long", "ends the turn"):
            answer["prompt_logprobs"] = wrong(self.how, answer["prompt_logprobs"])
        return web.Response(text=json.dumps(answer), content_type="application/json")


def wrong(how: str, told: list[Any]) -> Any:
    def last(logprob: Any) -> list[Any]:
        [(id, one)] = told[-1].items()
        return [*told[:-1], {id: one | {"logprob": logprob}}]

    return {
        "ignores": None,
        "no token": [None],
        "a word": "yes",
        "numbers": [0.5, 0.5],
        "no objects": [None, {}],
        "words": last("likely"),
        "null": last(None),
        "above 1": last(0.1),
        "nan": last(math.nan),
        "minus infinity": last(-9999.0),
    }[how]


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Server, str]]:
    server, loop, listening = Server(), asyncio.new_event_loop(), socket.create_server(("127.0.0.1", 0))

    async def serve(stop: asyncio.Event) -> None:
        app = web.Application()
        app.router.add_post("/v1/chat/completions", server.chat)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await runner.setup()
        await web.SockSite(runner, listening).start()
        await stop.wait()
        await runner.cleanup()

    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve(stop)))
    thread.start()
    yield server, f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


def asked(served: tuple[Server, str], *how: str) -> Completion | None:
    """What one model says of WORDS, asked once for each `how`; the last answer."""
    server, url = served
    server.bodies.clear()

    async def ask() -> Completion | None:
        model, found = open_llm("openai:m", url), None
        try:
            for server.how in how:
                found = await model(REQUEST)
        finally:
            await model.close()
        return found

    return asyncio.run(ask())


def test_as_vllm_answers_the_words_alone_are_counted_in_the_tokens_of_the_whole_prompt(served: Any) -> None:
    found = asked(served, "vllm")
    assert found is not None and (found.tokens_in, found.tokens_out) == (20, 2)  # of both prompts, as it tells them
    # four characters a token: the opening of the answer ends in ">", which the first token of the words begins with
    assert found.likelihood == Likelihood(pytest.approx(5 * math.log(2)), 5, len(WORDS.encode()))
    without, whole = served[0].bodies
    assert "continue_final_message" not in without and without["prompt_logprobs"] == whole["prompt_logprobs"] == 0
    assert (whole["continue_final_message"], whole["add_generation_prompt"]) == (True, False)
    assert whole["messages"] == [*without["messages"], {"role": "assistant", "content": WORDS}]


@pytest.mark.parametrize("how", ["ignores", "no token", "refuses"])
def test_an_endpoint_that_ignores_or_refuses_the_option_ends_the_run_with_what_it_takes(served: Any, how: str) -> None:
    with pytest.raises(ModelError, match=r"^openai:m: it gives no probabilities.*prompt_logprobs, as vLLM") as error:
        asked(served, how)
    assert error.value.fatal and error.value.kind == "refused" and len(served[0].bodies) == 1


def test_a_prompt_that_does_not_end_in_the_words_ends_the_run(served: Any) -> None:
    with pytest.raises(ModelError, match="does not end its prompt in the words") as error:
        asked(served, "ends the turn")
    assert error.value.fatal


@pytest.mark.parametrize("how", ["a word", "numbers", "no objects", "words", "null"])
def test_junk_is_a_failed_call_that_can_be_asked_again(served: Any, how: str) -> None:
    with pytest.raises(ModelError, match="openai:m: the answer has no probabilities") as error:
        asked(served, how)
    assert error.value.kind == "transport" and not error.value.fatal


@pytest.mark.parametrize("how", ["above 1", "nan", "minus infinity"])
def test_what_is_no_probability_is_no_likelihood(served: Any, how: str) -> None:
    with pytest.raises(ModelError, match="no probability") as error:
        asked(served, how)
    assert error.value.kind == "unparseable" and not error.value.fatal


def test_a_prompt_that_is_too_long_fails_alone_where_others_were_told(served: Any) -> None:
    with pytest.raises(ModelError, match="too many tokens") as error:
        asked(served, "vllm", "too long")
    assert error.value.kind == "refused" and not error.value.fatal


def test_a_benchmark_over_http_counts_failures_as_eight_bits_and_never_as_none(served: Any, tmp_path: Path) -> None:
    imported(tmp_path, *dump())
    server, url = served
    common = {
        "data": str(tmp_path / "corpus"), "tasks": ["generation"], "settings": ["none/tree"], "models": ["openai:m"],
        "base_url": url, "items": 3, "earlier": 3, "likelihood": True, "attempts": 1,
    }  # fmt: skip
    found = {}
    for server.how in ("vllm", "minus infinity"):
        out = tmp_path / server.how
        assert not bench(BenchSpec.of(common), out).stopped
        [line] = [x for x in tables.lines(loaded(out)) if x.cell[0] == "none/tree" and not x.place]
        found[server.how] = line.values["bits_per_byte"], line.values["likelihood_failed"]
    assert 0 < found["vllm"][0] < 1 and found["vllm"][1] == 0
    assert found["minus infinity"] == (UNIFORM, 1)
    server.how = "ignores"
    with pytest.raises(ModelError, match="it gives no probabilities"):
        bench(BenchSpec.of(common), tmp_path / "ignores")
