"""Many threads under one limit: the run folder, resume, progress."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from memory.asking import Remembering, prompts
from memory.doors import CorpusDoors, Timed
from memory.errors import BadInput, PersonaconvError
from memory.store import MemoryStore
from simulator import branch, ends, setting, whole
from simulator.asked import Asked
from simulator.budget import Spent
from simulator.casting import Anybody
from simulator.collecting import seldom
from simulator.events import (
    BudgetSpent,
    Emit,
    RunFinished,
    RunStarted,
    ThreadFinished,
    ThreadStarted,
    finished,
    ignore,
)
from simulator.finished import Finished, Job
from simulator.llm import LLM, first_line
from simulator.manifest import RunSpec, agree, manifest
from simulator.outlook import Outlook
from simulator.persona import Cards
from simulator.prices import Prices
from simulator.profile import Profiles
from simulator.prompt import Budget
from simulator.records import ASIDE, Ask, Turn
from simulator.runlog import RunLog
from simulator.shard import Shard, playing
from simulator.stage import Roles, Score
from simulator.turn import Cast

RELEASE = 4  # threads after which the memory of what they read of the corpus is given back (note 25)
ONE_SLOT = "embedded:"  # a model of one slot, where turns side by side would take each other's prefix (note 17)

Watch = Callable[["Progress", Turn | None], None]


@dataclass
class Progress:
    """How far a run is, earlier sittings included. `left_out`: real messages that nobody could be asked to write."""

    threads: int = 0
    calls: int = 0  # of turns, as far as they can be told: 0 where the scheduler decides; see Outlook
    threads_done: int = 0
    calls_done: int = 0
    found: int = 0  # of calls_done, already in the log when the run was opened, or shared with the run's parent
    failed: int = 0
    failures: dict[str, int] = field(default_factory=dict)  # failed, by class
    left_out: int = 0
    aside: int = 0  # of calls_done: opening posts, and who speaks next
    unmet: int = 0  # interventions that found nothing to change in a thread
    rejected: int = 0  # answers that did not stand, of `calls_done`; paid with their tokens
    rejected_in: int = 0
    rejected_out: int = 0
    memory_calls: int = 0  # of the model by the memory in this sitting, beside `calls`
    profiles: int = 0  # calls of this sitting that described a person, beside `calls`
    profiles_failed: int = 0  # of the whole run
    personas: dict[str, int] = field(default_factory=dict)  # replies, by what their writer's card was made of
    recall_seconds: float = 0.0  # of this sitting, added up over turns, with the memory's model calls
    stops: dict[str, int] = field(default_factory=dict)  # why threads ended
    stopped: str = ""  # why the run ended before its threads did, and how to go on

    def count(self, turn: Turn) -> None:
        self.calls_done += 1
        if turn.ask == "reply" and turn.persona:
            self.personas[turn.persona] = self.personas.get(turn.persona, 0) + 1
        if turn.failure is not None:
            self.failed += 1
            self.failures[turn.failure] = self.failures.get(turn.failure, 0) + 1
        self.rejected += len(turn.rejected)
        self.rejected_in += sum(r.completion.tokens_in or 0 for r in turn.rejected)
        self.rejected_out += sum(r.completion.tokens_out or 0 for r in turn.rejected)
        self.aside += turn.ask in ASIDE and bool(turn.model)


async def simulate(  # noqa: PLR0913 - what is played, where, and who watches
    spec: RunSpec,
    store: MemoryStore,
    llm: LLM,
    asks: Sequence[Ask],
    folder: Path,
    watch: Watch = lambda *_: None,
    emit: Emit = ignore,
    prices: Prices | None = None,
    *,
    models: Mapping[str, LLM] | None = None,
    score: Score | None = None,
) -> Progress:
    """Plays the threads of `spec` into `folder`, or what is missing there. Every finished call is logged at once.

    `watch` is called with the progress after each call (and its turn) and after each thread (None); `emit` with each
    event of simulator/events.py. `prices`: of the model, for the cost that each turn says. `models`: those that `spec`
    names beside its own. `score`: reads the score that an impact probe predicted, for scores="impact".

    Raises:
        BadInput: `folder` holds a run made otherwise; the message lists the differences.
        UnknownName: a policy or thread that is not there. Busy: another process is at it. ModelError: a fatal one.
        Missing: a model, or something a policy needs, that was not handed in.
    """
    spec, models = branch.settled(spec), models or {}
    model = Asked(llm, "memory", spec.seed, prices)
    words = prompts(spec.templates)
    doors = Timed(CorpusDoors(store, Remembering(model), words))
    retrievers = setting.retrievers(spec, doors)
    scheduler = setting.scheduler(spec)
    setting.check_models(spec, models)
    if spec.scores == "impact" and not (score and any(ask.name == "impact" for ask in asks)):
        raise BadInput("predicted scores of the impact probe need that probe; leave --probe out, or name impact")
    ids = setting.threads(spec, store)
    people = setting.known(spec, store.corpus)
    progress = Progress()
    profiles: Profiles | None = None

    def seen(turn: Turn) -> None:
        progress.count(turn)
        progress.memory_calls = model.calls
        if profiles:
            progress.profiles, progress.profiles_failed = profiles.calls, profiles.failed
        progress.recall_seconds = doors.seconds
        emit(finished(turn))
        watch(progress, turn)

    shard = Shard.of(spec.shard)
    jobs = shard.share([(id, repeat) for id in ids for repeat in range(spec.repeats)])
    with playing(folder, shard, "simulate") as place, seldom():
        named = llm.name, {name: models[name].name for name in setting.model_names(spec)}
        wanted = manifest(spec, asks, store, ids, named, folder)
        branch.agreeing(spec, wanted["decides"])
        agree(folder, wanted, place)
        model.keep(folder, place)
        if spec.profile:
            describing = Asked(llm, "profile", spec.seed, prices)
            describing.keep(folder, place)
            profiles = Profiles(describing, folder, place, words)
        mine = set(jobs)

        def found(turn: Turn) -> None:
            if (turn.slot.thread, turn.repeat) in mine:
                progress.count(turn)

        log = RunLog(folder, seen, place, found)
        ended = "interrupted"
        try:
            for turn in branch.shared(spec, wanted["run"]):
                if turn.key not in log.done and (turn.slot.thread, turn.repeat) in mine:
                    log.append(turn)
            progress.found = progress.calls_done
            cast = Cast(
                run=wanted["run"],
                mode=spec.mode,
                past=Anybody(store),
                retriever=retrievers[spec.retriever],
                retriever_name=spec.retriever,
                llm=llm,
                log=log,
                asks=tuple(asks),
                seed=spec.seed,
                budget=Budget(spec.thread_tokens, spec.memory_tokens, spec.message_tokens),
                show_card=spec.card,
                keep_prompts=spec.keep_prompts,
                wording=spec.wording(),
                doors=doors,
                cards=Cards(
                    {name: card.persona for name, card in spec.personas.items()},
                    store.corpus,
                    spec.enough,
                    spec.seed,
                ),
                profiles=profiles,
                emit=emit,
                prices=prices,
            )
            roles = Roles(cast, spec.models, models, retrievers)
            gate = asyncio.Semaphore(1 if llm.name.startswith(ONE_SLOT) else spec.concurrency)
            all_set = setting.Setting(spec, store.corpus, scheduler, roles, people, gate, score, partial(_slots, log))
            await _play(all_set, jobs, place, log.done, progress, watch)
            ended = "done"
        except Spent as spent:
            progress.stopped, ended = str(spent), "budget"
            emit(BudgetSpent(run=wanted["run"], reason=str(spent)))
        except PersonaconvError as error:
            ended = first_line(error)
            raise
        finally:
            emit(RunFinished(run=wanted["run"], stop=ended, calls=progress.calls_done, failed=progress.failed))
            log.close()
    return progress


def _slots(log: RunLog, thread: str, repeat: int) -> set[str]:
    """Ids of the slots of a thread whose reply is logged."""
    return {turn.slot.id for turn in log.done.of(thread, repeat) if turn.ask == "reply"}


async def _play(
    setting: setting.Setting, jobs: list[Job], place: Path, done: Finished, progress: Progress, watch: Watch
) -> None:
    from simulator.graph import open_threads

    whole.cut(place / ends.FILE)
    cast, noted = setting.roles.cast, ends.read(place)
    outlook = Outlook.of(jobs, setting.expected)
    progress.threads, progress.calls = len(jobs), outlook.turns * len(cast.asks)
    about = RunStarted(
        run=cast.run,
        mode=setting.spec.mode,
        model=cast.llm.name,
        threads=len(jobs),
        calls=progress.calls,
        found=progress.found,
    )
    cast.emit(about)
    queue = iter(jobs)
    left_out: dict[str, int] = {}  # by thread, of which each repeat leaves out the same

    with open_threads(place) as threads:

        async def played(id: str, repeat: int) -> ends.End:
            """The end of a thread, as it was noted if the log has all that it rests on."""
            known = noted.get((id, repeat))
            if known and 0 < known.lines <= done.lines(id, repeat):
                return known
            stage = setting.stage(id, repeat)
            stop, round, turns, failed, lines = await threads.run(stage, done.lines(id, repeat))
            done.drop(id, repeat)
            lost = stage.floor.left_out if stage.floor else 0
            end = ends.End(id, repeat, stop, round, turns, failed, stage.unmet, lost, lines)
            if end != known:
                ends.note(place, end)
            return end

        async def worker() -> None:
            for id, repeat in queue:
                cast.emit(ThreadStarted(run=cast.run, thread=id, repeat=repeat))
                end = await played(id, repeat)
                progress.threads_done += 1
                if not progress.threads_done % RELEASE:
                    setting.corpus.release()
                progress.calls += outlook.ended(id, end.turns) * len(cast.asks)
                progress.left_out += end.left_out - left_out.get(id, 0)
                left_out[id] = end.left_out
                progress.unmet += end.unmet
                progress.stops[end.stop] = progress.stops.get(end.stop, 0) + 1
                cast.emit(ThreadFinished(run=cast.run, thread=id, repeat=repeat, stop=end.stop))
                watch(progress, None)

        await together([worker() for _ in range(min(setting.spec.concurrency, len(jobs)))])


async def together(work: Sequence[Coroutine[None, None, None]]) -> None:
    """Runs all at once, and raises the first error itself rather than a group of them."""
    first: BaseException | None = None
    try:
        async with asyncio.TaskGroup() as group:
            for coroutine in work:
                group.create_task(coroutine)
    except* (PersonaconvError, OSError, sqlite3.Error) as errors:
        first = errors.exceptions[0]
    if first is not None:
        raise first
