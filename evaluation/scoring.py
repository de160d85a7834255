"""Scoring: a pure step over stored turns. One row per target, ask, repeat and system (the model, each baseline).

The same turns and store give the same rows, byte for byte. Nothing is dropped: a failed answer keeps its row and gets
the declared stand-in (classification: wrong; numbers: the community's median so far; texts: 0).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from evaluation import baselines, metrics, tasks
from evaluation.likelihood import WEIGHS, likelihood
from evaluation.measuring import measured, number, probability
from evaluation.played import played
from evaluation.positive import DEFAULT, Positive
from evaluation.rows import BASELINE, MODEL, Scored, dump, load
from evaluation.spread import Intervals
from evaluation.stats import Interval
from evaluation.tasks import Kind, Options, Task
from memory.errors import BadInput, UnknownName
from memory.message import Message, Thread
from simulator.answering import REPLY
from simulator.records import ASIDE, Turn

if TYPE_CHECKING:
    from memory.store import MemoryStore

__all__ = ["BASELINE", "MODEL", "Cell", "Scored", "dump", "load", "number", "probability", "score", "table"]

SKILL = {"label": "brier", "number": "mae"}  # the error that skill is measured by


class Sight(NamedTuple):
    """A real thread, and the same with its scores hidden: masked once, not at every turn."""

    real: Thread
    masked: Thread


async def score(
    turns: Sequence[Turn], store: MemoryStore, options: Mapping[str, Options] | None = None
) -> list[Scored]:
    """Rows for all turns and for the baselines on the same targets, in the order of Scored.key.

    In replay a probe judges the true message; in a rollout the simulated one, against the score of the true one.
    Baselines always see the real thread. `options`: of each ask's task, as the manifest has them.

    Raises:
        UnknownName: a turn of an ask that no task reads, or of a thread or message that the corpus does not have.
    """
    known_tasks = {task.ASK.name: (name, task) for name in tasks.names() if (task := tasks.load(name))}
    threads = {id: Sight(real, real.masked()) for id, real in played(turns, store).items()}
    rows: list[Scored] = []
    weighed = {(t.run, t.mode, *t.key): t for t in turns if t.ask == WEIGHS}
    for turn in sorted((t for t in turns if t.ask not in (*ASIDE, WEIGHS)), key=lambda t: (t.run, t.mode, *t.key)):
        if turn.ask not in known_tasks:
            raise UnknownName("ask of a turn", turn.ask, known_tasks)
        name, task = known_tasks[turn.ask]
        own = (options or {}).get(turn.ask, {})
        made = await _rows(turn, name, task, threads[turn.slot.thread], store, own)
        place = turn.run, turn.mode, turn.slot.thread, turn.slot.id, WEIGHS
        other = weighed.get((*place, turn.repeat)) or (weighed.get((*place, 0)) if turn.mode == "replay" else None)
        if other is not None and turn.ask == REPLY:
            made[0] = replace(made[0], detail=made[0].detail | likelihood(other))
        rows += made
    return sorted(await measured(rows, store), key=lambda row: row.key)


async def _rows(turn: Turn, name: str, task: Task, thread: Sight, store: MemoryStore, options: Options) -> list[Scored]:
    """The model's row and, where the truth is known (never of a slot that a scheduler made), one for each baseline."""
    slot, message = turn.slot, None if turn.slot.made else thread.real[turn.slot.id]
    known = None
    if message is not None:
        cut = thread.masked.before(slot.time, answering=slot.parent)
        known = _known(turn, message, cut, store, Positive.of(options.get("positive", DEFAULT)))
    blank = Scored(
        run=turn.run,
        mode=turn.mode,
        task=name,
        kind=task.KIND,
        thread=slot.thread,
        slot=slot.id,
        repeat=turn.repeat,
        system=MODEL,
        user=slot.author,
        place=message.place if message else next((m.place for m in thread.real.messages), ""),
        parent=slot.parent,
        time=slot.time,
        distance=turn.distance,
        history=turn.history,
        judged=turn.judged,
        seed=turn.seed,
        truth=task.truth(message, known.cut) if message and known else None,
        options=dict(options),
    )
    answered = _model_row(blank, turn, task, options)
    if known is not None:
        answered = replace(answered, detail=answered.detail | _cut(known))
    if known is None or blank.truth is None:
        return [answered]
    if answered.value is None and task.KIND == "number":
        answered = replace(answered, fill=baselines.fill(known))
    seeing = replace(known, thread=thread.real.before(slot.time, answering=slot.parent))
    rows = [answered]
    for baseline in baselines.of_kind(task.KIND):
        value, fallback = await baseline.guess(seeing if baseline.hindsight else known)
        system = BASELINE + baseline.name
        detail: dict[str, float | str] = {"p": baseline.p(known)} if baseline.p else {}
        detail |= _cut(known)
        if "interval" in options and baseline.name == "community_median":
            detail |= baselines.central(known, int(options["interval"]))
        guessed = replace(blank, system=system, value=value, fallback=fallback, hindsight=baseline.hindsight)
        rows.append(replace(guessed, detail=detail))
    return rows


def _cut(known: baselines.Known) -> dict[str, float | str]:
    """Where "positive" begins, where an option decides it."""
    return {} if known.positive.text == DEFAULT else {"cut": known.cut.at}


def _known(turn: Turn, message: Message, cut: Thread, store: MemoryStore, positive: Positive) -> baselines.Known:
    """What a baseline may look at; `cut` is the thread before the slot's moment, its scores hidden."""
    history = store.history(turn.slot.author, before=turn.slot.time)
    return baselines.Known(turn.slot, message.place, cut, history, store.corpus, turn.seed, positive)


