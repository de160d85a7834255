"""The growing threads of a run, live: who answers whom, the first words, how like the person so far.

On a terminal each thread at work is a tree that grows, and stays when it is done; elsewhere a reply is a plain line.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evaluation.transcript import plain
from memory.errors import clip
from simulator.events import Event, ThreadFinished, ThreadStarted, TurnFailed, TurnFinished, TurnStarted

if TYPE_CHECKING:
    from evaluation.console import Live

WORDS = 60  # characters of a reply that are shown
NAME = 24  # of a name
DEEP = 8  # levels of indent
TALLEST = 30  # lines of all trees that are shown while they grow: a terminal shows no more

Like = Callable[[str, int, str], float | None]  # author, before, text


@dataclass
class Growing:
    """Takes the events of a run and shows them through `live`. `like`: how like the author a text is, None: unknown."""

    live: Live
    like: Like
    _trees: dict[tuple[str, int], list[str]] = field(default_factory=dict)
    _depth: dict[tuple[str, int, str], int] = field(default_factory=dict)
    _whom: dict[tuple[str, int, str], str | None] = field(default_factory=dict)
    _likes: dict[str, tuple[float, int]] = field(default_factory=dict)  # author -> sum and number

    def __call__(self, event: Event) -> None:
        match event:
            case ThreadStarted():
                self._trees[event.thread, event.repeat] = [self._title(event.thread, event.repeat)]
            case TurnStarted():
                self._whom[event.thread, event.repeat, event.slot] = event.whom
            case TurnFinished(ask="reply") | TurnFailed(ask="reply"):
                self._add(event)
            case ThreadFinished():
                self._end(event)
            case _:
                pass

    def shown(self) -> Any:
        """What a terminal shows while threads grow: the end of each tree."""
        from rich.text import Text

        room = max(2, TALLEST // max(len(self._trees), 1))
        lines = [line for tree in self._trees.values() for line in [tree[0], *tree[1:][1 - room :]]]
        return Text("\n".join(lines[:TALLEST]), no_wrap=True, overflow="ellipsis")

    def _add(self, event: TurnFinished | TurnFailed) -> None:
        place = event.thread, event.repeat
        depth = self._depth.get((*place, event.parent), 0) + 1
        self._depth[(*place, event.slot)] = depth
        whom = self._whom.pop((*place, event.slot), None)
        who = f"{_name(event.author)} -> {_name(whom) if whom else 'somebody'}"
        if isinstance(event, TurnFailed):
            said = f"{who}: failed: {event.failure}"
        else:
            said = f"{who}: {clip(' '.join(plain(event.words or '').split()), WORDS)}{self._likeness(event)}"
        self._trees.setdefault(place, [self._title(*place)]).append(f"{'  ' * min(depth, DEEP)}{said}")
        if not self.live.moves:
            self.live.say(f"{_name(event.thread)} {said}")

    def _likeness(self, event: TurnFinished) -> str:
        found = self.like(event.author, event.time, event.words or "")
        if found is None:
            return ""
        total, n = self._likes.get(event.author, (0.0, 0))
        self._likes[event.author] = total, n = total + found, n + 1
        return f"  [like own {found:.0%}, so far {total / n:.0%} of {n}]"

    def _end(self, event: ThreadFinished) -> None:
        tree = self._trees.pop((event.thread, event.repeat), [])
        end = f"{_name(event.thread)} ended: {clip(event.stop)}"
        if self.live.moves:
            self.live.say("\n".join([*tree, end] if len(tree) > 1 else [end]))
        else:
            self.live.say(end)
        for known in (self._depth, self._whom):
            for key in [key for key in known if key[:2] == (event.thread, event.repeat)]:
                del known[key]

    def _title(self, thread: str, repeat: int) -> str:
        return f"thread {_name(thread)}" + (f", repeat {repeat}" if repeat else "")


def _name(text: str) -> str:
    return clip(" ".join(plain(text).split()), NAME)
