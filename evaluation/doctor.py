"""The doctor: which parts work on this machine, each tried for real, and what to do about those that do not.

What is compiled runs in processes of its own (evaluation/apart.py), the slowest beside the others.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from evaluation.apart import Ill, apart, outcome, started
from memory import weights
from memory.weights import Packaged, locate

TINY = 500_000_000  # bytes: less free space than this does not hold a corpus and its runs


@dataclass(frozen=True, slots=True)
class Check:
    """One part. `found` is one sentence; `todo` is "" where nothing is to be done. `seconds` of wall time it took."""

    name: str
    ok: bool
    found: str
    todo: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Part:
    """`look` says what it found, or raises; a PersonaconvError's own advice goes before `todo`."""

    name: str
    look: Callable[[], str]
    todo: str


def checks(folder: Path = Path(), base_url: str | None = None, deep: bool = False) -> list[Check]:
    """Every part in the order of a run: 1.9 CPU s, 1 to 2 s of wall time on two cores (measured).

    `folder`: should be writable. `base_url`: an endpoint that should answer; its key is OPENAI_API_KEY. `deep` tries
    Chroma's Python part, the whole token table, the embedded model and sentence-transformers too: 5 to 30 s more.
    """
    again = "make the environment again: rm -r .venv, then make demo"
    with (
        started("minilm" if deep else "plain_minilm") as minilm,
        started("chroma" if deep else "core") as chroma,
    ):
        parts = [
            Part("Python", python, "install Python 3.11 or newer"),
            Part("SQLite", sqlite, "use a Python built with SQLite 3.35 or newer"),
            Part("folder", partial(writable, folder), "name another folder"),
            *(Part(f"weights {w.distribution}", partial(weight, w), again) for w in packaged()),
            Part("tokenizer", of("tiktoken", partial(apart, "tokens" if deep else "few_tokens")), again),
            Part("embedder", minilm, again),
            Part("Chroma", of("chromadb", chroma), again),
            Part(
                "embedded model",
                of("xllamacpp", partial(apart, "server" if deep else "xllamacpp")),
                "pip install xllamacpp, or use --model openai:<model>",
            ),
            Part("sentence-transformers", partial(transformers, deep), "pip install torch==2.13.0, then " + again),
        ]
        if base_url is not None:
            parts.append(Part("endpoint", partial(endpoint, base_url), "start the server or correct --base-url"))
        return [check(part) for part in parts]


def check(part: Part) -> Check:
    """Looks at one part; never raises for what is wrong with it."""
    start = time.perf_counter()
    ok, found, todo = outcome(part.look)
    seconds = round(time.perf_counter() - start, 2)
    return Check(part.name, ok, found, "" if ok else todo or part.todo, seconds)


def of(distribution: str, look: Callable[[], str]) -> Callable[[], str]:
    """`look`, with the installed version before what it found."""
    return lambda: f"{distribution} {version(distribution)}: {look()}"


def python() -> str:
    if sys.version_info < (3, 11):  # noqa: UP036 - who runs the source without installing it is told
        raise Ill(f"Python {sys.version.split()[0]}")
    return f"{sys.version.split()[0]} on {sys.platform}"


def sqlite() -> str:
    with sqlite3.connect(":memory:") as base:
        base.execute("create table seen (id text primary key, n int) strict")
        for _ in range(2):
            add = "insert into seen values ('a', 1) on conflict (id) do update set n = n + 1 returning n"
            [(n,)] = base.execute(add).fetchall()
    base.close()
    if n != 2:
        raise Ill(f"SQLite {sqlite3.sqlite_version} counts 1 + 1 = {n}")
    return sqlite3.sqlite_version


def writable(folder: Path) -> str:
    """Writes and removes a file in `folder`, or, where that is still to be made, in the nearest folder above it."""
    place = folder.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        with tempfile.NamedTemporaryFile(dir=place) as file:
            file.write(b"x")
    except OSError as error:
        raise Ill(f"cannot write to {place} ({error.strerror})") from None
    free = shutil.disk_usage(place).free
    if free < TINY:
        raise Ill(f"only {free / 1e6:.0f} MB free at {place}; make room, or name another folder")
    return f"{place} is writable, {free / 1e9:.0f} GB free"


def packaged() -> list[Packaged]:
    return [part for part in vars(weights).values() if isinstance(part, Packaged)]


def weight(part: Packaged) -> str:
    file = locate(part)
    return f"{version(part.distribution)}: {file.name}, {file.stat().st_size / 1e6:.1f} MB, as pinned"


def transformers(deep: bool) -> str:
    """Optional: not being there is no illness, not loading is."""
    try:
        found = f"sentence-transformers {version('sentence-transformers')}, torch {version('torch')}"
    except PackageNotFoundError as error:
        return f"not installed ({error.name}), and only needed for --embedder sentence-transformers:<model>"
    return apart("transformers") if deep else f"{found} are installed (--deep: loads them, 10 to 30 s)"


def endpoint(base_url: str) -> str:
    """Asks for the list of models with the key that a run would use."""
    from urllib.error import HTTPError, URLError
    from urllib.request import Request, urlopen

    from simulator.models import knock

    knock(base_url)
    key = os.environ.get("OPENAI_API_KEY")
    asked = Request(f"{base_url.rstrip('/')}/models", headers={"Authorization": f"Bearer {key}"} if key else {})
    try:
        with urlopen(asked, timeout=5) as answer:
            models = [str(model["id"]) for model in json.load(answer)["data"]]
    except HTTPError as error:
        error.close()
        if error.code in (401, 403):
            has = "is not accepted" if key else "is missing"
            raise Ill(f"the key {has} at {base_url} (HTTP {error.code}); set OPENAI_API_KEY") from None
        raise Ill(f"{base_url}/models answers HTTP {error.code}; a base URL ends in /v1 as a rule") from None
    except (URLError, TimeoutError, ConnectionError) as error:
        raise Ill(f"{base_url} does not answer ({getattr(error, 'reason', error)})") from None
    except (ValueError, KeyError, TypeError):
        raise Ill(f"{base_url}/models does not list models; a base URL ends in /v1 as a rule") from None
    shown = ", ".join(models[:5]) + (", ..." if len(models) > 5 else "")
    return f"{base_url} offers {len(models)} models: {shown}" if models else f"{base_url} answers, and offers no model"
