"""Who speaks: what a prompt says about a person besides their messages, made of what was written before the moment."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from memory import habits
from memory.message import Message
from memory.recall import History

ENOUGH = habits.FEW  # own earlier messages from which a card is the person's own
LATEST = 30  # messages that a card looks at: habits change, and reading more costs time at every turn
REFRESH = 10  # new messages after which a card is made anew: it costs 0.5 ms, and a changed one a prefix cache
KEPT = 4096  # cards kept at once, 2 MB

Source = Literal["own", "profile", "profile_failed", "community", "hand", "none"]


class Opened(NamedTuple):
    """Where and when (UTC s) a thread opened: what a community's card is cut by, so that it stays as it is in there."""

    thread: str
    place: str
    time: int


class Community(Protocol):
    """The door to what others wrote: memory.corpus.Corpus."""

    def others(self, *, before: int, place: str, author: str, outside: str, k: int, seed: int) -> Sequence[Message]: ...


@dataclass(frozen=True, slots=True)
class Persona:
    """`habits`: counted, in sentences of ours. `about`: free words of a model or a person, to be quoted.

    `source`: the person's own messages; these and a profile that a model wrote of them, or failed to write; messages of
    the community (for people without enough); a card written by hand; or nothing.
    """

    source: Source = "none"
    habits: str = ""
    about: str = ""


def own_card(history: History) -> Persona:
    """Of the LATEST messages up to the last full REFRESH of them; the empty Persona below habits.FEW messages."""
    stop = milestone(len(history))
    if stop < habits.FEW:
        return Persona()
    return Persona("own", habits.card(history.messages[max(0, stop - LATEST) : stop]))


def community_card(messages: Sequence[Message]) -> Persona:
    """Of other people's messages of a community, all earlier than the moment, for somebody without enough of their own;
    the empty Persona below habits.FEW messages."""
    return Persona("community", habits.card(messages)) if len(messages) >= habits.FEW else Persona()


def milestone(size: int, refresh: int = REFRESH) -> int:
    """How many of `size` messages a card rests on: all of a beginner's, then in steps of `refresh`."""
    return size if size < refresh else size - size % refresh


@dataclass(frozen=True)
class Cards:
    """Personas, each made once for one state of a person's past: the corpus does not change during a run.

    With fewer than `enough` messages of their own people get community_card, of LATEST messages by others that `seed`
    draws from `community`; without that door they get none. `hand`: cards written by hand, before which no other comes.
    """

    hand: Mapping[str, Persona] = field(default_factory=dict)
    community: Community | None = None
    enough: int = ENOUGH
    seed: int = 0
    made: dict[Hashable, Persona] = field(default_factory=dict)

    def of(self, history: History, without: str = "", opened: Opened | None = None) -> Persona:
        """`without`: id of a thread whose messages were taken out of `history`. `opened`: the one being answered."""
        if history.user in self.hand:
            return self.hand[history.user]
        few = self.community is not None and opened is not None and len(history) < self.enough
        state = history.user, opened if few else milestone(len(history)), without
        if state not in self.made:
            if len(self.made) >= KEPT:
                self.made.clear()
            self.made[state] = self._lent(history.user, opened) if few and opened else own_card(history)
        return self.made[state]

    def _lent(self, author: str, opened: Opened) -> Persona:
        assert self.community is not None  # asked
        thread, place, time = opened
        return community_card(
            self.community.others(before=time, place=place, author=author, outside=thread, k=LATEST, seed=self.seed)
        )
