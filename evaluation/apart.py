"""What the doctor tries in processes of their own: all that is compiled, so that a bad binary ends only its own check.

Each look says what it found or raises, and imports only what it needs: a process costs 0.1 CPU s before its look.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from memory.errors import PersonaconvError

TIMEOUT = 60.0  # seconds for one part, on a slow disk that has nothing cached
CHILD = "import sys; from evaluation.apart import child; child(sys.argv[1])"
FEW = 20_000  # of the 199,998 rows of the table: all of them take 0.5 CPU s to load
TEXTS = ("My bike has a flat tyre.", "A bicycle with a puncture.", "Please conjugate this verb.")  # 9 pieces each
SAID = "The bicycle is 🚲 blue."


class Ill(PersonaconvError):
    """A part that does not work: "what was found", or "what was found; what to do"."""


def outcome(look: Callable[[], str]) -> tuple[bool, str, str]:
    """(ok, what was found, what to do, "" where the failure does not say). Never raises for what is wrong."""
    try:
        return True, " ".join(look().split()), ""
    except PersonaconvError as error:
        found, _, todo = str(error).partition("; ")
        return False, " ".join(found.split()), todo
    except Exception as error:  # noqa: BLE001 - whatever a foreign part raises is what the doctor was asked to find out
        return False, " ".join(f"{type(error).__name__}: {str(error).strip() or 'no reason given'}".split()), ""


def few_tokens() -> str:
    """tiktoken itself, over the first rows of the pinned table: cut into tokens, joined again."""
    import gzip
    from base64 import b64decode

    import tiktoken

    from memory.weights import O200K, locate

    with gzip.open(locate(O200K)) as lines:
        pairs = (line.split() for _, line in zip(range(FEW), lines, strict=False))
        ranks = {b64decode(token): int(rank) for token, rank in pairs}
    encoding = tiktoken.Encoding("few", pat_str=r"\s?\S+", mergeable_ranks=ranks, special_tokens={})
    tokens = encoding.encode_ordinary(SAID)
    if len(tokens) != 10 or encoding.decode(tokens) != SAID:
        raise Ill(f"{SAID!r} comes back as {encoding.decode(tokens)!r} from {len(tokens)} tokens, not 10")
    return f"cuts and joins a sentence by {FEW:,} rows of o200k_base (--deep: by all)"


def tokens() -> str:
    """As a run counts them."""
    from memory.tokens import count

    found = count("Der Weg ist das Ziel 🚲")
    if found != 7:
        raise Ill(f"a text of 7 tokens has {found} here")
    return "counts a sentence by all of o200k_base"


def minilm() -> str:
    """As a run encodes."""
    from memory.embed import open_embedder

    embedder = open_embedder("minilm", threads=1)
    return f"{embedder.name}, {embedder.dim} numbers a text: {_nearer(*embedder(TEXTS))}"


def plain_minilm() -> str:
    """The same files in one run on the graph as it stands: onnxruntime's rewriting of it takes 0.3 CPU s."""
    import numpy as np
    import onnxruntime as ort  # type: ignore[import-untyped]
    from tokenizers import Tokenizer

    from memory.weights import MINILM_INT8, MINILM_TOKENIZER, locate

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.graph_optimization_level = 1, ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(locate(MINILM_INT8)), options, providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(locate(MINILM_TOKENIZER)))
    tokenizer.no_padding()
    ids = np.array([tokenizer.encode(text).ids for text in TEXTS])
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    means = session.run(None, feed)[0].mean(axis=1)
    found = _nearer(*(means / np.linalg.norm(means, axis=1, keepdims=True)))
    return f"MiniLM runs on onnxruntime: {found} (--deep: opened as a run does)"


def _nearer(bike: Any, bicycle: Any, verb: Any) -> str:
    near, far = float(bike @ bicycle), float(bike @ verb)
    if not near > far + 0.2:
        raise Ill(f"a bike is as near to a verb ({far:.2f}) as to a bicycle ({near:.2f})")
    return f"a bike is nearer to a bicycle ({near:.2f}) than to a verb ({far:.2f})"


