"""Scene -> messages: rules, thread, person and memories, then the ask; what is shared by most prompts comes first.

The probes of a turn share everything up to the message that they judge, and turns of a thread share its opening, so a
prefix cache serves most tokens. Budgets are in tokens: each message is clipped, far parts of the thread and weak
memories go first, the message being answered and the ask never.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any

from memory.fence import MARK, fenced, inert, label
from memory.message import Message, Thread, order
from memory.recall import Recalled
from memory.templates import Wording
from memory.tokens import clip_tokens, count
from simulator.answers import Shown
from simulator.persona import Persona
from simulator.records import Ask, Slot
from simulator.wording import VERSION, wording

SOMEBODY = "somebody"  # an account that is gone
UNSEEN = "an earlier message"  # one that did not fit
FILLED = re.compile(r"\{author\}|\{parent\}|\{text\}")

ROLES = {"note": "notes", "own": "own", "other": "others"}  # role of what was recalled -> its template


def __getattr__(name: str) -> Any:
    """RULES: the packaged system message, read when it is first used."""
    if name == "RULES":
        return wording().put("system")
    raise AttributeError(f"module 'simulator.prompt' has no attribute {name!r}")


@dataclass(frozen=True, slots=True)
class Budget:
    """Most tokens (o200k) that each part of a prompt may take; `message` bounds any one quoted message. `tree`: what is
    left for the thread goes to the rest of it, newest first."""

    thread: int = 700
    memory: int = 500
    message: int = 200
    tree: bool = False


@dataclass(frozen=True, slots=True)
class Scene:
    """What all asks of one turn share. `remembered` is what of the recalled messages fitted the budget, best first."""

    slot: Slot
    system: str
    body: str
    remembered: tuple[Recalled, ...]
    names: dict[str, str]  # "{author}" and "{parent}" as the prompt calls them
    texts: tuple[str, ...] = ()  # all that is quoted
    wording: Wording | None = None  # None: the packaged one

    @property
    def stamp(self) -> str:
        """Of the wording."""
        return self.wording.stamp if self.wording else VERSION

    @property
    def shown(self) -> Shown:
        """What an answer may not repeat."""
        frame = frozenset(line for line in self.body.splitlines() if line and not line.startswith(MARK.strip()))
        return Shown(self.names.get("{author}", ""), self.texts, frame)

    def messages(self, ask: Ask, judged: str | None = None) -> tuple[tuple[str, str], ...]:
        """(role, text) pairs for a chat model. `judged`: the words that a judging ask is about; they stand before its
        examples, where all such asks still share them, unless its question says where: {text}."""
        filled = self.names | {"{text}": fenced(judged or "")}
        question = FILLED.sub(lambda hit: filled[hit.group()], ask.question)
        asked = [said for example in ask.examples for said in zip(("user", "assistant"), example, strict=True)]
        asked.append(("user", question))
        body = self.body
        if ask.judges and "{text}" not in ask.question:
            words = self.wording or wording()
            body += "\n\n" + words.put("judged", author=self.names["{author}"], words=fenced(judged or ""))
        return ("system", self.system), ("user", f"{body}\n\n{asked[0][1]}"), *asked[1:]


def scene(
    slot: Slot, thread: Thread, recalled: list[Recalled], persona: Persona, budget: Budget, words: Wording | None = None
) -> Scene:
    """The shared part of a turn's prompts. `thread` is already cut at the slot's moment."""
    words = words or wording()
    remembered = _fitting(recalled, budget)
    shown = _shown(slot, thread, budget)
    called = _called([*(m.author for m in shown), slot.author])
    parent = thread.by_id.get(slot.parent)
    names = {"{author}": called[slot.author], "{parent}": called.get(parent.author if parent else None, SOMEBODY)}
    body = words.put(
        "scene",
        thread=_thread(shown, called, budget, words),
        persona=words.put("persona", author=names["{author}"], card=_card(persona, words)),
        memory=_memory(remembered, budget, words),
    )
    quoted = (*shown, *(item.message.bare for item in remembered))
    texts = tuple(_quoted(message, budget.message)[0] for message in quoted)
    if persona.about:
        texts = (*texts, fenced(persona.about))
    return Scene(slot, words.put("system"), body, remembered, names, texts, words)


def prompt_hash(messages: tuple[tuple[str, str], ...], stamp: str = VERSION) -> str:
    """16 hex digits that name a prompt, the `stamp` of its wording included."""
    text = "\x1f".join(f"{role}\x1e{words}" for role, words in messages)
    return sha256(f"{stamp}\x1f{text}".encode("utf-8", "replace")).hexdigest()[:16]


def _shown(slot: Slot, thread: Thread, budget: Budget) -> list[Message]:
    """The message being answered, the opening, then as far as the budget goes: the path above, other answers beside.

    Each ends at the first message that does not fit, so what is shown has no gaps, and a long thread is
    looked at no further than a short one.
    """
    path = thread.path(slot.parent)
    beside = thread.replies(slot.parent) if path else ()
    rest = thread.messages if budget.tree else ()
    spent = 0
    chosen: dict[str, Message] = {}
    for nearest_first in (path[-1:], path[:1], reversed(path[1:-1]), reversed(beside), reversed(rest)):
        for message in nearest_first:
            cost = 0 if message.id in chosen else _quoted(message, budget.message)[1] + 12
            if spent + cost > budget.thread and chosen:
                break
            spent += cost
            chosen[message.id] = message
    return sorted(chosen.values(), key=order)


def _called(authors: list[str | None]) -> dict[str | None, str]:
    """Author -> "Member A", "Member B" ... by first appearance: short, the same for all models, and nobody's name."""
    known = [author for author in dict.fromkeys(authors) if author is not None]
    return {author: f"Member {_letters(n)}" for n, author in enumerate(known)}


