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
from simulator.answering import REPLY
from simulator.llm import Completion, Request
from simulator.unrecorded import common

RECENT = 4  # prompts back that a prefix cache is taken to hold


@dataclass(frozen=True, slots=True)
class Expected:
    """What is declared of a model. `tokens`: of its own for one of ours; `frame`: around a message, `start`: of a
    prompt; `share`: of max_tokens that a message takes, `brief`: that any other answer takes; `wrong`: of the messages
    that do not stand, among first ones and among those asked for again; `apart`: what was read serves one turn alone.
    The defaults suit a hosted model with our own tokens.
    """

    tokens: float = 1.0
    frame: int = 4
    start: int = 3
    share: float = 0.75
    brief: float = 0.75
    wrong: tuple[float, float] = (0.0, 0.0)
    apart: bool = False


EXPECTED: Mapping[str, Expected] = {  # measured on the sample, see docs/decisions/0017-speed.md
    "embedded": Expected(1.09, 6, 16, share=0.22, brief=0.6, wrong=(0.4, 0.6), apart=True)
}
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
    _asked: list[int] = field(default_factory=lambda: [0, 0])  # messages, for the first time and again
    _failed: set[object] = field(default_factory=set)
    _turn: object = None

    async def __call__(self, request: Request) -> Completion:
        about = self.expected
        flat = "\n".join(text for _, text in request.messages)
        tokens_in = self.tokens_in(request)
        turn = request.about and (*request.about[:2], request.about[3])
        if about.apart and turn != self._turn:
            self._recent.clear()
        self._turn = turn
        shared = max((common(flat, other) for other in self._recent), default=0) / max(len(flat), 1)
        self._recent.append(flat)
        says = request.about is not None and request.about[2] in (REPLY, "post")
        tokens_out = max(1, math.ceil(request.max_tokens * (about.share if says else about.brief)))
        if says and self._stands_not(request):
            return Completion("", "stop", tokens_in, tokens_out, math.floor(shared * tokens_in))
        words = " ".join(
            Random(request.seed).choices(WORDS.split(), k=tokens_out)
        )  # no two alike: a copy would not stand
        return Completion(words, "stop", tokens_in, tokens_out, math.floor(shared * tokens_in))

    def _stands_not(self, request: Request) -> bool:
        """Every so many messages one does not, so that the declared shares are met as soon as can be."""
        again = request.about in self._failed
        self._asked[again] += 1
        n, share = self._asked[again], self.expected.wrong[again]
        wrong = math.floor(n * share + 0.5) > math.floor((n - 1) * share + 0.5)
        if wrong and not again:
            self._failed.add(request.about)
        return wrong

    def tokens_in(self, request: Request) -> int:
        """Of the prompt, by the model's own count as declared."""
        ours = sum(count(text) for _, text in request.messages)
        about = self.expected
        return round(ours * about.tokens) + about.frame * len(request.messages) + about.start

    async def close(self) -> None:
        pass
