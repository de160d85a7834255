"""A reference item asked once, as a turn of the log, and its row of results."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Protocol

from evaluation.benchmark import answers, figures, wording
from evaluation.benchmark.guesses import slot_of
from evaluation.benchmark.items import Item, TaskName
from evaluation.benchmark.playing import Log
from evaluation.benchmark.posts import Posts
from evaluation.benchmark.spec import BenchSpec, Job
from evaluation.bertscore import scores
from evaluation.likelihood import WEIGHS, likelihood, values
from evaluation.rows import MODEL
from simulator.answering import turn_seed, weighed
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
    """Asks what the log has no answer to, and logs it: the item's question and, beside its first answer, the likelihood
    of the true text, where that is wanted. A failed call is a logged turn.

    Raises: ModelError, a fatal one; nothing is logged for it.
    """
    slot = slot_of(item)
    weighs = source.spec.likelihood and item.task == "generation" and repeat == 0
    missing = [n for n in (item.task, *[WEIGHS] * weighs) if (slot.thread, slot.id, n, repeat) not in log.done]
    if not missing:
        return
    words = wording.bench_wording(source.spec.templates)
    messages = wording.prompt(item, source.posts, source.spec.switches, words)
    for name in missing:
        turn = Turn(
            run=run, mode="replay", slot=slot, ask=name, repeat=repeat, model=llm.name, retriever="",
            seed=turn_seed(job.seed, slot, name, repeat), prompt_hash=prompt_hash(messages, words.stamp), recalled=(),
            history=0, distance=1, judged=None if item.task == "generation" else "real",
        )  # fmt: skip
        if name == WEIGHS:
            log.append(await weighed(turn, messages, str(item.truth), llm))
        else:
            request = Request(messages, MAX_TOKENS[item.task], TEMPERATURE[item.task], turn.seed)
            log.append(await _answered(turn, request, llm))


async def _answered(turn: Turn, request: Request, llm: LLM) -> Turn:
    try:
        return replace(turn, completion=await llm(request))
    except ModelError as error:
        if error.fatal:
            raise
        return replace(turn, failure=error.kind, reason=str(error)[:300], attempts=error.attempts)


def row(item: Item, turn: Turn, job: Job, spec: BenchSpec, likely: Turn | None = None) -> dict[str, Any]:
    """One row: what was asked, what each of the reference's two readers takes the answer for, and which switches were
    on. Numbers that are none (nan, inf) are null there; `answer` has them as they came. `likely`: how likely the true
    text of the item is, in the rows of all its answers."""
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
        if likely is not None and item.truth:
            found["likelihood"] = likelihood(likely)
            found["metrics"] |= values(found["likelihood"])
    return found


def with_models(rows: list[dict[str, Any]], spec: BenchSpec) -> list[dict[str, Any]]:
    """The rows, those of texts with what takes a model among the metrics: their SBERT cosine, and what options name."""
    from evaluation.measuring import ALIGNED, model_named
    from evaluation.metrics import cosine
    from memory.embed import open_embedder

    said = [r for r in rows if r["task"] == "generation" and r["truth"] and r["value"]["chat"] is not None]
    pairs = [(r, str(r["truth"]), str(r["value"]["chat"])) for r in said]
    options = spec.options.get("generation", {})
    for name, named in options.items():
        like = scores([(true, said) for _, true, said in pairs], ALIGNED[name](named))
        for row, *both in pairs:
            row["metrics"][name] = like[both[0], both[1]]
    if pairs:
        model = open_embedder(spec.embedder)
        texts = sorted({text for _, *both in pairs for text in both})
        at, vectors = {text: n for n, text in enumerate(texts)}, model(texts)
        found = cosine(vectors[[at[t] for _, t, _ in pairs]], vectors[[at[s] for _, _, s in pairs]])
        for (row, _, _), value in zip(pairs, found.tolist(), strict=True):
            row["metrics"]["sbert"] = value
    for row in rows:
        if names := row.get("metrics"):
            row["stamps"] = {n: figures.stamp(n, spec.embedder, model_named(n, options)) for n in names}
    return rows


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
