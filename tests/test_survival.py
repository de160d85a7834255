"""What may befall a run from outside: kill -9, signals, a full disk, files that were damaged."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from bench.stub_server import running
from evaluation.cli import main
from simulator import ends
from simulator.budget import Ledger, Limits, Spent
from simulator.llm import Completion, Request
from simulator.runlog import LOG, RunLog, turns
from tests.club import dump
from tests.test_runlog import turn

ROOT = Path(__file__).parent.parent
STOPS = 2.0  # seconds on a machine with a processor to spare


def test_a_run_killed_at_random_moments_ends_as_one_that_never_was() -> None:
    size = ("--kills", "15", "--people", "4", "--replies", "4", "--concurrency", "4", "--seed", "1")
    done = subprocess.run(
        [sys.executable, "-m", "bench.survival", *size], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"1[56] kills .* 0 finished calls paid twice; 0 logs differ", done.stdout), done.stdout


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("club")
    assert main(["import", str(dump(folder)), "-o", str(folder / "corpus"), "--embedder", "bag", "--keep-names"]) == 0
    return folder / "corpus"


@pytest.fixture(scope="module")
def slow() -> Iterator[str]:
    with running(latency_ms=400) as base_url:
        yield base_url


@pytest.fixture(scope="module")
def stub() -> Iterator[str]:
    with running(latency_ms=0) as base_url:
        yield base_url


# SIGINT by hand: where the tests run in the background it is ignored, and would be in a child.
CHILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from evaluation.cli import main
sys.exit(main(sys.argv[1:]))
"""


def simulate(corpus: Path, run: Path, url: str) -> list[str]:
    return ["simulate", str(corpus), "-o", str(run), "--threads", "2", "--retriever", "recency:k=2", "--probe", "none",
            "--model", "openai:stub", "--base-url", url, "--concurrency", "2"]  # fmt: skip


@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)])
def test_a_stopped_run_says_how_to_go_on_and_keeps_its_turns(
    corpus: Path, slow: str, tmp_path: Path, signals: tuple[int, ...]
) -> None:
    command = [sys.executable, "-c", CHILD, *simulate(corpus, tmp_path, slow)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        while not turns(tmp_path):
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        for number in signals:
            process.send_signal(number)
            time.sleep(0.02)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (
        130, "stopped; all that was finished is kept: the same command goes on from here\n"
    )  # fmt: skip
    kept = turns(tmp_path)
    assert 0 < len(kept) < 14 and not any(turn.failure for turn in kept)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_whose_calls_stall_does_not_wait_for_them(corpus: Path, tmp_path: Path, number: int) -> None:
    with running(latency_ms=30_000) as url:
        command = [sys.executable, "-c", CHILD, *simulate(corpus, tmp_path, url)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as child:
            deadline = time.monotonic() + 120
            while not in_flight(url):
                assert child.poll() is None and time.monotonic() < deadline
                time.sleep(0.02)
            began = time.monotonic()
            child.send_signal(number)
            _, said = child.communicate(timeout=30)
            took = time.monotonic() - began
    assert child.returncode == 130 and "the same command goes on from here" in said
    assert took < STOPS * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)), f"{took:.1f} s"


def in_flight(url: str) -> int:
    with urlopen(f"{url.removesuffix('/v1')}/stats", timeout=60) as answer:
        return int(json.load(answer)["in_flight"])


# What a full disk does: no file grows beyond so many bytes. Not before the tokenizer has unpacked its table.
FULL = """
import resource
from memory.tokens import clip_tokens
clip_tokens("word", 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
"""


