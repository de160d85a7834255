import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any
from urllib.request import Request, urlopen

import pytest

from bench.stub_server import running
from simulator.llm import Request as Asked
from simulator.models import open_llm


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running(latency_ms=50) as base_url:
        yield base_url


def fetch(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(url, data, {"Content-Type": "application/json"}), timeout=10) as answer:
        return json.load(answer)


def test_every_call_takes_the_latency_and_is_counted(url: str) -> None:
    root = url.removesuffix("/v1")
    fetch(f"{root}/reset", {})
    start = time.perf_counter()
    ask = {"messages": [{"role": "user", "content": "abcd" * 5}]}
    said = [fetch(f"{url}/chat/completions", ask | {"seed": seed}) for seed in (7, 8)]
    assert time.perf_counter() - start >= 0.1
    texts = {answer["choices"][0]["message"]["content"] for answer in said}
    assert len(texts) == 2
    assert said[0]["usage"]["prompt_tokens"] == 5
    assert fetch(f"{root}/calls") == [7, 8]
    stats = fetch(f"{root}/stats")
    assert (stats["requests"], stats["most_in_flight"], stats["input_characters"]) == (2, 1, 40)


def test_the_same_request_has_the_same_answer(url: str) -> None:
    ask = {"messages": [{"role": "user", "content": "hello"}], "seed": 3}
    first, second = (fetch(f"{url}/chat/completions", ask) for _ in "12")
    assert first["choices"] == second["choices"]


def test_our_own_model_seam_reads_its_answers_and_log_probabilities(url: str) -> None:
    async def ask() -> list[Any]:
        model = open_llm("openai:stub", url)
        try:
            plain = await model(Asked((("user", "hello"),), 50))
            label = await model(Asked((("user", "hello"),), 1, top_logprobs=3))
            number = await model(Asked((("user", "hello"),), 8))
        finally:
            await model.close()
        return [plain, label, number]

    plain, label, number = asyncio.run(ask())
    assert plain.tokens_in == 1 and plain.text.startswith("I see")
    assert set(label.logprobs) == {"positive", "negative", "1"}
    assert number.text.isdigit()
