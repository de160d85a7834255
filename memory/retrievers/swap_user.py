"""The same policy over somebody else's past, the one most alike in the community: what is gained by being this person.

Source: in the spirit of Wu et al. 2024 (2406.17803), who find that the gain comes from the words being one's own.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import memory.retrievers
from memory import policy
from memory.errors import BadInput
from memory.recall import History, Others, Recalled


@dataclass(frozen=True)
class Policy:
    """`base`: a policy by name that needs a History alone, with its own options at their defaults but k and max_tokens.

    Score: the base's. They are shown as if they were the person's own: that is the control.
    """

    base: str = "dense"
    k: int = 5
    max_tokens: int = 0
    needs: ClassVar[tuple[str, ...]] = ("others",)

    async def __call__(self, history: History, query: str, *, others: Others) -> list[Recalled]:
        base: Any = policy.load(memory.retrievers, self.base, k=self.k, max_tokens=self.max_tokens)
        if getattr(base, "needs", ()):
            raise BadInput(f"swap_user:base={self.base} does not work: {self.base} needs more than a past; take dense")
        swapped = others.alike() if len(history) else None
        found: list[Recalled] = [] if swapped is None else await base(swapped, query)
        return found
