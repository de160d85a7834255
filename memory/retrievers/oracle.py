"""UPPER BOUND ONLY, never a result: the k messages most like what the person really answered, which it is shown.

Source: LongMemEval's "oracle". It says how far a better choice among the same messages could go.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from memory import scoring
from memory.errors import BadInput, UnknownName
from memory.ranking import answer, check
from memory.recall import History, Recalled

METRICS = ("overlap", "cosine", "bm25")


@dataclass(frozen=True)
class Policy:
    """Score: likeness to the true answer by `metric`: overlap (unigram F1), cosine or bm25. The query is not read."""

    k: int = 5
    metric: str = "overlap"
    max_tokens: int = 0
    needs: ClassVar[tuple[str, ...]] = ("truth",)

    def __post_init__(self) -> None:
        if self.metric not in METRICS:
            raise UnknownName("metric of oracle", self.metric, METRICS)

    async def __call__(self, history: History, query: str, *, truth: str | None) -> list[Recalled]:
        check(self.k)
        if not len(history):
            return []
        if truth is None:
            raise BadInput(
                f"oracle has no true answer to look at: {history.user} wrote nothing at {history.before} (UTC s); it "
                "works in runs over real threads, or at the very second of a message"
            )
        if self.metric == "overlap":
            scores = np.round([scoring.overlap(truth, m.words) for m in history.messages], 9)
        else:
            scores = await scoring.cosine(history, truth) if self.metric == "cosine" else scoring.bm25(history, truth)
        return answer(history, scores, {self.metric: scores}, self.k, self.max_tokens)
