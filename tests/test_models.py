"""Models over real HTTP, against a local server that misbehaves by order: the model's name says how."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aiohttp import web

from memory.errors import BadInput, Missing, UnknownName
from simulator.llm import Completion, ModelError, Request
from simulator.models import open_llm

ASK = Request((("system", "Be brief."), ("user", "hello")), 5, seed=7)


def answer(content: Any = "fine", finish: str = "stop", **more: Any) -> dict[str, Any]:
    """A chat completion as endpoints send it; `more` goes beside its choices."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], **more}


def chosen(**choice: Any) -> dict[str, Any]:
    """A chat completion whose one choice has these fields on top of, or instead of, the usual ones."""
    body = answer()
    body["choices"][0] |= choice
    return body


LABELS = {
    "content": [
        {
            "token": "yes",
            "logprob": -0.1,
            "bytes": None,
            "top_logprobs": [
                {"token": "yes", "logprob": -0.1, "bytes": None},
                {"token": "no", "logprob": -2.5, "bytes": None},
            ],
        }
    ]
}
USAGE = {
    "prompt_tokens": 12,
    "completion_tokens": 3,
    "total_tokens": 15,
    "prompt_tokens_details": {"cached_tokens": 8},
}
REFUSALS: dict[str, tuple[int, dict[str, str]]] = {
    "400": (400, {}),
    "401": (401, {}),
    "400-filtered": (400, {}),
    "403": (403, {}),
    "404": (404, {}),
    "429": (429, {}),
    "429-after-3": (429, {"Retry-After": "3"}),
    "429-after-a-date": (429, {"Retry-After": "Wed, 21 Oct 2026 07:28:00 GMT"}),
    "500": (500, {}),
    "503": (503, {"Retry-After": "2"}),
}
WRONG: dict[str, Any] = {
    "null": None,
    "a-list": [],
    "a-text": "fine",
    "nothing": {},
    "an-error": {"error": {"message": "out of memory"}},
    "choices-null": {"choices": None},
    "choices-empty": {"choices": []},
    "choices-of-nothing": {"choices": [{}]},
    "choices-of-text": {"choices": ["fine"]},
    "message-null": chosen(message=None),
    "message-a-list": chosen(message=["fine"]),
    "content-a-number": answer(5),
    "content-an-object": answer({"text": "fine"}),
}
WRONG_ASIDE: dict[str, Any] = {
    "logprobs-a-text": chosen(logprobs="none"),
    "logprobs-of-text": chosen(logprobs={"content": ["yes"]}),
    "logprobs-without-numbers": chosen(logprobs={"content": [{"top_logprobs": [{"token": "yes"}]}]}),
    "usage-of-text": answer(usage={"prompt_tokens": "many", "completion_tokens": "few"}),
    "usage-a-list": answer(usage=[1, 2]),
}
ANSWERS: dict[str, Any] = {
    "plain": answer(usage=USAGE),
    "no-usage": answer(),
    "usage-null": answer(usage=None),
    "labels": chosen(logprobs=LABELS),
    "labels-without-a-list": chosen(logprobs={"content": [{"token": "yes", "logprob": -0.1, "bytes": None}]}),
    "labels-null": chosen(logprobs={"content": None}),
    "cut-words": answer("half a", "length"),
    "cut-before-words": answer("", "length"),
    "blank": answer(" \n"),
    "silent": answer(None),
    "filtered": answer("half a", "content_filter"),
}


