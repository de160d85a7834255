"""A reference item asked once, as a turn of the log, and its row of results."""

from __future__ import annotations

import math
from typing import Any, Protocol

from evaluation.benchmark import answers, figures, wording
from evaluation.benchmark.guesses import slot_of
from evaluation.benchmark.items import Item, TaskName
from evaluation.benchmark.playing import Log
from evaluation.benchmark.posts import Posts
from evaluation.benchmark.spec import BenchSpec, Job
from evaluation.rows import MODEL
from simulator.answering import turn_seed
from simulator.llm import LLM, ModelError, Request
from simulator.prompt import prompt_hash
from simulator.records import Turn

MAX_TOKENS: dict[TaskName, int] = {"sentiment": 10, "impact": 25, "generation": 256}  # as for GPT there
TEMPERATURE: dict[TaskName, float] = {"sentiment": 0.0, "impact": 0.0, "generation": 0.7}


class Asked(Protocol):
    @property
    def spec(self) -> BenchSpec: ...
    @property
    def posts(self) -> Posts: ...


async def answer(  # noqa: PLR0913 - one caller; what makes one line of the log
    item: Item, repeat: int, job: Job, run: str, source: Asked, llm: LLM, log: Log
) -> None:
    """Asks, unless the log has the answer, and logs it. A failed call is a logged turn.

    Raises: ModelError, a fatal one; nothing is logged for it.
    """
    slot = slot_of(item)
    if (slot.thread, slot.id, item.task, repeat) in log.done:
        return
    words = wording.bench_wording(source.spec.templates)
    messages = wording.prompt(item, source.posts, source.spec.switches, words)
    seed = turn_seed(job.seed, slot, item.task, repeat)
    turn: dict[str, Any] = {
        "run": run, "mode": "replay", "slot": slot, "ask": item.task, "repeat": repeat, "model": llm.name,
        "retriever": "", "seed": seed, "prompt_hash": prompt_hash(messages, words.stamp), "recalled": (), "history": 0,
        "distance": 1, "judged": None if item.task == "generation" else "real",
    }  # fmt: skip
    try:
        completion = await llm(Request(messages, MAX_TOKENS[item.task], TEMPERATURE[item.task], seed))
    except ModelError as error:
        if error.fatal:
            raise
        log.append(Turn(**turn, failure=error.kind, reason=str(error)[:300], attempts=error.attempts))
    else:
        log.append(Turn(**turn, completion=completion))


def row(item: Item, turn: Turn, job: Job, spec: BenchSpec) -> dict[str, Any]:
    """One row: what was asked, what each of the reference's two readers takes the answer for, and which switches were
    on. Numbers that are none (nan, inf) are null there; `answer` has them as they came."""
    done = turn.completion
    read = {reader: answers.read(item.task, done.text, reader) if done else None for reader in ("chat", "log")}
    found: dict[str, Any] = {
        "protocol": "reference", "system": MODEL, "run": turn.run, "task": item.task, "setting": item.setting,
        "policy": "", "model": turn.model, "seed": job.seed, "repeat": turn.repeat, "thread": item.post,
        "slot": item.id, "user": turn.slot.author, "place": item.domain, "truth": item.truth,
        "answer": done.text if done else None, "value": {name: _finite(value) for name, value in read.items()},
        "failure": turn.failure or (None if read["chat"] is not None else "unparseable"), "reason": turn.reason,
        "example": item.example.post if item.example else None, "switches": spec.switches.named(),
        "prompt_hash": turn.prompt_hash, "attempts": turn.attempts,
        "tokens_in": done.tokens_in if done else None, "tokens_out": done.tokens_out if done else None,
        "cached": done.cached if done else None, "seconds": done.seconds if done else 0.0,
    }  # fmt: skip
    if item.task == "generation":
        said = read["chat"]
        found["metrics"] = {} if said is None or not item.truth else figures.texts(str(item.truth), str(said))
    return found


def with_cosines(rows: list[dict[str, Any]], spec: BenchSpec) -> list[dict[str, Any]]:
    """The rows, those of texts with their SBERT cosine among the metrics."""
    from evaluation.metrics import cosine
    from memory.embed import open_embedder

    pairs = [(r, str(r["truth"]), str(r["value"]["chat"])) for r in rows if r.get("metrics")]
    if pairs:
        model = open_embedder(spec.embedder)
        texts = sorted({text for _, *both in pairs for text in both})
        at, vectors = {text: n for n, text in enumerate(texts)}, model(texts)
        found = cosine(vectors[[at[t] for _, t, _ in pairs]], vectors[[at[s] for _, _, s in pairs]])
        for (row, _, _), value in zip(pairs, found.tolist(), strict=True):
            row["metrics"]["sbert"] = value
    return rows


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
