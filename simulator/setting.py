"""Setting: what all threads of a run share, and a Stage for each: how it opens, who speaks for whom, what limits it."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

import memory.retrievers
import simulator.schedulers
from memory import policy
from memory.corpus import Corpus
from memory.doors import Doors
from memory.errors import BadInput, Missing, UnknownName
from memory.message import Thread
from memory.recall import Retriever
from memory.store import MemoryStore
from simulator.casting import choose, named
from simulator.floor import Asking, Floor, Scheduler
from simulator.interventions import Memory, Model, Swap, of_thread
from simulator.llm import LLM
from simulator.manifest import RunSpec
from simulator.opening import Opening, kept, post
from simulator.pace import company, pace
from simulator.schedulers.skeleton import Policy as Skeleton
from simulator.schedulers.skeleton import followed
from simulator.stage import Limits, Roles, Score, Stage
from simulator.wording import wording

FREE = "free_"


def threads(spec: RunSpec, store: MemoryStore) -> list[str]:
    """Ids of the threads of a run. Raises UnknownName for one that is not there, or for such a community."""
    if spec.base == "free":
        for opening in spec.openings:
            if opening.place not in store.corpus.places():
                raise UnknownName("community", opening.place, store.corpus.places())
        return [f"{FREE}{n}" for n in range(1, len(spec.openings) + 1)]
    if isinstance(spec.threads, int):
        if isinstance(spec.cut, str) and spec.cut.startswith(("t1_", "t3_")):
            return [store.corpus.message(spec.cut).thread]
        return choose(store.corpus, store, spec.threads, spec.seed)
    return named(store.corpus, spec.threads)


def known(spec: RunSpec, corpus: Corpus) -> Container[str]:
    """Everybody who can be asked to write: people of the corpus, and whom the run names.

    Raises: UnknownName for a card written by hand that is for none of these, nor for who stands in for one; and for
    somebody named whom the corpus does not know and who has no such card: one mistyped would be played as a stranger.
    """
    people, named = corpus.people(), _named(spec)
    for name in spec.personas:
        if name not in people and name not in named:
            raise UnknownName("person with a card written by hand", name, {*people, *named})
    for name in named:
        if name not in people and name not in spec.personas:
            raise UnknownName("person without a card written by hand", name, {*people, *spec.personas})
    invited = spec.people if isinstance(spec.people, tuple) else ()
    return {*people, *invited, *(opening.author for opening in spec.openings if opening.author)}


def _named(spec: RunSpec) -> list[str]:
    """The people whom a run names: who takes part, opens a thread, has a model, or is changed at a turn."""
    invited = spec.people if isinstance(spec.people, tuple) else ()
    changed = [name for c in spec.interventions if isinstance(c, Swap) for name in (c.person, c.by)]
    changed += [c.person for c in spec.interventions if isinstance(c, Model | Memory)]
    return [name for name in (*invited, *(o.author for o in spec.openings), *spec.models, *changed) if name]


def scheduler(spec: RunSpec) -> Scheduler:
    """Raises UnknownName, BadInput."""
    found: Scheduler = policy.load(simulator.schedulers, spec.scheduler)
    if isinstance(found, Skeleton) and spec.base == "free":
        raise BadInput("a free thread has no skeleton to follow; choose another --scheduler, such as hazard")
    return found


def retrievers(spec: RunSpec, doors: Doors) -> dict[str, Retriever]:
    """Every memory that the run names. Raises UnknownName, BadInput; Missing for one that needs what is not here."""
    names = (spec.retriever, *(c.retriever for c in spec.interventions if isinstance(c, Memory)))
    found: dict[str, Retriever] = {name: policy.load(memory.retrievers, name) for name in names}
    for made in found.values():
        doors.check(made)
    return found


def model_names(spec: RunSpec) -> list[str]:
    """The models that the run needs beside its own."""
    changed = (c.model for c in spec.interventions if isinstance(c, Model))
    return sorted({*spec.models.values(), *changed})


def check_models(spec: RunSpec, models: Mapping[str, LLM]) -> None:
    """Raises Missing for a model that was not handed in."""
    absent = [name for name in model_names(spec) if name not in models]
    if absent:
        raise Missing(f"the run needs the models {', '.join(absent)}; hand them to simulate() as models={{name: llm}}")


@dataclass(frozen=True)
class Setting:
    """`known`: everybody who can be asked to write."""

    spec: RunSpec
    corpus: Corpus
    scheduler: Scheduler
    roles: Roles
    known: Container[str]
    gate: AbstractAsyncContextManager[object]
    score: Score | None = None
    logged: Callable[[str, int], set[str]] = lambda id, repeat: set()  # ids of slots that earlier sittings took

    def stage(self, id: str, repeat: int) -> Stage:
        spec = self.spec
        return Stage(
            id,
            partial(self._free if spec.base == "free" else self._real, id, repeat),
            self.scheduler,
            self.roles,
            Limits(spec.max_turns, spec.max_rounds, spec.max_size),
            of_thread(spec.interventions, id),
            repeat,
            spec.scores,
            self.score,
            self.logged(id, repeat),
            self.gate,
        )

    def expected(self, id: str) -> int:
        """Turns that thread `id` will have, 0 where that cannot be told."""
        if not isinstance(self.scheduler, Skeleton):
            return self.spec.max_turns
        real = self.corpus.thread(id)
        slots, _ = followed(real, kept(real, str(self.spec.cut)), self.spec.base, self.known)
        return min(len(slots), self.spec.max_turns or len(slots))

    async def _real(self, id: str, repeat: int, asking: Asking) -> Floor | None:
        real = self.corpus.thread(id)
        n = kept(real, str(self.spec.cut))
        opening = real if self.spec.base == "replay" else Thread(id, real.messages[:n])
        return self._floor(opening, real, n, repeat, asking)

    async def _free(self, id: str, repeat: int, asking: Asking) -> Floor | None:
        opening = self.spec.openings[int(id.removeprefix(FREE)) - 1]
        time = opening.time or int(self.corpus.all["time"][-1]) + 1
        author = opening.author or self._author(id, opening, time, repeat)
        cast = self.roles.of(author, 0, ())
        async with self.gate:
            message = await post(id, opening, author, time, cast, repeat)
        return None if message is None else self._floor(Thread(id, (message,)), None, 1, repeat, asking)

    def _author(self, id: str, opening: Opening, time: int, repeat: int) -> str:
        import random

        chance = random.Random(f"{self._seed(id, repeat)} author")
        found = company(pace(self.corpus, opening.place, time), self.known, (), 1, chance)
        if not found:
            raise BadInput(f"nobody had written anything before {id} opens in {opening.place}; name its author")
        return found[0]

    def _floor(self, opening: Thread, real: Thread | None, kept: int, repeat: int, asking: Asking) -> Floor:
        spec, seed = self.spec, self._seed(opening.id, repeat)
        words = self.roles.cast.wording or wording()
        return Floor(opening, real, kept, spec.base, self.known, spec.people, self.corpus, seed, asking, words)

    def _seed(self, id: str, repeat: int) -> int:
        return int.from_bytes(sha256(f"{self.spec.seed}\x1f{id}\x1f{repeat}".encode()).digest()[:8])
