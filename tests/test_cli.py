"""The command from end to end against a stub server, and what it says to each mistake: one sentence, no traceback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from bench.stub_server import running
from evaluation.cli import main
from tests.club import dump

ROOT = Path(__file__).parent.parent
IMPORT = ("--embedder", "bag", "--keep-names")
SHORT = ("--threads", "2", "--retriever", "recency:k=2")
CALLS = 2 * 7 * 3  # threads, replies of each, a reply and two probes for each of them

Said = pytest.CaptureFixture[str]


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def mistake(capsys: Said, *arguments: object) -> str:
    """What is said to a mistake: exit status 2, one sentence on stderr, on stdout nothing but progress and tables."""
    capsys.readouterr()
    assert run(*arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("personaconv: ") and said.count("\n") == 1, said
    return said


@pytest.fixture(scope="module")
def stub() -> Iterator[str]:
    with running(latency_ms=0) as base_url:
        yield base_url


@pytest.fixture(scope="module")
def slow() -> Iterator[str]:
    with running(latency_ms=25) as base_url:
        yield base_url


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, stub: str) -> Path:
    """A folder with a corpus and a finished run of it; tests copy what they change."""
    folder = tmp_path_factory.mktemp("made")
    assert run("import", dump(folder), "-o", folder / "corpus", *IMPORT) == 0
    assert run("simulate", folder / "corpus", "-o", folder / "run", *SHORT, *at(stub)) == 0
    return folder


def at(base_url: str) -> tuple[str, ...]:
    return "--model", "openai:stub", "--base-url", base_url


def asked(base_url: str) -> int:
    """Requests that the stub has had since it started."""
    with urlopen(Request(base_url.removesuffix("/v1") + "/stats"), timeout=10) as answer:
        return int(json.load(answer)["requests"])


def log(run: Path) -> list[bytes]:
    file = run / "log.ndjson"
    return file.read_bytes().splitlines(keepends=True) if file.exists() else []


def test_a_dump_becomes_a_report_and_a_transcript(made: Path, capsys: Said) -> None:
    capsys.readouterr()
    assert run("report", made / "run") == 0
    said = capsys.readouterr().out
    for task in ("generation", "sentiment", "impact"):
        assert f"{task}, rollout" in said
    for name in ("report.html", "transcript.md", "scores.ndjson"):
        assert str(made / "run" / name) in said and (made / "run" / name).stat().st_size > 0
    assert run("view", made / "run") == 0
    shown = capsys.readouterr().out
    assert shown == (made / "run" / "transcript.md").read_text() + "\n"
    assert shown.count("[simulated, rollout]") == 14 and "older release was steadier" in shown


def test_one_thread_of_a_run_is_shown_by_its_id(made: Path, capsys: Said) -> None:
    thread = json.loads(log(made / "run")[0])["slot"]["thread"]
    capsys.readouterr()
    assert run("view", made / "run", "--thread", thread) == 0
    shown = capsys.readouterr().out
    assert f"thread {thread}" in shown and shown.count("[simulated, rollout]") == 7


def test_the_same_log_gives_the_same_scores(made: Path) -> None:
    file = made / "run" / "scores.ndjson"
    assert run("report", made / "run") == 0
    first = file.read_bytes()
    assert run("report", made / "run") == 0
    assert file.read_bytes() == first and first.count(b"\n") > CALLS


def test_a_finished_run_is_not_asked_again(made: Path, stub: str, capsys: Said) -> None:
    before, kept = asked(stub), log(made / "run")
    assert len(kept) == CALLS
    assert run("simulate", made / "corpus", "-o", made / "run", *SHORT, *at(stub), "--concurrency", "5") == 0
    assert f"0 calls made, {CALLS} found in the log, 0 failed" in capsys.readouterr().out
    assert (asked(stub), log(made / "run")) == (before, kept)


# SIGINT by hand: where the tests run in the background it is ignored, and would be in a child.
CHILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from evaluation.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_goes_on_without_repeating_a_finished_call(
    made: Path, slow: str, tmp_path: Path, stop: int
) -> None:
    command = ("simulate", made / "corpus", "-o", tmp_path / "run", *SHORT, *at(slow), "--concurrency", "3")
    before = asked(slow)
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, *map(str, command)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 60
        while len(log(tmp_path / "run")) < 5:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        process.send_signal(stop)
        start = time.monotonic()
        _, said = process.communicate(timeout=30)
        took = time.monotonic() - start
    if stop == signal.SIGINT:
        assert (process.returncode, took < 10) == (130, True)  # 0.5 s if idle; a stalled call would be waited for
        assert said == "stopped; all that was finished is kept: the same command goes on from here\n"
    else:
        assert process.returncode == -signal.SIGKILL
    kept, between = [line for line in log(tmp_path / "run") if line.endswith(b"\n")], asked(slow)
    assert 5 <= len(kept) < CALLS
    assert between - before - len(kept) <= 3  # in flight when it was stopped
    assert run(*command) == 0
    assert asked(slow) - between == CALLS - len(kept)
    finished = log(tmp_path / "run")
    assert len(finished) == CALLS and finished[: len(kept)] == kept
    turns = [json.loads(line) for line in finished]
    assert len({(t["slot"]["thread"], t["slot"]["id"], t["ask"], t["repeat"]) for t in turns}) == CALLS


def test_a_broken_line_is_named_and_the_good_ones_are_kept(tmp_path: Path, capsys: Said) -> None:
    assert run("import", dump(tmp_path, b"{broken", b"[1]"), "-o", tmp_path / "corpus", *IMPORT) != 0
    shown, said = capsys.readouterr()
    assert "kept" in shown and " 64 " in shown
    assert "club.ndjson:65" in shown and "club.ndjson:66" in shown
    assert "not JSON" in said and "club.ndjson:65" in said and said.count("\n") == 1
    assert json.loads((tmp_path / "corpus" / "manifest.json").read_bytes())["counts"]["messages"] == 64


def test_an_empty_dump_makes_a_corpus_that_says_it_is_empty(tmp_path: Path, stub: str, capsys: Said) -> None:
    (tmp_path / "empty.ndjson").touch()
    said = mistake(capsys, "import", tmp_path / "empty.ndjson", "-o", tmp_path / "corpus", *IMPORT)
    assert "no message was found" in said
    said = mistake(capsys, "simulate", tmp_path / "corpus", "-o", tmp_path / "run", *SHORT, *at(stub))
    assert "no threads" in said and "import a dump" in said


def test_a_dump_that_is_not_there_is_named(tmp_path: Path, capsys: Said) -> None:
    said = mistake(capsys, "import", tmp_path / "gone.zst", "-o", tmp_path / "corpus", *IMPORT)
    assert str(tmp_path / "gone.zst") in said and "check the path" in said
    assert not (tmp_path / "corpus").exists()


def test_an_unknown_embedder_is_answered_with_the_list(tmp_path: Path, capsys: Said) -> None:
    said = mistake(capsys, "import", dump(tmp_path), "-o", tmp_path / "corpus", "--embedder", "word2vec")
    assert "'word2vec'" in said and "minilm" in said and "bag" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--model", "gpt-5"], ["unknown model 'gpt-5'", "embedded", "openai:<model>"]),
        (["--model", "nobody:gpt"], ["unknown model provider 'nobody'", "anthropic"]),
        (["--model", "openai:gpt"], ["OPENAI_API_KEY"]),
        (["--model", "openai:gpt", "--base-url", "http://127.0.0.1:1/v1"], ["127.0.0.1:1/v1", "refused", "--base-url"]),
        (["--model", "openai:gpt", "--base-url", "127.0.0.1"], ["'127.0.0.1'", "http://127.0.0.1:8000/v1"]),
        (["--base-url", "http://127.0.0.1:1/v1"], ["--base-url", "'embedded'"]),
        (["--mode", "free"], ["a new thread needs its community", "--place", "--openings"]),
        (["--probe", "mood"], ["'mood'", "impact", "sentiment"]),
        (["--threads", "-3"], ["threads = -3", "1 thread or more"]),
        (["--threads", "0"], ["threads = 0", "1 thread or more"]),
        (["--cut", "0"], ["cut = '0'", "1 message or more"]),
        (["--max-turns", "-1"], ["max_turns = -1", "greater than or equal to 0"]),
        (["--repeats", "-1"], ["repeats = -1", "greater than or equal to 1"]),
        (["--concurrency", "0"], ["concurrency = 0", "greater than or equal to 1"]),
        (["--timeout", "-5"], ["timeout = -5", "greater than 0"]),
        (["--cut", "0", "--repeats", "0"], ["cut = '0'", "repeats = 0"]),
    ],
)
def test_a_wrong_option_is_named_with_what_is_meant(
    made: Path, tmp_path: Path, capsys: Said, monkeypatch: pytest.MonkeyPatch, options: list[str], says: list[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    said = mistake(capsys, "simulate", made / "corpus", "-o", tmp_path / "run", *options)
    assert [part for part in says if part not in said] == []
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--thread", "t3_none"], ["unknown thread 't3_none'", "t3_1", "t3_8"]),
        (["--retriever", "telepathy"], ["unknown retriever 'telepathy'", "dense", "recency"]),
        (["--retriever", "recency:depth=3"], ["'depth'", "choose from k"]),
        (["--retriever", "recency:k=many"], ["k='many'", "int"]),
        (["--retriever", "no.such.module:Mine"], ["no.such.module:Mine", "package.module:Class"]),
        (["--threads", "9"], ["asked for 9 threads", "found 5 of 8"]),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_those_that_are(
    made: Path, stub: str, tmp_path: Path, capsys: Said, options: list[str], says: list[str]
) -> None:
    said = mistake(capsys, "simulate", made / "corpus", "-o", tmp_path / "run", *SHORT, *at(stub), *options)
    assert [part for part in says if part not in said] == []
    assert not (tmp_path / "run").exists()


def test_no_corpus_says_how_to_make_one(tmp_path: Path, capsys: Said) -> None:
    said = mistake(capsys, "simulate", tmp_path / "none", "-o", tmp_path / "run")
    assert str(tmp_path / "none") in said and "personaconv import" in said


def test_a_run_folder_of_other_settings_is_refused_with_the_differences(made: Path, stub: str, capsys: Said) -> None:
    kept = log(made / "run")
    other = (*SHORT, *at(stub), "--seed", "1", "--cut", "2")
    said = mistake(capsys, "simulate", made / "corpus", "-o", made / "run", *other)
    assert "cut was 1, now 2" in said and "seed was 0, now 1" in said and "another folder" in said
    assert log(made / "run") == kept


def test_a_folder_that_cannot_be_written_is_named(made: Path, stub: str, tmp_path: Path, capsys: Said) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    if os.access(locked, os.W_OK):  # root may write anywhere but here
        locked = Path("/sys" if Path("/sys").exists() else "/dev/fd")
    said = mistake(capsys, "simulate", made / "corpus", "-o", locked / "run", *SHORT, *at(stub))
    assert str(locked / "run") in said
    said = mistake(capsys, "import", dump(tmp_path), "-o", locked / "corpus", *IMPORT)
    assert str(locked / "corpus") in said


def test_a_file_in_the_place_of_the_run_folder_is_named(made: Path, stub: str, tmp_path: Path, capsys: Said) -> None:
    file = dump(tmp_path)
    said = mistake(capsys, "simulate", made / "corpus", "-o", file, *SHORT, *at(stub))
    assert f"{file} is a file" in said and "name a folder" in said


@pytest.mark.parametrize("command", ["report", "view"])
def test_a_folder_without_a_run_says_how_to_make_one(tmp_path: Path, capsys: Said, command: str) -> None:
    said = mistake(capsys, command, tmp_path)
    assert f"no run in {tmp_path}" in said and "personaconv simulate" in said


def test_a_thread_that_was_not_played_is_answered_with_those_that_were(made: Path, capsys: Said) -> None:
    said = mistake(capsys, "view", made / "run", "--thread", "t3_1")
    played = {json.loads(line)["slot"]["thread"] for line in log(made / "run")}
    assert "'t3_1'" in said and all(thread in said for thread in played)


def test_a_run_that_has_no_turn_yet_says_to_go_on(made: Path, tmp_path: Path, capsys: Said) -> None:
    shutil.copytree(made / "run", tmp_path / "run")
    (tmp_path / "run" / "log.ndjson").write_bytes(b"")
    said = mistake(capsys, "report", tmp_path / "run", "--corpus", made / "corpus")
    assert "no finished turn" in said and "personaconv simulate" in said


def test_a_line_of_the_log_that_is_no_turn_is_named(made: Path, tmp_path: Path, capsys: Said) -> None:
    shutil.copytree(made / "run", tmp_path / "run")
    lines = log(made / "run")
    (tmp_path / "run" / "log.ndjson").write_bytes(b"".join([*lines[:2], b"{}\n", *lines[2:]]))
    said = mistake(capsys, "report", tmp_path / "run", "--corpus", made / "corpus")
    assert "log.ndjson line 3" in said


def test_a_corpus_that_moved_is_asked_for_and_then_found(made: Path, tmp_path: Path, capsys: Said) -> None:
    shutil.copytree(made / "run", tmp_path / "run")
    for command in ("report", "view"):
        said = mistake(capsys, command, tmp_path / "run")
        assert str(tmp_path / "corpus") in said and "--corpus" in said
    assert run("view", tmp_path / "run", "--corpus", made / "corpus") == 0
    shutil.copytree(made / "corpus", tmp_path / "corpus")
    assert run("view", tmp_path / "run") == 0


def test_a_corpus_that_changed_is_no_basis_for_a_report(made: Path, tmp_path: Path, stub: str, capsys: Said) -> None:
    shutil.copytree(made / "run", tmp_path / "run")
    assert run("import", dump(tmp_path, threads=9), "-o", tmp_path / "corpus", *IMPORT) == 0
    for command in ("report", "view"):
        said = mistake(capsys, command, tmp_path / "run")
        assert str(tmp_path / "corpus") in said and "other data" in said
    said = mistake(capsys, "simulate", tmp_path / "corpus", "-o", tmp_path / "run", *SHORT, *at(stub))
    assert "data_hash was" in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["conjure"], "No such command 'conjure'"),
        (["simulate"], "Missing argument"),
        (["simulate", "corpus"], "Missing option '--out'"),
        (["simulate", "corpus", "-o", "run", "--colour"], "No such option: --colour"),
        (["simulate", "corpus", "-o", "run", "--seed", "lucky"], "'--seed'"),
    ],
)
def test_wrong_use_is_answered_with_the_usage(capsys: Said, arguments: list[str], says: str) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("Usage: personaconv") and says in said and "Traceback" not in said


def test_policies_lists_every_folder(capsys: Said) -> None:
    assert run("policies") == 0
    shown = capsys.readouterr().out
    assert [kind for kind in ("retriever", "scheduler", "task") if kind not in shown] == []
    assert "recency" in shown and "k=5" in shown and "skeleton" in shown and "sentiment" in shown


def test_the_doctor_ends_with_1_where_a_part_does_not_work(tmp_path: Path, capsys: Said) -> None:
    assert run("doctor", tmp_path, "--base-url", "http://127.0.0.1:1/v1") == 1
    shown = capsys.readouterr().out
    assert shown.count("FAILED") == 1 and "start the server" in shown
