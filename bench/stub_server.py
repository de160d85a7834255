"""A local OpenAI-compatible server without a model: every chat call is answered after the same time.

    python -m bench.stub_server --port 8910 --latency-ms 50     prints its base URL, serves until it is stopped
    with running(latency_ms=50) as base_url: ...                the same in another process, on a free port

What a client spends beyond the latency is the client's own cost. The same request has the same answer, always.
`--faults 0.3` makes it hostile: that share of attempts meets a fault of bench/faults.py, the same ones in every run; a
last message "fault: <name>" asks for one. GET /stats counts, GET /calls lists the seeds asked, POST /reset starts over.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from bench import faults

REPLY = "I see your point, but the older release was steadier."
ODDS = {"positive": 0.6, "negative": 0.3, "1": 0.05, "0": 0.05}  # of the first token, where log-probabilities are asked


@dataclass
class Stats:
    """Counted since the start or the last reset. Times are seconds since the epoch, 0 before the first call."""

    requests: int = 0
    bytes_in: int = 0
    input_characters: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    first: float = 0.0
    last: float = 0.0
    faults: dict[str, int] = field(default_factory=dict)


class Stub:
    """The routes of one server."""

    def __init__(self, latency: float, faults: float = 0.0) -> None:
        self.latency = latency  # seconds
        self.faults = faults  # share of attempts
        self.stats = Stats()
        self.calls: list[int] = []  # the seeds of requests in the order of their coming
        self._attempts: Counter[bytes] = Counter()

    def app(self) -> web.Application:
        app = web.Application(client_max_size=2**28)
        app.add_routes(
            [
                web.post("/v1/chat/completions", self.chat),
                web.post("/openai/deployments/{model}/chat/completions", self.by_model),
                web.get("/v1/models", self.models),
                web.get("/stats", self.show),
                web.get("/calls", self.list),
                web.post("/reset", self.reset),
            ]
        )
        return app

    async def by_model(self, request: web.Request) -> web.StreamResponse:
        """As Azure has it. LangChain's pools are kept for the whole process: nobody else closes their connections."""
        answer = await self.chat(request)
        answer.force_close()
        return answer

    async def chat(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = json.loads(raw)
        self.calls.append(body.get("seed") or 0)
        stats = self.stats
        stats.first = stats.first or time.time()
        stats.requests += 1
        stats.bytes_in += len(raw)
        characters = sum(len(str(message.get("content") or "")) for message in body["messages"])
        stats.input_characters += characters
        stats.in_flight += 1
        stats.most_in_flight = max(stats.most_in_flight, stats.in_flight)
        try:
            await asyncio.sleep(self.latency)
        finally:
            stats.in_flight -= 1
        stats.last = time.time()
        whole = json.dumps(completion(body, zlib.crc32(raw), characters // 4)).encode()
        name = self._fault(body, raw)
        if name is None:
            return faults.plain(whole)
        stats.faults[name] = stats.faults.get(name, 0) + 1
        try:
            return await faults.ALL[name](request, whole)
        except ConnectionError:  # the client had enough
            return web.Response()

    def _fault(self, body: dict[str, Any], raw: bytes) -> str | None:
        asked = str(body["messages"][-1].get("content")).partition("fault: ")[2]
        if asked in faults.ALL:
            return asked
        if not self.faults:
            return None
        self._attempts[raw] += 1
        return faults.drawn(self.faults, body, self._attempts[raw])

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": "stub", "object": "model"}]})

    async def show(self, request: web.Request) -> web.Response:
        return web.json_response(asdict(self.stats))

    async def list(self, request: web.Request) -> web.Response:
        return web.json_response(self.calls)

    async def reset(self, request: web.Request) -> web.Response:
        self.stats = Stats(in_flight=self.stats.in_flight)
        self.calls.clear()
        self._attempts.clear()
        return web.json_response({})


def completion(body: dict[str, Any], number: int, tokens_in: int) -> dict[str, Any]:
    """The answer's JSON: a label where log-probabilities are asked, a number where few tokens are, else a sentence.

    The sentence ends in `number`, so that no two requests have the same.
    """
    logprobs = None
    if body.get("logprobs"):
        text = max(ODDS, key=ODDS.__getitem__)
        top = [{"token": t, "logprob": math.log(p), "bytes": list(t.encode())} for t, p in ODDS.items()]
        shown = top[: body.get("top_logprobs") or 0]
        logprobs = {"content": [{**top[0], "top_logprobs": shown}], "refusal": None}
    elif (body.get("max_completion_tokens") or body.get("max_tokens") or 100) <= 16:
        text = str(number % 10)
    else:
        text = f"{REPLY} ({number})"
    tokens_out = len(text) // 4 + 1
    told = {} if body.get("prompt_logprobs") is None else {"prompt_logprobs": prompt_logprobs(body)}
    return told | {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model", "stub"),
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text},
                "logprobs": logprobs,
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        },
    }


def prompt_logprobs(body: dict[str, Any]) -> list[dict[str, Any] | None]:
    """As vLLM has them: null for the first token. Four characters are a token, each of probability 0.5."""
    text = "".join(f"<{message['role']}>{message['content']}<end>" for message in body["messages"])
    text = text.removesuffix("<end>") if body.get("continue_final_message") else text
    text += "<assistant>" if body.get("add_generation_prompt", True) else ""
    pieces = [text[at : at + 4] for at in range(0, len(text), 4)]
    half = math.log(0.5)
    return [
        None,
        *({str(zlib.crc32(p.encode())): {"logprob": half, "rank": 2, "decoded_token": p}} for p in pieces[1:]),
    ]


@contextmanager
def running(latency_ms: float = 50.0, faults: float = 0.0) -> Iterator[str]:
    """The base URL (ending in /v1) of a server in another process, stopped at the end of the block."""
    options = {"--port": 0, "--latency-ms": latency_ms, "--faults": faults}
    command = [sys.executable, "-m", "bench.stub_server", *(str(part) for pair in options.items() for part in pair)]
    root = Path(__file__).parent.parent
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


async def serve(port: int, latency: float, faults: float) -> None:
    runner = web.AppRunner(Stub(latency, faults).app(), access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    host, port = runner.addresses[0][:2]
    print(f"http://{host}:{port}/v1", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8910, help="0 takes a free one")
    parser.add_argument("--latency-ms", type=float, default=50.0)
    parser.add_argument("--faults", type=float, default=0.0, help="share of attempts that meet one")
    given = parser.parse_args()
    asyncio.run(serve(given.port, given.latency_ms / 1000, given.faults))