def test_a_full_disk_is_said_in_one_sentence_and_the_run_goes_on_when_there_is_room(
    corpus: Path, stub: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = [*simulate(corpus, tmp_path, stub), "--repeats", "6"]  # 84 calls, of whose log 60,000 bytes hold most
    command = [sys.executable, "-c", FULL + CHILD, *asked]
    full = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert full.returncode == 2 and re.fullmatch(
        rf"personaconv: {tmp_path}/\S+: .*; all finished turns are in the log; mend that and run the command again\n",
        full.stderr,
    ), full.stderr
    kept = len(turns(tmp_path))
    assert kept  # how many depends on which file was full first
    assert main(asked) == 0
    assert f"{84 - kept} calls made, {kept} found in the log" in capsys.readouterr().out


@contextmanager
def room(file: Path, more: int) -> Iterator[None]:
    """What a full disk does: no file grows beyond the size of `file` and `more` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_turn_that_the_disk_does_not_take_whole_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.append(turn(1))
    kept = (tmp_path / LOG).read_bytes()
    with (
        room(tmp_path / LOG, 20),
        pytest.raises(OSError, match=r"File too large; all turns before are kept") as caught,
    ):
        log.append(turn(2))
    assert caught.value.filename == str(tmp_path / LOG)
    assert (tmp_path / LOG).read_bytes() == kept and set(log.done) == {turn(1).key}
    log.append(turn(2))
    log.close()
    assert turns(tmp_path) == [turn(1), turn(2)]


def test_the_end_of_a_thread_is_noted_whole_or_not_at_all(tmp_path: Path) -> None:
    ended = [ends.End(f"t{n}", 0, "the real thread ends here", 1, 1, 0) for n in range(3)]
    ends.note(tmp_path, ended[0])
    for more in (0, 30):
        with (
            room(tmp_path / ends.FILE, more),
            pytest.raises(OSError, match="File too large; all turns before are kept"),
        ):
            ends.note(tmp_path, ended[1])
    ends.note(tmp_path, ended[2])
    assert list(ends.read(tmp_path).values()) == [ended[0], ended[2]]


def test_a_sum_that_the_disk_does_not_take_leaves_the_ledger_whole_and_all_set_aside_counts(
    tmp_path: Path,
) -> None:
    request = Request((("user", "hello there"),), 20)
    ledger = Ledger(tmp_path, Limits(tokens=1000))
    held = asyncio.run(ledger.reserve(request))
    kept = (tmp_path / "spending.ndjson").read_bytes()
    with room(tmp_path / "spending.ndjson", 20):
        with pytest.raises(OSError, match="File too large; all finished turns before are kept"):
            asyncio.run(ledger.reserve(request))
        with pytest.raises(OSError, match="File too large; all finished turns before are kept"):
            ledger.settle(held, Completion("yes", tokens_in=10, tokens_out=5))
    assert (tmp_path / "spending.ndjson").read_bytes() == kept
    second = asyncio.run(ledger.reserve(request))
    ledger.settle(second, Completion("yes", tokens_in=10, tokens_out=5))
    ledger.close()
    again = Ledger(tmp_path, Limits(tokens=15 + held.tokens + second.tokens - 1))
    assert again.tokens == 15
    with pytest.raises(Spent, match=rf"{15 + held.tokens} so far in this run"):
        asyncio.run(again.reserve(request))


def test_a_line_that_lacks_its_end_alone_is_kept(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.append(turn(1))
    log.close()
    whole = (tmp_path / LOG).read_bytes()
    (tmp_path / LOG).write_bytes(whole[:-1])
    assert turns(tmp_path) == [turn(1)]
    RunLog(tmp_path).close()
    assert (tmp_path / LOG).read_bytes() == whole


def test_damaged_checkpoints_are_named_and_made_anew_from_the_log(
    corpus: Path, stub: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(simulate(corpus, tmp_path, stub)) == 0
    kept = (tmp_path / LOG).read_bytes()
    (tmp_path / "checkpoints.sqlite").write_bytes(b"no database" * 1000)
    capsys.readouterr()
    assert main(simulate(corpus, tmp_path, stub)) == 2
    assert re.search(
        r"checkpoints.sqlite is damaged \(.*\); remove it and run the command again", capsys.readouterr().err
    )
    (tmp_path / "checkpoints.sqlite").unlink()
    assert main(simulate(corpus, tmp_path, stub)) == 0
    assert (tmp_path / LOG).read_bytes() == kept
