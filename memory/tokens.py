"""Text measured and cut in tokens of o200k_base, so that budgets mean the same for every model.

The table comes from an installed package and is put where tiktoken looks for it: nothing is fetched.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from hashlib import sha1
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal

from memory.weights import O200K, locate

if TYPE_CHECKING:
    from tiktoken import Encoding

URL = "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken"  # a cached file's name is its sha1
PIECE = 50_000  # characters encoded at once: a run of spaces above some 500,000 overflows tiktoken's regex stack
EDGE = 16  # tokens read beyond a cut, so that where the reading stops does not change the tokens before it

_loading = Lock()  # protects os.environ, and spares a second thread the 0.5 s of loading the same table


def count(text: str) -> int:
    """Tokens in `text`. "<|endoftext|>" and its like are text; a lone surrogate counts as U+FFFD."""
    return sum(len(_encoding().encode_ordinary(piece)) for piece in _pieces(text))


def clip_tokens(text: str, limit: int, keep: Literal["start", "end"] = "start") -> str:
    """The longest start (or end) of `text` found to have at most `limit` tokens; all of it where it fits.

    Never cuts inside a character. Lone surrogates come back as U+FFFD, so that the result can be sent and stored.
    Reads only as much of a long text as it keeps.
    """
    if limit <= 0:
        return ""
    text = _encodable(text)
    span = 8 * limit + 64  # characters; English has 4 to 5 a token
    while True:
        window = text[:span] if keep == "start" else text[-span:]
        tokens = [token for piece in _pieces(window) for token in _encoding().encode_ordinary(piece)]
        if len(window) == len(text) and len(tokens) <= limit:
            return text
        if len(window) == len(text) or len(tokens) >= limit + EDGE:
            break
        span *= 4
    for size in range(limit, 0, -1):
        part = tokens[:size] if keep == "start" else tokens[-size:]
        kept = _encoding().decode_bytes(part).decode(errors="ignore")  # drops what is left of a cut character
        if count(kept) <= limit:  # cut elsewhere, the same text may fall into more tokens
            return kept
    return ""


def _pieces(text: str) -> Iterator[str]:
    """`text` in parts of at most PIECE characters, cut before a space between words, where tokens never join."""
    start = 0
    while len(text) - start > PIECE:
        end = start + PIECE
        space = text.rfind(" ", start + PIECE // 2, end - 1)
        if space > 0 and not text[space - 1].isspace() and not text[space + 1].isspace():
            end = space
        yield text[start:end]
        start = end
    yield text[start:]


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _encoding() -> Encoding:
    with _loading:
        return _load()


@cache
def _load() -> Encoding:
    import tiktoken

    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    # Unpacking takes 30 ms, so each process does it for itself: no folder to create, share, lock or repair.
    with tempfile.TemporaryDirectory(prefix="personaconv-") as folder:
        Path(folder, sha1(URL.encode()).hexdigest()).write_bytes(gzip.decompress(locate(O200K).read_bytes()))
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        try:
            return tiktoken.get_encoding("o200k_base")
        finally:
            del os.environ["TIKTOKEN_CACHE_DIR"]
            if before is not None:
                os.environ["TIKTOKEN_CACHE_DIR"] = before