def _letters(n: int) -> str:
    return (_letters(n // 26 - 1) if n >= 26 else "") + chr(ord("A") + n % 26)


def _thread(shown: list[Message], called: dict[str | None, str], budget: Budget, words: Wording) -> str:
    by_id = {m.id: m for m in shown}
    place = next((m.place for m in shown if m.place), "")
    told = []
    for message in shown:
        who, said = called.get(message.author, SOMEBODY), _quoted(message, budget.message)[0]
        parent = by_id.get(message.parent) if message.parent else None
        whom = called.get(parent.author, SOMEBODY) if parent else UNSEEN
        if message.origin == "simulated" and message.score is not None:  # a predicted one: a real one came afterwards
            who += f" (score {message.score})"
        if message.parent is None:
            told.append(words.put("opening", speaker=who, words=said))
        else:
            told.append(words.put("reply", speaker=who, answered=whom, words=said))
    return words.put("thread", community=label(place) or "(no name)", messages="\n".join(told))


def _card(persona: Persona, words: Wording) -> str:
    about = words.put("about", about=fenced(persona.about)) if persona.about else ""
    return "\n".join(part for part in (inert(persona.habits), about) if part)


def _memory(remembered: tuple[Recalled, ...], budget: Budget, words: Wording) -> str:
    parts = []
    for role, template in ROLES.items():
        items = [
            words.put(
                "item",
                date=datetime.fromtimestamp(item.message.time, UTC).date().isoformat(),
                words=_quoted(item.message.bare, budget.message)[0],
            )
            for item in remembered
            if item.role == role
        ]
        parts += [words.put(template, items="\n".join(items))] if items else []
    return "\n".join(parts)


def _fitting(recalled: list[Recalled], budget: Budget) -> tuple[Recalled, ...]:
    spent, kept = 0, []
    for item in recalled:
        if not item.message.bare.words:
            continue  # it says nothing but what others said
        cost = _quoted(item.message.bare, budget.message)[1] + 8
        if spent + cost > budget.memory:
            break
        spent += cost
        kept.append(item)
    return tuple(kept)


@lru_cache(maxsize=4096)
def _quoted(message: Message, limit: int) -> tuple[str, int]:
    """The fenced, clipped words of a message and their tokens."""
    text = fenced(clip_tokens(message.words, limit))
    return text, count(text)
