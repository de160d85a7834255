"""Slot, Ask and Turn: what is asked of whom, and what came of it. A Turn is one line of the run log."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from memory.message import Message, Origin
from simulator.answers import spoken
from simulator.llm import Completion, Failure

Base = Literal["replay", "rollout", "free"]  # how a thread is opened, and what its turns see
Key = tuple[str, str, str, int]  # of a turn: thread, slot id, ask, repeat
Mode = Literal["replay", "rollout", "free", "branch"]
ASIDE = ("post", "next")  # asks that are no part of anybody's turn: a thread's opening, who speaks next


@dataclass(frozen=True, slots=True)
class Slot:
    """An empty place in a thread: `author` answers `parent` at `time` (UTC s). On a skeleton `id` is the true one.

    `made`: a scheduler made it, nobody really wrote there. `number`: of the turn in its thread, from 1 in the order of
    rounds. `person`: whose past is played, where that is not the author's own. `parent` is "" for an opening post.
    `score`: what the community mostly gave before the opening, where later turns are shown predicted scores.
    """

    thread: str
    id: str
    author: str
    parent: str
    time: int
    made: bool = False
    number: int = 0
    person: str = ""
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """The closing question of a prompt. `name` is "reply" or a probe's; {author} and {parent} are filled in.

    `examples`: (question, answer) pairs asked before it, which teach the form of an answer and nothing about anybody.
    `judges`: the question is about a message, which is shown before it: the true one in replay, the simulated one in a
    rollout. `labels` asks for first-token log-probabilities.
    """

    name: str
    question: str
    max_tokens: int
    temperature: float = 0.0
    judges: bool = False
    labels: tuple[str, ...] = ()
    examples: tuple[tuple[str, str], ...] = ()
    stop: tuple[str, ...] = ()
    options: tuple[tuple[str, str], ...] = ()  # of its task, by name: evaluation/options.py
    samples: int = 1  # answers; those after the first stand in Turn.samples
    schema: str = ""  # JSON schema of the answer
    numbers: bool = False  # the probabilities of first tokens that are whole numbers are kept
    weighs: bool = False  # no answer is asked: how likely the true words are as one


@dataclass(frozen=True, slots=True)
class Remembered:
    """A recalled message as the log keeps it: by id. Its words stay in the corpus, where they can be forgotten."""

    id: str
    thread: str
    time: int
    score: float
    terms: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rejected:
    """An answer that was paid for and did not stand: see simulator/answers.py. `seed`: of its request."""

    failure: Failure
    reason: str
    seed: int
    completion: Completion


@dataclass(frozen=True, slots=True)
class Turn:
    """One finished model call and everything needed to explain it. Exactly one of `completion` and `failure` is set.

    `distance`: simulated messages on the path to the parent, plus one: 1 right after real ones (always 1 in replay).
    `history`: how many earlier messages the person had; `persona`: what their card was made of (persona.Source).
    `judged`: the origin of the message that a probe is about: real in replay, else simulated. `rejected`: answers that
    did not stand, in order; a reply with two is a failed turn. `seed`: of the first request. `cost`: of all answers,
    in the currency of the run's prices; None where there are no prices, or an endpoint does not say its tokens.
    """

    run: str
    mode: Mode
    slot: Slot
    ask: str
    repeat: int
    model: str
    retriever: str
    seed: int
    prompt_hash: str
    recalled: tuple[Remembered, ...]
    history: int
    distance: int
    judged: Origin | None = None
    completion: Completion | None = None
    failure: Failure | None = None
    reason: str = ""  # of the failure, one sentence
    attempts: int = 1
    prompt: str | None = None  # the whole prompt, where the run keeps prompts
    persona: str = ""
    origin: Origin = "simulated"  # whose words these are
    cost: float | None = None
    rejected: tuple[Rejected, ...] = ()
    samples: tuple[Completion | None, ...] = ()  # further answers to the same question; None: the call failed
    copied: str = ""  # the run that asked it, where a branch shares it

    @property
    def words(self) -> str | None:
        """What the person says: the completion without our notation and outer blanks; None where there is none."""
        return (spoken(self.completion.text) or None) if self.completion else None

    @property
    def answers(self) -> tuple[Completion, ...]:
        """All that came back and was paid for, whether it stood or not."""
        return (
            *(r.completion for r in self.rejected),
            *([self.completion] if self.completion else []),
            *filter(None, self.samples),
        )

    @property
    def key(self) -> Key:
        """Unique in a run."""
        return self.slot.thread, self.slot.id, self.ask, self.repeat

    def message(self, place: str = "") -> Message | None:
        """The simulated message of a "reply" or a "post"; None where it failed: nobody's words are invented."""
        words = self.words
        if words is None or self.ask not in ("reply", "post"):
            return None
        slot = self.slot
        return Message(
            slot.id,
            slot.thread,
            slot.parent or None,
            slot.author,
            slot.time,
            words,
            None,
            place,
            "comment" if slot.parent else "post",
            origin=self.origin,
        )
