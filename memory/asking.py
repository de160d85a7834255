"""What policies and a model say to each other: each prompt is put once, corpus text in it is fenced, answers are notes.

A model is a plain async callable, prompt in, answer out. Nothing here knows which.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from memory.fence import fenced
from memory.message import Message
from memory.recall import Ask, History
from memory.templates import Wording, templates, version, worded
from memory.tokens import clip_tokens

VERSION = "1"  # of the packaged prompts: raised whenever their words change (a test holds it)
AT_ONCE = 4  # prompts of one policy in flight
CLIPPED = 200  # tokens of any one quoted message
ALL_CLIPPED = 1200  # of many: small models see 2,000 at once
_BULLET = re.compile(r"^\s*(?:[-*•]|\(?\d{1,3}[.):])\s*")


@dataclass
class Remembering:
    """An Ask around an Ask that puts the same prompt once, whoever asks; `calls` counts what went out.

    An answer is kept until the process ends; a failed call is not kept and may be tried again.
    """

    ask: Ask
    calls: int = 0
    _answers: dict[bytes, asyncio.Future[str]] = field(default_factory=dict)

    async def __call__(self, prompt: str) -> str:
        key = hashlib.sha256(prompt.encode(errors="surrogatepass")).digest()
        if key not in self._answers:
            self.calls += 1
            self._answers[key] = asyncio.ensure_future(self.ask(prompt))
        answer = self._answers[key]
        try:
            return await asyncio.shield(answer)  # whoever stops waiting does not stop it for the others
        finally:
            if answer.done() and (answer.cancelled() or answer.exception() is not None):
                self._answers.pop(key, None)


@lru_cache(maxsize=8)
def prompts(folder: Path | None = None) -> Wording:
    """The prompts of policies, each named after its own; those of memory/ in `folder` in place of the packaged ones.

    Raises: BadInput, as memory.templates.templates does.
    """
    home = Path(__file__).with_name("retrievers") / "templates"
    return worded(version(folder, VERSION), templates(home, None, folder and folder / "memory"))


async def each(ask: Ask, prompts: Sequence[str]) -> list[str]:
    """The answers in the order of `prompts`; AT_ONCE in flight. The first error is raised when what runs is done."""
    answers: list[str] = []
    for at in range(0, len(prompts), AT_ONCE):
        done = await asyncio.gather(*map(ask, prompts[at : at + AT_ONCE]), return_exceptions=True)
        for answer in done:
            if isinstance(answer, BaseException):
                raise answer
            answers.append(answer)
    return answers


def quoted(text: str, limit: int = CLIPPED) -> str:
    """`text` as data in a prompt: clipped to `limit` tokens, each line marked with >."""
    return fenced(clip_tokens(text, limit))


def numbered(messages: Sequence[Message]) -> str:
    """Messages under their numbers from 1, for prompts that ask which; all of them in about ALL_CLIPPED tokens."""
    limit = max(ALL_CLIPPED // max(len(messages), 1), 10)
    return "\n".join(f"Message {n}:\n{quoted(m.bare.words, limit)}" for n, m in enumerate(messages, 1))


def lines(answer: str) -> list[str]:
    """An answer's lines without bullets, numbers and blanks."""
    bare = (_BULLET.sub("", line).strip() for line in answer.splitlines())
    return [line for line in bare if line]


def note(history: History, policy: str, text: str, after: Message) -> Message:
    """What a policy made of the person's messages up to `after`: dated like it, named by what it says."""
    id = f"note_{policy}_{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()[:12]}"
    return Message(id, "", None, history.user, after.time, text)
