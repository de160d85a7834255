"""The two protocols as sources of questions and rows: corrected over a corpus, reference over the benchmark's file"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, cast

import memory.retrievers
from evaluation import tasks
from evaluation.benchmark import corrected
from evaluation.benchmark.grid import CELLS
from evaluation.benchmark.guesses import guesses
from evaluation.benchmark.items import SETTINGS, Item, Selection, Setting, TaskName
from evaluation.benchmark.past import FilePast
from evaluation.benchmark.playing import Log, Question, Source
from evaluation.benchmark.posts import read_posts
from evaluation.benchmark.reference import Reference
from evaluation.benchmark.referring import answer, row, with_models
from evaluation.benchmark.spec import BenchSpec, Job
from evaluation.benchmark.targets import Target, choose
from evaluation.benchmark.wording import bench_wording
from evaluation.canary import Kept
from evaluation.likelihood import WEIGHS
from evaluation.rows import Scored
from evaluation.sides import Side
from memory import policy
from memory.asking import Remembering, prompts
from memory.doors import CorpusDoors
from memory.store import MemoryStore
from simulator.asked import Asked
from simulator.llm import LLM, Completion, Request, asking
from simulator.prompt import Budget
from simulator.records import Turn
from simulator.turn import Cast
from simulator.wording import wording

Watch = Callable[[str, int, int], None]


def open_source(spec: BenchSpec, watch: Watch = lambda what, done, total: None) -> Source:
    """`watch` is told how far the selection of items is.

    Raises: Missing or BadInput where `spec.data` is not what its protocol needs.
    """
    from memory.errors import Missing

    if not spec.data:
        what = "a corpus folder made by import" if spec.protocol == "corrected" else "the benchmark's JSON file"
        raise Missing(f"no data named; the {spec.protocol} protocol needs {what}: --data")
    return Corrected(spec, watch) if spec.protocol == "corrected" else Referenced(spec, watch)


@dataclass
class _Once:
    """The model that memories ask: what one cell's has been told, another's is not asked for again."""

    inner: LLM
    known: dict[Request, Completion] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.inner.name

    async def __call__(self, request: Request) -> Completion:
        if request not in self.known:
            self.known[request] = await self.inner(request)
        return self.known[request]

    async def close(self) -> None:
        """It is not this one's to close."""


class Corrected:
    """Items of an imported corpus in the cells of the grid."""

    def __init__(self, spec: BenchSpec, watch: Watch) -> None:
        self.spec, self.data, self._watch = spec, Path(spec.data), watch
        self.store = MemoryStore.open(self.data)

    @cached_property
    def targets(self) -> list[Target]:
        spec = self.spec
        return choose(self.store, spec.items, spec.draw, spec.earlier, spec.places, self._watch)

    def questions(self, job: Job) -> list[Question]:
        calls, weighs = len(self.spec.tasks), self.spec.likelihood
        repeats = max(self.spec.answers(task) for task in self.spec.tasks)
        make = cache(lambda: policy.load(memory.retrievers, job.policy or "none"))
        CorpusDoors(self.store, _nobody).check(make())
        return [
            Question((t.slot.thread, t.id, n), calls + (weighs and n == 0), self._ask(job, t, n, make()))
            for t in self.targets
            for n in range(repeats)
        ]

    def _ask(self, job: Job, target: Target, repeat: int, retriever: Any) -> Any:
        async def ask(llm: LLM, log: Log, run: str) -> None:
            doors = CorpusDoors(self.store, self._memory(job, llm), prompts(self.spec.templates))
            await self._take(job, target, repeat, self._cast(job, run, retriever, llm, log, doors), self.store)

        return ask

    async def again(self, side: Side, row: Scored, store: MemoryStore, llm: LLM) -> list[Turn]:
        job = Job(side.config["setting"], side.config["policy"], llm.name, int(side.config["seed"]))
        target = next(t for t in self.targets if (t.slot.thread, t.id) == (row.thread, row.slot))
        retriever = policy.load(memory.retrievers, job.policy or "none")
        doors = CorpusDoors(store, Remembering(asking(llm, job.seed)), prompts(self.spec.templates))
        return await self._take(job, target, row.repeat, self._cast(job, "", retriever, llm, Kept(), doors), store)

    async def _take(self, job: Job, target: Target, repeat: int, cast: Cast, store: MemoryStore) -> list[Turn]:
        thread = store.corpus.thread(target.slot.thread)
        return await corrected.ask_item(target, thread, CELLS[job.setting], self.spec, cast, store, repeat)

    def _cast(self, job: Job, run: str, retriever: Any, llm: LLM, log: Log, doors: CorpusDoors) -> Cast:
        spec = self.spec
        return Cast(
            run=run,
            mode="replay",
            past=self.store,  # of nobody: each cell has its own
            retriever=retriever,
            retriever_name=job.policy or "none",
            llm=llm,
            log=log,
            asks=(),
            seed=job.seed,
            budget=Budget(spec.thread_tokens, spec.memory_tokens, spec.message_tokens),
            doors=doors,
            wording=wording(spec.templates),
        )

    def keep(self, job: Job, llm: LLM, folder: Path, place: Path) -> None:
        asked = Asked(self._once.setdefault(llm.name, _Once(llm)), "memory", job.seed)
        asked.keep(folder, place)
        self._memories[job] = Remembering(asked)

    def _memory(self, job: Job, llm: LLM) -> Remembering:
        return self._memories.setdefault(job, Remembering(asking(llm, job.seed)))

    @cached_property
    def _memories(self) -> dict[Job, Remembering]:
        return {}

    @cached_property
    def _once(self) -> dict[str, _Once]:
        return {}

    def decides(self, job: Job) -> dict[str, Any]:
        return {
            "data_hash": self.store.corpus.data_hash,
            "embedder": self.store.embedder,
            "items": _digest([target.facts() for target in self.targets]),
            "wording": [words(self.spec.templates).stamp for words in (bench_wording, wording, prompts)],
            "asks": {name: asdict(corrected.worded(name, self.spec)) for name in self.spec.tasks},
        }

    async def rows(self, job: Job, turns: Sequence[Turn], done: Sequence[Job]) -> list[dict[str, Any]]:
        from evaluation.rows import MODEL
        from evaluation.scoring import score

        cell = CELLS[job.setting]
        about = {"protocol": "corrected", "setting": job.setting, "memory": cell.memory}
        about |= {"conversation": cell.conversation, "policy": job.policy}
        kept = {(t.slot.thread, t.id) for t in self.targets}
        options = {tasks.load(name).ASK.name: own for name, own in self.spec.options.items()}
        scored = await score([t for t in turns if (t.slot.thread, t.slot.id) in kept], self.store, options)
        return [about | asdict(r) | {"seed": job.seed} for r in scored if not done or r.system == MODEL]

    def counts(self) -> list[tuple[str, TaskName | str, str, int]]:
        places = Counter(target.message.place for target in self.targets)
        return [("all", "all", f"items of {place}", n) for place, n in sorted(places.items())]

    def close(self) -> None:
        self.store.close()