def _model_row(blank: Scored, turn: Turn, task: Task, options: Options) -> Scored:
    done, value = turn.completion, task.read(turn, options)
    failure: str | None = turn.failure
    if failure is None and value is None:
        failure = "unparseable" if done and done.text.strip() else "empty"
    return replace(
        blank,
        model=turn.model,
        retriever=turn.retriever,
        prompt_hash=turn.prompt_hash,
        recalled=tuple(r.id for r in turn.recalled),
        value=value,
        answer=done.text if done else None,
        failure=failure,
        reason=turn.reason,
        detail=task.detail(turn, options),
        finish=done.finish if done else "",
        attempts=turn.attempts,
        tokens_in=done.tokens_in if done else None,
        tokens_out=done.tokens_out if done else None,
        cached=done.cached if done else None,
        seconds=done.seconds if done else 0.0,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One line of the table. asked = scored + failed; failed answers are in every value, by their declared stand-in.

    `metrics`: over all answers (micro). `people`: for metrics that are means, the mean over users of each user's mean.
    `intervals`, `people_intervals`: the same with 95 % intervals that count users, by metric, made when looked at.
    `skill`, of a baseline: 1 - the model's error / its own, by SKILL's metric; nan where there is none.
    `unknown`: answers about messages whose true score or text nobody knows: no targets, in none of the other counts.
    """

    run: str
    mode: str
    task: str
    kind: Kind
    system: str
    hindsight: bool
    asked: int
    scored: int
    failed: int
    fallback: int
    unknown: int
    users: int
    failures: dict[str, int]
    metrics: dict[str, float]
    people: dict[str, float]
    stamps: dict[str, str]
    skill: float = math.nan
    intervals: Mapping[str, Interval] = field(default_factory=dict, compare=False, repr=False)
    people_intervals: Mapping[str, Interval] = field(default_factory=dict, compare=False, repr=False)


def table(scored: Iterable[Scored]) -> list[Cell]:
    """One cell per (run, mode, task, system), the model first, then its baselines as baselines.py lists them.

    Raises BadInput where values of one column were made by two versions of a metric."""
    groups: dict[tuple[str, str, str, str], list[Scored]] = {}
    for row in scored:
        groups.setdefault((row.run, row.mode, row.task, row.system), []).append(row)
    rank = {MODEL: -1, **{BASELINE + b.name: n for n, b in enumerate(baselines.BASELINES)}}
    order = sorted(groups, key=lambda g: (*g[:3], rank.get(g[3], len(rank)), g[3]))
    cells = [_cell(groups[group]) for group in order]
    errors = {(c.run, c.mode, c.task): c.metrics[SKILL[c.kind]] for c in cells if c.system == MODEL and c.kind in SKILL}
    return [_with_skill(cell, errors.get((cell.run, cell.mode, cell.task))) for cell in cells]


def _with_skill(cell: Cell, error: float | None) -> Cell:
    if error is None or cell.system == MODEL:
        return cell
    return replace(cell, skill=metrics.numbers.skill(error, cell.metrics[SKILL[cell.kind]]))


def _cell(rows: list[Scored]) -> Cell:
    targets, first = sorted((r for r in rows if r.truth is not None), key=lambda r: r.key), rows[0]
    failures = Counter(r.failure for r in targets if r.failure is not None)
    extra = [c for c in metrics.optional(first.kind) if targets and all(c.item in r.metrics for r in targets)]
    columns = (*metrics.of_kind(first.kind), *extra)
    stamps: dict[str, str] = {}
    for column in columns:
        found = {r.stamps[column.item] for r in targets if column.item in r.stamps}
        if len(found) > 1:
            ways = "; ".join(sorted(found))
            raise BadInput(f"{column.title} of task {first.task} was made in two ways ({ways}); score all of it again")
        stamps[column.name] = found.pop() if found else column.stamp()
    return Cell(
        run=first.run,
        mode=first.mode,
        task=first.task,
        kind=first.kind,
        system=first.system,
        hindsight=first.hindsight,
        asked=len(targets),
        scored=len(targets) - failures.total(),
        failed=failures.total(),
        fallback=sum(r.fallback for r in targets),
        unknown=len(rows) - len(targets),
        users=len({r.user for r in targets}),
        failures=dict(sorted(failures.items())),
        metrics={c.name: value(c, targets) for c in columns},
        people={c.name: _by_user(c.item, targets) for c in columns if c.item},
        stamps=stamps,
        intervals=Intervals(columns, targets, answers),
        people_intervals=Intervals(columns, targets, answers, macro=True),
    )


def value(column: metrics.Metric, rows: list[Scored]) -> float:
    """The metric over `rows`, which all have a truth: the mean of its items, or what it says of all together."""
    if column.whole is None:
        return _mean(r.metrics[column.item] for r in rows)
    return column.whole(answers(rows)) if rows else math.nan


def answers(rows: Sequence[Scored]) -> metrics.Answers:
    """The rows of one cell, as metrics take them."""
    truth: list[Any] = [r.truth for r in rows]
    if rows[0].kind == "label":
        labels = tasks.load(rows[0].task).ASK.labels
        return metrics.Answers(truth, [r.value for r in rows], labels, [probability(r) for r in rows])
    return metrics.Answers([float(t) for t in truth], [number(r) for r in rows])


def _by_user(item: str, rows: list[Scored]) -> float:
    each: dict[str, list[float]] = {}
    for row in rows:
        each.setdefault(row.user, []).append(row.metrics[item])
    return _mean(_mean(values) for _, values in sorted(each.items()))


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return math.fsum(found) / len(found) if found else math.nan
