"""The doctor: which parts work on this machine, each tried for real, and what to do about those that do not.

What is compiled runs in processes of its own, two at a time: a binary that this processor cannot run ends only its own
check, and the 3 CPU seconds of importing Chroma pass while the other parts are looked at.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from memory import weights
from memory.errors import PersonaconvError
from memory.weights import Packaged, locate

TIMEOUT = 60.0  # seconds for one part, on a slow disk that has nothing cached
TINY = 500_000_000  # bytes: less free space than this does not hold a corpus and its runs
CHILD = "import sys; from evaluation.doctor import child; child(sys.argv[1])"


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
    """Every part in the order of a run: about 3 s on two cores, most of it Chroma's import.

    `folder`: should be writable. `base_url`: an endpoint that should answer; its key is OPENAI_API_KEY. `deep` starts
    the embedded model and loads sentence-transformers as well: 5 to 30 s more.
    """
    server = "server" if deep else "xllamacpp"
    again = "make the environment again: rm -r .venv, then make demo"
    with started("chroma") as chroma, started("minilm") as minilm:
        parts = [
            Part("Python", python, "install Python 3.11 or newer"),
            Part("SQLite", sqlite, "use a Python built with SQLite 3.35 or newer"),
            Part("folder", partial(writable, folder), "name another folder"),
            *(Part(f"weights {w.distribution}", partial(weight, w), again) for w in packaged()),
            Part("tokenizer", tokens, again),
            Part("embedder", minilm, again),
            Part("Chroma", chroma, again),
            Part("embedded model", partial(apart, server), "pip install xllamacpp, or use --model openai:<model>"),
            Part("sentence-transformers", partial(transformers, deep), "pip install torch==2.13.0, then " + again),
        ]
        if base_url is not None:
            parts.append(Part("endpoint", partial(endpoint, base_url), "start the server or correct --base-url"))
        return [check(part) for part in parts]


def check(part: Part) -> Check:
    """Looks at one part; never raises for what is wrong with it."""
    start = time.perf_counter()
    try:
        ok, found, todo = True, part.look(), ""
    except PersonaconvError as error:
        found, _, todo = str(error).partition("; ")
        ok, todo = False, todo or part.todo
    except Exception as error:  # noqa: BLE001 - whatever a foreign part raises is what the doctor was asked to find out
        ok, found, todo = False, f"{type(error).__name__}: {str(error).strip() or 'no reason given'}", part.todo
    return Check(part.name, ok, " ".join(found.split()), todo, round(time.perf_counter() - start, 2))


class Ill(PersonaconvError):
    """A part that does not work: "what was found", or "what was found; what to do"."""


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


def tokens() -> str:
    from simulator.tokens import count

    found = count("Der Weg ist das Ziel 🚲")
    if found != 7:
        raise Ill(f"a text of 7 tokens has {found} here")
    return f"o200k_base by tiktoken {version('tiktoken')}"


def minilm() -> str:
    """Encodes three texts and holds the two that mean the same together."""
    from memory.embed import open_embedder

    embedder = open_embedder("minilm", threads=1)
    bike, bicycle, verb = embedder(["My bike has a flat tyre.", "A bicycle with a puncture.", "Conjugate this verb."])
    near, far = float(bike @ bicycle), float(bike @ verb)
    if not near > far + 0.2:
        raise Ill(f"a bike is as near to a verb ({far:.2f}) as to a bicycle ({near:.2f})")
    return f"{embedder.name}, {embedder.dim} numbers a text; a bike is nearer to a bicycle ({near:.2f}) than to a verb"


def chroma() -> str:
    """Adds to and asks a collection in a folder of its own."""
    import numpy as np

    from memory.store import Index

    with tempfile.TemporaryDirectory(prefix="personaconv-", ignore_cleanup_errors=True) as folder:
        index = Index(Path(folder), "doctor")
        vectors = np.eye(3, 8, dtype=np.float32)
        index.upsert(["a", "b", "c"], vectors, [{"author": "x", "time": time} for time in (1, 2, 3)])
        found = index.nearest(vectors[1], "x", 3, 2)
        index.close()
    if [id for id, _ in found] != ["b", "a"]:
        raise Ill(f"a collection of three answers {found}")
    return f"chromadb {version('chromadb')}: added to and asked a collection"


def xllamacpp() -> str:
    import xllamacpp  # noqa: F401 - that it loads is what is asked

    return f"xllamacpp {version('xllamacpp')} loads (--deep also starts the model)"


def server() -> str:
    """Starts the embedded server and has it say something."""
    import asyncio

    from simulator.llm import Request
    from simulator.models import open_llm

    async def ask() -> str:
        model = open_llm("embedded")
        try:
            answer = await model(Request((("user", "Say hello."),), max_tokens=4))
        finally:
            await model.close()
        return f"{model.name} says {answer.text.strip()!r} in {answer.seconds:.1f} s"

    return asyncio.run(ask())


def transformers(deep: bool) -> str:
    """Optional: not being there is no illness, not loading is."""
    try:
        found = f"sentence-transformers {version('sentence-transformers')}, torch {version('torch')}"
    except PackageNotFoundError as error:
        return f"not installed ({error.name}), and only needed for --embedder sentence-transformers:<model>"
    return apart("packaged") if deep else f"{found} (not loaded, which takes 10 to 30 s: --deep)"


def packaged_model() -> str:
    from memory.embed import open_embedder

    embedder = open_embedder("sentence-transformers:packaged")
    embedder(["My bike has a flat tyre."])
    return embedder.name


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


APART: dict[str, Callable[[], str]] = {
    "chroma": chroma,
    "minilm": minilm,
    "xllamacpp": xllamacpp,
    "server": server,
    "packaged": packaged_model,
}


def child(name: str) -> None:
    """Runs in the other process: the outcome goes to stdout as the one line of JSON that started() reads."""
    found = check(Part(name, APART[name], ""))
    print(json.dumps({"ok": found.ok, "found": found.found, "todo": found.todo}))


def apart(name: str) -> str:
    """Looks at APART[name] in another process, and waits for it."""
    with started(name) as look:
        return look()


@contextmanager
def started(name: str, code: str = CHILD) -> Iterator[Callable[[], str]]:
    """Starts looking at APART[name] in another process; the value waits for what it found."""
    path = os.pathsep.join([entry or os.getcwd() for entry in sys.path])
    with subprocess.Popen(
        [sys.executable, "-c", code, name],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield partial(_outcome, process)
        finally:
            process.kill()


def _outcome(process: subprocess.Popen[str]) -> str:
    try:
        said, complaint = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise Ill(f"not finished after {TIMEOUT:.0f} s") from None
    if process.returncode < 0:
        raise Ill(f"its process died of signal {-process.returncode}: its binary does not run on this processor")
    try:
        found = json.loads(said.splitlines()[-1])
    except (IndexError, ValueError):
        last = (complaint.splitlines() or ["no word"])[-1]
        raise Ill(f"its process ended with {process.returncode}: {last}") from None
    if not found["ok"]:
        raise Ill("; ".join(part for part in (found["found"], found["todo"]) if part))
    return str(found["found"])