def core() -> str:
    """The compiled core of Chroma makes a database, which Python's SQLite then reads.

    Taken by name: memory/store.py is the file that knows Chroma, and importing it all takes 2.5 CPU s, as any method
    of Bindings does.
    """
    import sqlite3
    from importlib import import_module
    from tempfile import TemporaryDirectory

    rust = import_module("chromadb_rust_bindings")
    with TemporaryDirectory(prefix="personaconv-", ignore_cleanup_errors=True) as folder:
        file = str(Path(folder, "chroma.sqlite3"))
        config = rust.SqliteDBConfig(
            hash_type=rust.MigrationHash.MD5, migration_mode=rust.MigrationMode.Apply, url=file
        )
        made = rust.Bindings(allow_reset=False, sqlite_db_config=config, persist_path=folder, hnsw_cache_size=8)
        del made
        base = sqlite3.connect(file)
        names = [name for (name,) in base.execute("select name from databases")]
        base.close()
    if names != ["default_database"]:
        raise Ill(f"a new database holds {names}")
    return "its compiled core made a database (--deep: adds to and asks a collection)"


def chroma() -> str:
    """Adds to and asks a collection in a folder of its own."""
    from tempfile import TemporaryDirectory

    import numpy as np

    from memory.store import Index

    with TemporaryDirectory(prefix="personaconv-", ignore_cleanup_errors=True) as folder:
        index = Index(Path(folder), "doctor")
        vectors = np.eye(3, 8, dtype=np.float32)
        index.upsert(["a", "b", "c"], vectors, [{"author": "x", "time": time} for time in (1, 2, 3)])
        found = index.nearest(vectors[1], "x", 3, 2)
        index.close()
    if [id for id, _ in found] != ["b", "a"]:
        raise Ill(f"a collection of three answers {found}")
    return "added to and asked a collection"


def xllamacpp() -> str:
    import xllamacpp  # noqa: F401 - that it loads is what is asked

    return "loads (--deep: starts the model and asks it something)"


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


def transformers() -> str:
    from memory.embed import open_embedder

    embedder = open_embedder("sentence-transformers:packaged")
    embedder(["My bike has a flat tyre."])
    return embedder.name


LOOKS: dict[str, Callable[[], str]] = {
    look.__name__: look
    for look in (few_tokens, tokens, plain_minilm, minilm, core, chroma, xllamacpp, server, transformers)
}


def child(name: str) -> None:
    """Runs in the other process: the outcome goes to stdout as the one line of JSON that started() reads."""
    print(json.dumps(outcome(LOOKS[name])))


def apart(name: str) -> str:
    """Looks at LOOKS[name] in another process, and waits for it."""
    with started(name) as look:
        return look()


@contextmanager
def started(name: str, code: str = CHILD) -> Iterator[Callable[[], str]]:
    """Starts looking at LOOKS[name] in another process; the value waits for what it found."""
    path = os.pathsep.join([entry or os.getcwd() for entry in sys.path])
    with subprocess.Popen(
        [sys.executable, "-c", code, name],
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield partial(_told, process)
        finally:
            process.kill()


def _told(process: subprocess.Popen[str]) -> str:
    try:
        said, complaint = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise Ill(f"not finished after {TIMEOUT:.0f} s") from None
    if process.returncode < 0:
        raise Ill(f"its process died of signal {-process.returncode}: its binary does not run on this processor")
    try:
        ok, found, todo = json.loads(said.splitlines()[-1])
    except (IndexError, ValueError):
        last = (complaint.splitlines() or ["no word"])[-1]
        raise Ill(f"its process ended with {process.returncode}: {last}") from None
    if not ok:
        raise Ill("; ".join(part for part in (found, todo) if part))
    return str(found)