class Referenced:
    """Items of the benchmark's own file, as the reference selects them."""

    store = None

    def __init__(self, spec: BenchSpec, watch: Watch) -> None:
        self.spec, self.data = spec, Path(spec.data)
        self.posts = read_posts(self.data)
        self.reference = Reference(self.posts, spec.switches, spec.shuffle, watch)

    def items(self, task: TaskName, setting: Setting) -> tuple[Item, ...]:
        """The first of the selection, in the reference's order, which has negatives and small scores first."""
        found = self._selected(task, setting).items
        return found[: self.spec.items] if self.spec.items else found

    def _selected(self, task: TaskName, setting: Setting) -> Selection:
        key = task, setting
        if key not in self._selections:
            self._selections[key] = self.reference.select(task, setting)
        return self._selections[key]

    @cached_property
    def _selections(self) -> dict[tuple[TaskName, Setting], Selection]:
        return {}

    def questions(self, job: Job) -> list[Question]:
        setting, weighs = cast(Setting, job.setting), self.spec.likelihood
        return [
            Question((item.post, item.id, n), 1 + (weighs and task == "generation" and n == 0), self._ask(job, item, n))
            for task in self.spec.tasks
            for item in self.items(task, setting)
            for n in range(self.spec.answers(task))
        ]

    def _ask(self, job: Job, item: Item, repeat: int) -> Any:
        async def ask(llm: LLM, log: Log, run: str) -> None:
            await answer(item, repeat, job, run, self, llm, log)

        return ask

    def decides(self, job: Job) -> dict[str, Any]:
        setting = cast(Setting, job.setting)
        ids = {task: [item.id for item in self.items(task, setting)] for task in self.spec.tasks}
        return {"data_hash": self._hash, "items": _digest(ids), "wording": [bench_wording(self.spec.templates).stamp]}

    @cached_property
    def _hash(self) -> str:
        with self.data.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def keep(self, job: Job, llm: LLM, folder: Path, place: Path) -> None:
        pass  # nothing is remembered

    async def again(self, side: Side, row: Scored, store: MemoryStore, llm: LLM) -> list[Turn]:
        return []

    async def rows(self, job: Job, turns: Sequence[Turn], done: Sequence[Job]) -> list[dict[str, Any]]:
        setting = cast(Setting, job.setting)
        items = {(task, item.post, item.id): item for task in self.spec.tasks for item in self.items(task, setting)}
        known = [(items.get((cast(TaskName, t.ask), t.slot.thread, t.slot.id)), t) for t in turns]
        likely = {(t.slot.thread, t.slot.id): t for t in turns if t.ask == WEIGHS}
        found = [row(i, t, job, self.spec, likely.get((i.post, i.id))) for i, t in known if i is not None]
        if not any(other.setting == setting for other in done):  # each setting has items of its own
            asked = {(r["task"], r["thread"], r["slot"]) for r in found}
            those = [item for key, item in items.items() if key in asked]
            found += await guesses(those, self.posts, self._past, self.spec.draw)
        return with_models(found, self.spec)

    @cached_property
    def _past(self) -> FilePast:
        return FilePast(self.posts, self.spec.embedder)

    def counts(self) -> list[tuple[str, TaskName | str, str, int]]:
        found: list[tuple[str, TaskName | str, str, int]] = []
        for setting in (s for s in SETTINGS if s in self.spec.settings):
            for task in self.spec.tasks:
                selection = self._selected(task, setting)
                whys = Counter(v.status + (f", {v.reason}" if v.reason else "") for v in selection.verdicts)
                whys |= {"where the reference stops with an error": len(selection.stops)} if selection.stops else {}
                found += [(setting, task, why, n) for why, n in sorted(whys.items())]
        return found

    def close(self) -> None:
        pass


async def _nobody(prompt: str) -> str:
    """A model for checks alone: what needs one will be given the cell's."""
    return ""


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
