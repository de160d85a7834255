"""No memory. What a model does without knowing the person: the first control. Source: PGraphRAG's mode "none"."""

from dataclasses import dataclass

from memory.recall import History, Recalled


@dataclass(frozen=True)
class Policy:
    async def __call__(self, history: History, query: str) -> list[Recalled]:
        return []
