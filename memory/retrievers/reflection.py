"""Insights that a model drew from blocks of the person's messages, recalled like messages and together with them.

Source: Park et al. 2023, Generative Agents, section 4.2: five insights with their evidence. There reflection starts
when the importance of new memories adds up to 150; here each full block of `every` messages is reflected on once, as
all are held equally important, and the three questions asked first are left out: one call instead of four.
"""

import re
from dataclasses import dataclass, replace
from typing import ClassVar

from memory import scoring
from memory.asking import each, lines, note, numbered
from memory.errors import BadInput
from memory.gathered import gathered
from memory.message import Message
from memory.ranking import answer, check
from memory.recall import Ask, History, Recalled
from memory.templates import Wording

_EVIDENCE = re.compile(r"\(?\s*because of[^()]*?((?:\d+\D{0,6})+)\)?\s*\.?$", re.IGNORECASE)


@dataclass(frozen=True)
class Policy:
    """Score: the cosine, of messages and of the insights from the last `blocks` full blocks alike. An insight without
    evidence among the messages that it was drawn from is not believed."""

    k: int = 5
    every: int = 20
    blocks: int = 5
    thought_count: int = 5
    max_tokens: int = 0
    needs: ClassVar[tuple[str, ...]] = ("ask", "words")
    calls: ClassVar[str] = "1 for `every` messages / 0"

    def __post_init__(self) -> None:
        if min(self.every, self.blocks, self.thought_count) < 1:
            raise BadInput("every, blocks and thought_count of reflection must be 1 or more")

    async def __call__(self, history: History, query: str, *, ask: Ask, words: Wording) -> list[Recalled]:
        check(self.k)
        if not len(history):
            return []
        full = len(history) // self.every
        starts = [n * self.every for n in range(max(0, full - self.blocks), full)]
        read = [history.messages[at : at + self.every] for at in starts]
        n = str(self.thought_count)
        said = await each(ask, [words.put("reflection", text=numbered(block), n=n) for block in read])
        notes: list[Message] = []
        for block, answered in zip(read, said, strict=True):
            notes += [
                note(history, "reflection", text, block[max(at) - 1])
                for text, at in insights(answered, len(block))[: self.thought_count]
            ]
        both = await gathered(history, [*history.messages, *notes])
        near = await scoring.cosine(both, query)
        made = {m.id for m in notes}
        found = answer(both, near, {"dense": near}, self.k, self.max_tokens)
        return [replace(r, role="note") if r.message.id in made else r for r in found]


def insights(answered: str, size: int) -> list[tuple[str, list[int]]]:
    """(insight, numbers of its evidence from 1 to `size`) of each line that has both."""
    found = []
    for line in lines(answered):
        hit = _EVIDENCE.search(line)
        at = [int(n) for n in re.findall(r"\d+", hit.group(1)) if 1 <= int(n) <= size] if hit else []
        text = line[: hit.start()].strip(" .(") if hit else ""
        if at and text:
            found.append((text, at))
    return found
