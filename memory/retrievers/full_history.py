"""All of the person's messages, newest first, as far as a token budget goes: what retrieval has to be worth its choice.

Source: the full-context control of LongMemEval and the long-context one of LoCoMo.
"""

from dataclasses import dataclass

from memory.ranking import fitting
from memory.recall import History, Recalled
from memory.retrievers.recency import newest


@dataclass(frozen=True)
class Policy:
    """Score: minus the age in seconds at `before`. `max_tokens`=0 is all there is, whatever it costs."""

    max_tokens: int = 1500

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        return fitting(newest(history, len(history)), self.max_tokens)
