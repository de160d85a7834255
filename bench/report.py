"""Size, making and opening of a report with 10,000 answers or rows, prompts kept.

    python -m bench.report [--answers 10000] [--people 400]

A made-up corpus, its words drawn by Zipf's law from 20,000 (deflate halves such text, like English), is replayed by
a scripted model with five recalled messages a turn; the run is scored and the report opened in Chromium.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bench.made import corpus_of
from evaluation.results import make, score_run
from evaluation.running import asks
from memory.reading import Row
from memory.store import MemoryStore
from simulator.llm import Request
from simulator.manifest import RunSpec
from simulator.run import simulate
from simulator.testing import Scripted

START, SIZE = 1_500_000_000, 20  # messages of a thread


class Words:
    """Texts of as many words as comments on Reddit have: median 25, mean 41."""

    def __init__(self, seed: int, known: int = 20_000) -> None:
        self.dice = random.Random(seed)
        self.known = ["".join(self.dice.choices("etaoinshrdlucmfwypvbg", k=2 + n % 9)) for n in range(known)]
        self.weights = list(_added(1 / (n + 2.7) for n in range(known)))

    def __call__(self) -> str:
        size = min(400, max(2, round(self.dice.lognormvariate(3.2, 1.0))))
        return " ".join(self.dice.choices(self.known, cum_weights=self.weights, k=size)).capitalize() + "."


def _added(values: Iterator[float]) -> Iterator[float]:
    total = 0.0
    for value in values:
        total += value
        yield total


def rows(messages: int, people: int) -> Iterator[Row]:
    words, dice = Words(0), random.Random(1)
    for n in range(messages):
        post = f"t3_{n - n % SIZE}"
        time, author, place = START + 600 * n, f"person{dice.randrange(people)}", f"place{n // SIZE % 10}"
        score = round(dice.lognormvariate(1, 1)) - 1
        if n % SIZE:
            parent = f"t1_{n - 1}" if n % SIZE > 1 and n % 3 else post
            yield Row(f"t1_{n}", post, parent, author, time, words(), score, place, "comment", "", None, n)
        else:
            yield Row(post, post, None, author, time, words(), score, place, "post", f"About {words()[:60]}", None, n)


def says(request: Request) -> str:
    """A reply, a label or a number, the same for the same request."""
    asked = request.messages[-1][1]
    if "One word" in asked:
        return "positive" if request.seed % 4 else "negative"
    return str(request.seed % 9) if "whole number" in asked else WORDS[request.seed % len(WORDS)]


_made = Words(2)
WORDS = [_made() for _ in range(4000)]


def timed(what: str, work: Callable[[], Any]) -> Any:
    began, before = time.perf_counter(), _cpu()
    done = work()
    print(f"{what}: {_cpu() - before:.1f} CPU s, {time.perf_counter() - began:.1f} s", flush=True)
    return done


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def opened(file: Path) -> None:
    """Prints when Chromium had painted the first screen, and when rows and threads were there."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page()
        began = time.perf_counter()
        page.goto(file.as_uri(), wait_until="commit")
        page.wait_for_selector("html[data-ready=yes]")
        ready = time.perf_counter() - began
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        elements = page.evaluate("document.querySelectorAll('*').length")
        print(f"opened: first paint {paint / 1000:.2f} s, rows and threads {ready:.2f} s, {elements:,} elements")
        browser.close()


def main(given: argparse.Namespace) -> None:
    slots = given.answers // 3
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        corpus_of(place / "corpus", rows(4 * slots + 2000, given.people))
        threads = -(-slots // (SIZE - 1))
        spec = RunSpec(
            mode="replay", model="fake:scripted", retriever="recency:k=5", threads=threads, max_turns=slots,
            keep_prompts=True, concurrency=4,
        )  # fmt: skip
        store = MemoryStore.open(place / "corpus")
        timed("played", lambda: asyncio.run(simulate(spec, store, Scripted(says), asks(), place / "run")))
        store.close()
        found = timed("scored", lambda: score_run(place / "run"))
        report = timed("report", lambda: make(place / "run")).report
        turns = sum(row.system == "model" for row in found.rows)
        prompts = sum(len(line) for line in (place / "run" / "log.ndjson").open("rb"))
        print(f"{turns:,} answers, {len(found.rows):,} rows, log {prompts / 1e6:.1f} MB")
        html = report.read_text(encoding="utf-8")
        parts = {part.split('"')[0]: len(part) for part in html.split('id="packed-')[1:]}
        print(f"report {len(html.encode()) / 1e6:.2f} MB; packed: {parts}")
        if given.keep:
            shutil.copy(report, given.keep)
        opened(report)


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--answers", type=int, default=10_000)
    options.add_argument("--people", type=int, default=400)
    options.add_argument("--keep", type=Path)
    main(options.parse_args())
