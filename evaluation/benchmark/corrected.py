"""The corrected protocol: one item in one cell of the grid as a turn of the simulator, same frame in every cell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from evaluation import tasks
from evaluation.baselines import ONE
from evaluation.benchmark.grid import Cell, view
from evaluation.benchmark.items import TaskName
from evaluation.benchmark.targets import Case, Target
from evaluation.benchmark.wording import bench_wording
from evaluation.likelihood import weighing
from evaluation.options import opted
from evaluation.positive import ABOVE, DEFAULT, Cut, Positive
from memory.fence import fenced
from memory.message import Message, Thread
from memory.recall import History
from memory.retrievers.none import Policy as Nothing
from memory.store import MemoryStore
from memory.tokens import clip_tokens
from simulator.persona import Cards
from simulator.prompt import FILLED
from simulator.records import Ask, Turn
from simulator.turn import Cast, elsewhere, take_turn

LONGEST = 120  # tokens shown of an example's text
NOBODY = Case(Message("", "", None, None, 0, "Thanks, that did it.", 2), "Try to turn it off and on again.")


class Wanted(Protocol):
    """What of a BenchSpec decides the questions."""

    @property
    def tasks(self) -> tuple[TaskName, ...]: ...
    @property
    def options(self) -> dict[TaskName, dict[str, str]]: ...
    @property
    def likelihood(self) -> bool: ...
    @property
    def templates(self) -> Path | None: ...


@dataclass(frozen=True)
class Elsewhere:
    """The past of `person`, whoever is asked for, without what they wrote in `thread`."""

    store: MemoryStore
    person: str
    thread: Thread

    def history(self, user: str, *, before: int) -> History:
        return elsewhere(self.store.history(self.person, before=before), self.thread)


async def ask_item(  # noqa: PLR0913 - one caller; what makes one row
    target: Target, thread: Thread, cell: Cell, spec: Wanted, cast: Cast, store: MemoryStore, repeat: int
) -> list[Turn]:
    """The turns of an item in a cell, one for each task, from `cast`, whose retriever is the cell's policy.

    Raises: ModelError, a fatal one.
    """
    person = target.other if cell.memory == "other" else target.slot.author
    own = replace(
        cast,
        past=Elsewhere(store, person, thread),
        asks=asks(target, cell, spec, cut_of(target, spec, store), repeat),
        budget=replace(cast.budget, tree=cell.conversation == "tree"),
        cards=Cards(),  # of this past alone
    )
    if cell.memory == "none":
        own = replace(own, retriever=Nothing(), show_card=False)
    return await take_turn(target.slot, view(thread, target.slot, cell.conversation), own, target.message.words, repeat)


def cut_of(target: Target, spec: Wanted, store: MemoryStore) -> Cut:
    """Which scores are positive at the target's moment."""
    positive = Positive.of(spec.options.get("sentiment", {}).get("positive", DEFAULT))
    if positive.quantile is None:
        return positive.cut(())
    corpus, slot = store.corpus, target.slot
    found = corpus.scores(before=slot.time, place=target.message.place, outside=slot.thread, comments=True)
    return positive.cut(found if len(found) else [ONE])


def worded(name: TaskName, spec: Wanted) -> Ask:
    """The task's question as the spec words it and its options want it."""
    return opted(tasks.ask(name, spec.templates), spec.options.get(name, {}))


def asks(target: Target, cell: Cell, spec: Wanted, cut: Cut = ABOVE, repeat: int = 0) -> tuple[Ask, ...]:
    """The tasks' questions, each after one more example: of the cell's person, of nobody where there is no memory. The
    message that a task judges stands before all of them. A likelihood is the same in every repeat: it is asked once."""
    lent = {"own": target.own_case, "other": target.other_case, "none": NOBODY}[cell.memory]
    found = []
    for name in spec.tasks:
        ask = worded(name, spec)
        found.append(replace(ask, examples=(*ask.examples, example(name, lent, ask, cut, spec.templates))))
    return weighing(found) if spec.likelihood and repeat == 0 else tuple(found)


def example(name: TaskName, shown: Case, ask: Ask, cut: Cut = ABOVE, folder: Path | None = None) -> tuple[str, str]:
    """(question, answer) of an earlier case, in the words of the task's own question."""
    truth = tasks.load(name).truth(shown.message.bare, cut)
    filled = {"{author}": "this person", "{parent}": "somebody"}
    asked = FILLED.sub(lambda hit: filled[hit.group()], ask.question)
    who, said = ("This person", shown.message.bare.words) if ask.judges else ("Somebody", shown.parent)
    words = fenced(clip_tokens(said, LONGEST))
    answer = f"{truth:g}" if isinstance(truth, float) else clip_tokens(str(truth), ask.max_tokens)
    return bench_wording(folder).put("earlier", author=who, words=words, question=asked), answer
