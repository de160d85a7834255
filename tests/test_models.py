"""Models over real HTTP, against a local server that misbehaves by order: the user's words say how."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any, ClassVar

import pytest
from aiohttp import web

from memory.errors import BadInput, Missing, UnknownName
from simulator.answers import fault
from simulator.llm import Completion, ModelError, Request
from simulator.models import open_llm
from simulator.openai_chat import retry_after


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
THOUGHT = {
    "prompt_tokens": 12,
    "completion_tokens": 9,
    "total_tokens": 21,
    "completion_tokens_details": {"reasoning_tokens": 9},
}
REFUSALS: dict[str, tuple[int, dict[str, str]]] = {
    "400": (400, {}),
    "401": (401, {}),
    "400-filtered": (400, {}),
    "403": (403, {}),
    "404": (404, {}),
    "429": (429, {}),
    "429-after-3": (429, {"Retry-After": "3"}),
    "429-after-a-past-date": (429, {"Retry-After": "Wed, 21 Oct 2020 07:28:00 GMT"}),
    "429-after-nonsense": (429, {"Retry-After": "soon"}),
    "500": (500, {}),
    "503": (503, {"Retry-After": "2"}),
    "402": (402, {}),
    "408": (408, {}),
    "409": (409, {}),
    "429-spent": (429, {}),
}
CODES = {"400-filtered": "content_filter", "429-spent": "insufficient_quota"}
REFUSED_FOR_NOW = [("429", None), ("429-after-3", 3.0), ("429-after-a-past-date", None), ("429-after-nonsense", None)]
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
    "cut-before-words": answer("", "length", usage=THOUGHT),
    "declined": chosen(message={"role": "assistant", "content": None, "refusal": "I can't."}),
    "built": answer(system_fingerprint="fp_1"),
    "blank": answer(" \n"),
    "silent": answer(None),
    "filtered": answer("half a", "content_filter"),
}


class Server:
    """Answers by the last message. `bodies`, `keys` and `peers` of all calls since the last clear()."""

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
        name = body["messages"][-1]["content"]
        self.bodies.append(body)
        self.keys.append(request.headers.get("Authorization"))
        self.peers.append(request.transport and request.transport.get_extra_info("peername"))
        if name in REFUSALS:
            status, headers = REFUSALS[name]
            error = {"message": f"because {name}", "code": CODES.get(name)}
            return web.json_response({"error": error}, status=status, headers=headers)
        if name == "reset" and request.transport:
            request.transport.abort()
        if name == "late":
            await asyncio.sleep(9)
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


def request(name: str, **fields: Any) -> Request:
    return Request((("system", "Be brief."), ("user", name)), **{"max_tokens": 5, "seed": 7, **fields})


@contextmanager
def asking(provider: str, root: str, seconds: float = 10.0) -> Iterator[Asking]:
    """Asks at a base URL ("openai"), or by way of LangChain ("azure_openai": a provider whose package is here)."""
    with pytest.MonkeyPatch.context() as patch, asyncio.Runner() as runner:
        patch.setenv("AZURE_OPENAI_API_KEY", "azure")
        patch.setenv("AZURE_OPENAI_ENDPOINT", root)
        patch.setenv("OPENAI_API_VERSION", "2024-10-21")
        patch.delenv("OPENAI_API_KEY", raising=False)
        model = open_llm(f"{provider}:m", f"{root}/v1" if provider == "openai" else None, seconds)
        yield lambda name, **fields: runner.run(model(request(name, **fields)))
        runner.run(model.close())


@pytest.fixture(scope="module", params=["openai", "azure_openai"])
def provider(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def ask(provider: str, served: tuple[Server, str]) -> Iterator[Asking]:
    with asking(provider, served[1]) as found:
        yield found


@pytest.fixture(scope="module")
def direct(served: tuple[Server, str]) -> Iterator[Asking]:
    with asking("openai", served[1]) as found:
        yield found


def refusal(ask: Asking, name: str) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(name)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", ["401", "402", "403", "404"])
def test_what_every_call_would_meet_is_fatal(ask: Asking, name: str) -> None:
    error = refusal(ask, name)
    assert (error.kind, error.fatal) == ("refused", True)
    assert f"because {name}" in str(error)


def test_a_parameter_that_is_refused_fails_its_own_call_only(ask: Asking) -> None:
    error = refusal(ask, "400")
    assert (error.kind, error.fatal) == ("refused", False)


@pytest.mark.parametrize(("name", "wait"), REFUSED_FOR_NOW)
def test_an_endpoint_that_is_asked_too_often_says_how_long_to_wait(ask: Asking, name: str, wait: float | None) -> None:
    error = refusal(ask, name)
    assert (error.kind, error.fatal, error.wait) == ("limit", False, wait)


def test_a_quota_that_is_used_up_ends_the_run(ask: Asking) -> None:
    error = refusal(ask, "429-spent")
    assert (error.kind, error.fatal) == ("limit", True) and "no quota left" in str(error)


def test_a_date_to_wait_for_is_read_as_seconds() -> None:
    class Answer:
        headers: ClassVar = {"retry-after": format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)}

    error = ValueError()
    error.response = Answer  # type: ignore[attr-defined]
    wait = retry_after(error)
    assert wait is not None and 18 < wait <= 20


@pytest.mark.parametrize("name", ["500", "503", "408", "409", "reset", "html", "html-as-json", "half"])
def test_an_endpoint_in_trouble_is_worth_another_try(ask: Asking, name: str) -> None:
    error = refusal(ask, name)
    assert (error.kind, error.fatal) == ("transport", False)


def test_a_call_takes_no_longer_than_its_time_out(provider: str, served: tuple[Server, str]) -> None:
    with asking(provider, served[1], seconds=0.3) as ask:
        start = time.perf_counter()
        assert refusal(ask, "late").kind == "transport"
    assert time.perf_counter() - start < 8


def failure(ask: Asking, name: str) -> str | None:
    """The class of what `name` answers; None where it is an answer."""
    try:
        found = fault(ask(name))
    except ModelError as error:
        assert not error.fatal
        return error.kind
    return found and found[0]


@pytest.mark.parametrize("name", WRONG)
def test_json_of_another_shape_is_no_answer(ask: Asking, name: str) -> None:
    assert failure(ask, name) in ("transport", "empty")


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
        ("declined", "refusal"),
    ],
)
def test_an_answer_without_words_says_why(ask: Asking, name: str, kind: str) -> None:
    assert failure(ask, name) == kind


def test_an_answer_without_words_was_paid_all_the_same(ask: Asking) -> None:
    found = ask("cut-before-words")
    assert (found.text, found.tokens_out, found.reasoning) == ("", 9, 9)


def test_an_answer_comes_with_its_tokens(ask: Asking) -> None:
    found = ask("plain")
    assert (found.text, found.finish) == ("fine", "stop")
    assert (found.tokens_in, found.tokens_out, found.cached) == (12, 3, 8)
    assert 0 < found.seconds < 10


@pytest.mark.parametrize("name", ["no-usage", "usage-null"])
def test_tokens_that_are_not_reported_are_unknown_not_zero(ask: Asking, name: str) -> None:
    found = ask(name)
    assert (found.text, found.tokens_in, found.tokens_out, found.cached) == ("fine", None, None, None)


def test_what_a_seed_is_worth_is_said_as_far_as_it_is_known(direct: Asking, provider: str, ask: Asking) -> None:
    assert (direct("built").fingerprint, direct("built").seeding) == ("fp_1", "best_effort")
    assert (direct("plain").fingerprint, direct("plain").seeding) == ("", "unknown")
    assert ask("plain").seeding == ("unknown" if provider == "openai" else "not_sent")


def test_words_before_the_token_limit_are_an_answer(ask: Asking) -> None:
    found = ask("cut-words")
    assert (found.text, found.finish) == ("half a", "length")


def test_the_first_tokens_alternatives_are_read(direct: Asking) -> None:
    assert direct("labels").logprobs == {"yes": -0.1, "no": -2.5}


@pytest.mark.parametrize("name", ["labels-without-a-list", "labels-null", "plain"])
def test_alternatives_that_are_not_given_are_none(direct: Asking, name: str) -> None:
    assert direct(name).logprobs == {}


def test_all_that_decides_an_answer_reaches_the_wire(direct: Asking, served: tuple[Server, str]) -> None:
    served[0].clear()
    direct("plain", max_tokens=9, temperature=0.7, seed=11, stop=("\n", "END"), top_logprobs=100)
    [body] = served[0].bodies
    assert (_limit(body), body["temperature"], body["seed"], body["stop"]) == (9, 0.7, 11, ["\n", "END"])
    assert (body["logprobs"], body["top_logprobs"]) == (True, 20)
    assert body["messages"] == [{"role": role, "content": text} for role, text in request("plain").messages]
    assert body["model"] == "m" and not body.get("stream")


def test_what_is_not_asked_for_does_not_reach_the_wire(direct: Asking, served: tuple[Server, str]) -> None:
    served[0].clear()
    direct("plain")
    [body] = served[0].bodies
    assert not {"stop", "logprobs", "top_logprobs"} & {key for key, value in body.items() if value is not None}
    assert (body["temperature"], body["seed"]) == (0, 7)


def test_every_provider_is_told_length_temperature_and_stops(ask: Asking, served: tuple[Server, str]) -> None:
    served[0].clear()
    for n in (4, 6):
        ask("plain", max_tokens=n, temperature=n / 10, stop=("END",))
    told = [(_limit(body), body["temperature"], body["stop"]) for body in served[0].bodies]
    assert told == [(4, 0.4, ["END"]), (6, 0.6, ["END"])]


def _limit(body: dict[str, Any]) -> Any:
    return body.get("max_tokens", body.get("max_completion_tokens"))


def test_one_connection_serves_call_after_call(served: tuple[Server, str]) -> None:
    served[0].clear()
    with asking("openai", served[1]) as ask:
        for n in (4, 5, 6):
            ask("plain", max_tokens=n, temperature=n / 10, seed=n)
    assert len(served[0].peers) == 3 and len(set(served[0].peers)) == 1


@pytest.mark.parametrize(("key", "sent"), [("secret", "Bearer secret"), (None, "Bearer unset")])
def test_the_key_of_the_environment_is_sent_and_an_own_endpoint_needs_none(
    served: tuple[Server, str], key: str | None, sent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def once() -> None:
        model = open_llm("openai:m", f"{served[1]}/v1")
        await model(request("plain"))
        await model.close()
        await model.close()  # safe to call twice

    served[0].clear()
    monkeypatch.setenv("OPENAI_API_KEY", key) if key else monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    asyncio.run(once())
    assert served[0].keys == [sent]


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
            assert (await model(request("plain"))).text == "fine"
            await asyncio.to_thread(gone.join)
            return await model(request("plain"))
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
