"""A hostile endpoint over real HTTP: every fault is classed and counted, and changes no answer that came."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from bench import faults
from bench.stub_server import running
from evaluation.running import asks
from memory.store import MemoryStore
from simulator import runlog
from simulator.llm import LLM, ModelError, Request
from simulator.manifest import RunSpec
from simulator.models import open_llm
from simulator.run import simulate
from simulator.wrappers import Metered, Retried, Usage

LONG, SHORT = 20.0, 3.0  # seconds of patience; the server stalls for 30
SEAMS = ("openai", "azure_openai")  # our own, and LangChain's


@pytest.fixture(scope="module")
def hostile() -> Iterator[str]:
    with running(latency_ms=0, faults=0.3) as base_url:
        yield base_url


@pytest.fixture(scope="module")
def kind() -> Iterator[str]:
    with running(latency_ms=0) as base_url:
        yield base_url


Opened = Callable[..., LLM]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as found:  # one loop for all: LangChain's pools outlive a test
        yield found


@pytest.fixture(scope="module")
def opened(runner: asyncio.Runner) -> Iterator[Opened]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AZURE_OPENAI_API_KEY", "azure")
        patch.setenv("OPENAI_API_VERSION", "2024-10-21")

        made: dict[tuple[str, str, float], LLM] = {}

        def open(seam: str, base_url: str, timeout: float) -> LLM:
            patch.setenv("AZURE_OPENAI_ENDPOINT", base_url.removesuffix("/v1"))  # read when it is first asked, too
            key = seam, base_url, timeout
            if key not in made:
                made[key] = open_llm(f"{seam}:stub", base_url if seam == "openai" else None, timeout)
            return made[key]

        yield open
        for llm in made.values():
            runner.run(llm.close())


SAYS = {
    "too_many": ("limit", "asks to wait"),
    "too_many_wait": ("limit", "asks to wait"),
    "server_error": ("transport", "500"),
    "stall": ("transport", "no answer in 0.5 s"),
    "drip": ("transport", "no answer in 0.5 s"),
    "huge": ("transport", "the answer is longer than 16 MB"),
    "huge_when_unpacked": ("transport", "the answer is packed"),
    "half_a_body": ("transport", "not completed"),
    "html": ("transport", "no chat completion"),
    "html_as_json": ("transport", "not JSON"),
    "wrong_schema": ("transport", "no chat completion"),
    "redirect": ("transport", "redirects to http://127.0.0.1:9/elsewhere; if you trust that address"),
    "short_length": ("transport", "not JSON"),
    "bad_utf8": ("transport", "not JSON"),
}


@pytest.mark.parametrize(
    ("seam", "fault"),
    [(seam, fault) for seam in SEAMS for fault in sorted(set(faults.ALL) - set(faults.HARMLESS))],
)
def test_every_fault_has_its_class(runner: asyncio.Runner, opened: Opened, kind: str, seam: str, fault: str) -> None:
    llm = opened(seam, kind, 0.5 if fault in ("stall", "drip") else LONG)
    with pytest.raises(ModelError) as caught:
        runner.run(llm(Request((("user", f"fault: {fault}"),), 50)))
    wanted, says = SAYS.get(fault, ("transport", ""))
    assert (caught.value.kind, caught.value.fatal) == (wanted, False)
    assert str(caught.value).startswith(f"{seam}:stub") and "\n" not in str(caught.value)
    assert says in str(caught.value) or (seam != "openai" and not fault.startswith("huge"))
    assert caught.value.wait == (0.2 if fault == "too_many_wait" else None)


async def ended(spec: RunSpec, store: MemoryStore, llm: LLM, run: Path, probes: tuple[str, ...]) -> Usage:
    metered = Metered(llm)
    await simulate(spec, store, Retried(metered, attempts=2, first_wait=0.01), asks(probes), run)
    return metered.usage


@pytest.mark.parametrize(
    ("seam", "mode", "threads"), [("openai", "replay", 4), ("openai", "rollout", 4), ("azure_openai", "replay", 2)]
)
def test_a_run_against_a_hostile_endpoint_ends_and_says_what_a_clean_one_says(  # noqa: PLR0913 - fixtures
    runner: asyncio.Runner, opened: Opened, store: MemoryStore, hostile: str, kind: str, tmp_path: Path,
    seam: str, mode: str, threads: int,
) -> None:  # fmt: skip
    settings: dict[str, Any] = {"threads": threads, "mode": mode, "retriever": "recency:k=2", "concurrency": 8}
    used, found = {}, {}
    for name, url, patience in (("clean", kind, LONG), ("hostile", hostile, SHORT)):
        before, llm = met(url), opened(seam, url, patience)
        used[name] = runner.run(ended(RunSpec.of(settings), store, llm, tmp_path / name, ("sentiment",)))
        found[name] = {turn.key: turn for turn in runlog.turns(tmp_path / name)}
        assert used[name].failed >= met(url) - before  # a busy machine may add a time-out
    clean, turns = found["clean"], found["hostile"]
    assert turns.keys() == clean.keys() and len(turns) == threads * 7 * 2
    assert used["clean"].failed == 0 and not any(turn.failure for turn in clean.values())
    failed = [turn for turn in turns.values() if turn.failure]
    assert failed and all(turn.failure in ("transport", "limit", "no_reply") and turn.reason for turn in failed)
    same = [turn for turn in turns.values() if turn.prompt_hash == clean[turn.key].prompt_hash]
    answered = [turn for turn in same if turn.completion]
    assert len(answered) > len(turns) / 3 and [(t.words, t.seed) for t in answered] == [
        (clean[t.key].words, clean[t.key].seed) for t in answered
    ]
    if mode == "replay":  # no turn sees another one's answer, so no failure changes a prompt
        assert len(same) == len(turns)


def met(base_url: str) -> int:
    """Attempts that ended in a fault since the server started."""
    with urlopen(base_url.removesuffix("/v1") + "/stats", timeout=10) as answer:
        counts: dict[str, int] = json.load(answer)["faults"]
    return sum(n for name, n in counts.items() if name not in faults.HARMLESS)