class Server:
    """Answers by the model's name in the body. `bodies`, `keys` and `peers` of all calls since the last clear()."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.peers: list[Any] = []

    def clear(self) -> None:
        for seen in (self.bodies, self.keys, self.peers):
            seen.clear()

    async def serve(self, request: web.Request) -> web.Response:
        found = await self.chat(request)
        if request.path.startswith("/openai/"):
            found.force_close()  # LangChain's pools are kept for the whole process, so nobody closes their connections
        return found

    async def chat(self, request: web.Request) -> web.Response:
        body = await request.json()
        name = body["model"]
        self.bodies.append(body)
        self.keys.append(request.headers.get("Authorization"))
        self.peers.append(request.transport and request.transport.get_extra_info("peername"))
        if name in REFUSALS:
            status, headers = REFUSALS[name]
            error = {"message": f"because {name}", "code": "content_filter" if name == "400-filtered" else None}
            return web.json_response({"error": error}, status=status, headers=headers)
        if name == "reset" and request.transport:
            request.transport.abort()
        if name == "late":
            await asyncio.sleep(5)
            name = "plain"
        if name == "html":
            return web.Response(text="<html><body>Sign in</body></html>", content_type="text/html")
        if name == "html-as-json":
            return web.Response(text="<html><body>Sign in</body></html>", content_type="application/json")
        if name == "half":
            return web.Response(text='{"choices": [{"mess', content_type="application/json")
        return web.json_response((WRONG | WRONG_ASIDE | ANSWERS)[name])


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Server, str]]:
    server, loop, listening = Server(), asyncio.new_event_loop(), socket.create_server(("127.0.0.1", 0))

    async def serve(stop: asyncio.Event) -> None:
        app = web.Application()
        app.router.add_post("/{path:.*}", server.serve)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0)
        await runner.setup()
        await web.SockSite(runner, listening).start()
        await stop.wait()
        await runner.cleanup()

    stop = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(serve(stop)))
    thread.start()
    yield server, f"http://127.0.0.1:{listening.getsockname()[1]}"
    loop.call_soon_threadsafe(stop.set)
    thread.join()
    loop.close()


Asking = Callable[..., Completion]


@pytest.fixture(params=["openai", "azure_openai"])
def ask(request: pytest.FixtureRequest, served: tuple[Server, str], monkeypatch: pytest.MonkeyPatch) -> Asking:
    """Asks the model called `name` once: at a base URL, and by way of LangChain (a provider whose package is here)."""
    provider, (server, root) = request.param, served
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", root)
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    server.clear()

    async def once(name: str, request: Request, seconds: float) -> Completion:
        model = open_llm(f"{provider}:{name}", f"{root}/v1" if provider == "openai" else None, seconds)
        try:
            return await model(request)
        finally:
            await model.close()

    return lambda name, request=ASK, timeout=10.0: asyncio.run(once(name, request, timeout))


def refusal(ask: Asking, name: str, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(name, **options)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", ["401", "403", "404"])
def test_what_every_call_would_meet_is_fatal(ask: Asking, name: str) -> None:
    error = refusal(ask, name)
    assert (error.kind, error.fatal) == ("refused", True)
    assert f"because {name}" in str(error)


def test_a_parameter_that_is_refused_fails_its_own_call_only(ask: Asking) -> None:
    error = refusal(ask, "400")
    assert (error.kind, error.fatal) == ("refused", False)


@pytest.mark.parametrize(("name", "wait"), [("429", None), ("429-after-3", 3.0), ("429-after-a-date", None)])
def test_an_endpoint_that_is_asked_too_often_says_how_long_to_wait(ask: Asking, name: str, wait: float | None) -> None:
    error = refusal(ask, name)
    assert (error.kind, error.fatal, error.wait) == ("limit", False, wait)


@pytest.mark.parametrize("name", ["500", "503", "reset", "html", "html-as-json", "half"])
def test_an_endpoint_in_trouble_is_worth_another_try(ask: Asking, name: str) -> None:
    error = refusal(ask, name)
    assert (error.kind, error.fatal) == ("transport", False)


def test_a_call_takes_no_longer_than_its_time_out(ask: Asking) -> None:
    start = time.perf_counter()
    assert refusal(ask, "late", timeout=0.3).kind == "transport"
    assert time.perf_counter() - start < 4


@pytest.mark.parametrize("name", WRONG)
def test_json_of_another_shape_is_no_answer(ask: Asking, name: str) -> None:
    error = refusal(ask, name)
    assert error.kind in ("transport", "empty") and not error.fatal


@pytest.mark.parametrize("name", WRONG_ASIDE)
def test_numbers_that_are_none_never_reach_the_log(ask: Asking, name: str) -> None:
    try:
        found = ask(name)
    except ModelError as error:
        assert error.kind == "transport"
    else:
        assert (found.text, found.tokens_in, found.tokens_out, found.logprobs) == ("fine", None, None, {})


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("blank", "empty"),
        ("silent", "empty"),
        ("cut-before-words", "truncated"),
        ("filtered", "content_filter"),
        ("400-filtered", "content_filter"),
    ],
)
def test_an_answer_without_words_says_why(ask: Asking, name: str, kind: str) -> None:
    assert refusal(ask, name).kind == kind


def test_an_answer_comes_with_its_tokens(ask: Asking) -> None:
    found = ask("plain")
    assert (found.text, found.finish) == ("fine", "stop")
    assert (found.tokens_in, found.tokens_out, found.cached) == (12, 3, 8)
    assert 0 < found.seconds < 10


@pytest.mark.parametrize("name", ["no-usage", "usage-null"])
def test_tokens_that_are_not_reported_are_unknown_not_zero(ask: Asking, name: str) -> None:
    found = ask(name)
    assert (found.text, found.tokens_in, found.tokens_out, found.cached) == ("fine", None, None, None)


def test_words_before_the_token_limit_are_an_answer(ask: Asking) -> None:
    found = ask("cut-words")
    assert (found.text, found.finish) == ("half a", "length")


openai_only = pytest.mark.parametrize("ask", ["openai"], indirect=True)


@openai_only
def test_the_first_tokens_alternatives_are_read(ask: Asking) -> None:
    assert ask("labels").logprobs == {"yes": -0.1, "no": -2.5}


@openai_only
@pytest.mark.parametrize("name", ["labels-without-a-list", "labels-null", "plain"])
def test_alternatives_that_are_not_given_are_none(ask: Asking, name: str) -> None:
    assert ask(name).logprobs == {}


@openai_only
def test_all_that_decides_an_answer_reaches_the_wire(ask: Asking, served: tuple[Server, str]) -> None:
    ask("plain", Request(ASK.messages, 9, 0.7, 11, ("\n", "END"), 100))
    [body] = served[0].bodies
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    assert (limit, body["temperature"], body["seed"], body["stop"]) == (9, 0.7, 11, ["\n", "END"])
    assert (body["logprobs"], body["top_logprobs"]) == (True, 20)
    assert [(m["role"], m["content"]) for m in body["messages"]] == list(ASK.messages)
    assert not body.get("stream")


@openai_only
def test_what_is_not_asked_for_does_not_reach_the_wire(ask: Asking, served: tuple[Server, str]) -> None:
    ask("plain")
    [body] = served[0].bodies
    assert not {"stop", "logprobs", "top_logprobs"} & {key for key, value in body.items() if value is not None}
    assert (body["temperature"], body["seed"]) == (0, 7)


def test_a_langchain_provider_is_told_length_temperature_and_stops(
    served: tuple[Server, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, root = served
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "azure")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", root)
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    server.clear()
    several(None, "azure_openai:plain", [Request(ASK.messages, n, n / 10, stop=("END",)) for n in (4, 6)])
    limits = [body.get("max_tokens", body.get("max_completion_tokens")) for body in server.bodies]
    assert limits == [4, 6]
    assert [(body["temperature"], body["stop"]) for body in server.bodies] == [(0.4, ["END"]), (0.6, ["END"])]


def several(base_url: str | None, name: str, requests: list[Request]) -> None:
    async def all_of_them() -> None:
        model = open_llm(name, base_url)
        try:
            for request in requests:
                await model(request)
        finally:
            await model.close()
            await model.close()  # safe to call twice

    asyncio.run(all_of_them())


def test_one_connection_serves_call_after_call(served: tuple[Server, str]) -> None:
    server, root = served
    server.clear()
    several(f"{root}/v1", "openai:plain", [Request(ASK.messages, n, n / 10, n) for n in (4, 5, 6)])
    assert len(server.peers) == 3 and len(set(server.peers)) == 1


@pytest.mark.parametrize(("key", "sent"), [("secret", "Bearer secret"), (None, "Bearer unset")])
def test_the_key_of_the_environment_is_sent_and_an_own_endpoint_needs_none(
    served: tuple[Server, str], key: str | None, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, root = served
    server.clear()
    monkeypatch.setenv("OPENAI_API_KEY", key) if key else monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    several(f"{root}/v1", "openai:plain", [ASK])
    assert server.keys == [sent]


def test_a_server_that_goes_away_between_two_calls_is_a_transport_failure() -> None:
    def once(listening: socket.socket) -> None:
        listening.accept()[0].close()  # the knock
        caller, _ = listening.accept()
        caller.recv(65536)
        said = json.dumps(answer()).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(said)}\r\n\r\n"
        caller.sendall(head.encode() + said)
        caller.close()
        listening.close()

    async def twice(base_url: str, gone: threading.Thread) -> Completion:
        model = open_llm("openai:m", base_url)
        try:
            assert (await model(ASK)).text == "fine"
            await asyncio.to_thread(gone.join)
            return await model(ASK)
        finally:
            await model.close()

    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=once, args=[listening])
    base_url = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
    thread.start()
    with pytest.raises(ModelError) as caught:
        asyncio.run(twice(base_url, thread))
    assert caught.value.kind == "transport"


@pytest.mark.parametrize(
    ("name", "base_url", "kind", "says"),
    [
        ("gpt", None, UnknownName, "embedded, openai:<model>"),
        ("openai:", None, UnknownName, "openai:<model>"),
        ("nobody:gpt", None, UnknownName, "openai"),
        ("anthropic:claude", None, Missing, "langchain-anthropic"),
        ("openai:gpt", None, Missing, "OPENAI_API_KEY"),
        ("azure_openai:gpt", None, Missing, "environment"),
        ("embedded", "http://127.0.0.1:1/v1", BadInput, "openai:<model>"),
        ("anthropic:claude", "http://127.0.0.1:1/v1", BadInput, "openai:<model>"),
        ("openai:gpt", "localhost:8000", BadInput, "http://127.0.0.1:8000/v1"),
        ("openai:gpt", "http://127.0.0.1:1/v1", ModelError, "nothing answers"),
        ("openai:gpt", "http://127.0.0.1:99999/v1", BadInput, "http://127.0.0.1:8000/v1"),
    ],
)
def test_a_model_that_cannot_be_opened_says_what_is_missing(
    name: str, base_url: str | None, kind: type[Exception], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "AZURE_OPENAI_ENDPOINT", "OPENAI_API_VERSION"):
        monkeypatch.delenv(variable, raising=False)
    with pytest.raises(kind) as caught:
        open_llm(name, base_url)
    assert says in str(caught.value) and "\n" not in str(caught.value)
