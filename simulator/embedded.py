"""The embedded model: SmolLM2-135M-Instruct served by llama.cpp in this process, on loopback, behind a random key.

It is there for plumbing (a whole run on a laptop with no key and no network); it is no evidence of persona fidelity.
"""

from __future__ import annotations

import os
import secrets
from types import TracebackType
from typing import Any

from memory.errors import Missing
from memory.weights import SMOLLM2, locate

NAME = "SmolLM2-135M-Instruct.Q4_1"
CONTEXT = 4096  # tokens; SmolLM2 was trained on 8,192
MOST_LOGPROBS = 100  # the server gives as many as are asked for; rare labels sit far down the list


def threads() -> int:
    """All cores where the machine is idle, else one.

    llama.cpp's workers spin at barriers: on busy cores two threads fell from 16 to 0.5 tokens/s (measured), on idle
    ones they read prompts 2.1 times as fast as one (238 against 113 tokens/s on 2 cores). Words do not depend on it.
    """
    cores = os.cpu_count() or 1
    return cores if os.getloadavg()[0] < 0.6 * cores else 1


class EmbeddedServer:
    """A running server: `base_url` ends in /v1, `key` is random for each start. Use as a context manager or close() it.

    Raises:
        Missing: xllamacpp or the weights are not installed.
    """

    def __init__(self, context: int = CONTEXT, n_threads: int | None = None) -> None:
        weights = locate(SMOLLM2)
        try:
            import xllamacpp
        except ImportError:
            raise Missing("the embedded model needs xllamacpp; install it with: pip install xllamacpp") from None
        self.key = secrets.token_urlsafe(24)
        params: Any = xllamacpp.CommonParams()
        params.model.path = str(weights)
        params.hostnames = ["127.0.0.1"]
        params.api_keys = [self.key]
        params.n_parallel = 1
        params.cache_ram_mib = 0  # what other turns left is not used: see OpenAIChat.apart
        params.n_ctx = context
        params.n_gpu_layers = 0
        params.warmup = False
        params.verbosity = 0
        params.ui = params.endpoint_slots = params.endpoint_props = False
        params.offline = True
        for cpu in (params.cpuparams, params.cpuparams_batch):
            cpu.n_threads = n_threads or threads()
        self._server: Any = xllamacpp.Server(params)
        # A first token, 20 ms: a server that is closed before its loop turns waits for itself for ever.
        self._server.handle_completions({"prompt": ".", "max_tokens": 1})
        self.base_url = f"{self._server.listening_address}/v1"

    def close(self) -> None:
        """Stops the server and frees its memory; safe to call twice."""
        self._server = None

    def __enter__(self) -> EmbeddedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
