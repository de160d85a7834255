"""Dry: a model that is none, for estimates. A run over it assembles every prompt for real; answers are made up, as long
as is declared here. So calls and prompt tokens are counted, but for the words that only a model could have written.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random

from memory.tokens import count
from simulator.llm import Completion, Request
from simulator.unrecorded import common

RECENT = 4  # prompts back that a prefix cache is taken to hold


@dataclass(frozen=True, slots=True)
class Expected:
    """What is declared of a model. `tokens`: of its own for one of ours; `frame`: around a message, `start`: of a
    prompt; `share`: of max_tokens that an answer takes. The defaults suit a hosted model with our own tokens.
    """

    tokens: float = 1.0
    frame: int = 4
    start: int = 3
    share: float = 0.75


EXPECTED: Mapping[str, Expected] = {"embedded": Expected(1.09, 6, 16, 0.8)}  # measured on the sample
WORDS = (  # of one token each
    "time year people way day thing life world school state family group country problem hand part place case week "
    "company system program question work night point home water room area money story fact month lot right study book"
)


@dataclass
class Dry:
    """An LLM that is never asked. `name` is that of the model it stands for."""

    name: str
    expected: Expected = field(default_factory=Expected)
    _recent: deque[str] = field(default_factory=lambda: deque(maxlen=RECENT))

    async def __call__(self, request: Request) -> Completion:
        about = self.expected
        flat = "\n".join(text for _, text in request.messages)
        tokens_in = self.tokens_in(request)
        shared = max((common(flat, other) for other in self._recent), default=0) / max(len(flat), 1)
        self._recent.append(flat)
        tokens_out = max(1, math.ceil(request.max_tokens * about.share))
        words = " ".join(
            Random(request.seed).choices(WORDS.split(), k=tokens_out)
        )  # no two alike: a copy would not stand
        return Completion(words, "stop", tokens_in, tokens_out, math.floor(shared * tokens_in))

    def tokens_in(self, request: Request) -> int:
        """Of the prompt, by the model's own count as declared."""
        ours = sum(count(text) for _, text in request.messages)
        about = self.expected
        return round(ours * about.tokens) + about.frame * len(request.messages) + about.start

    async def close(self) -> None:
        pass
