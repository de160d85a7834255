"""personaconv recall: what a policy would remember of a person before a moment, and why."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import memory.retrievers
from evaluation.console import show
from memory import policy
from memory.asking import Remembering
from memory.doors import CorpusDoors, needs
from memory.errors import clip
from memory.recall import Recalled
from memory.store import MemoryStore
from simulator.opening import moment

COLUMNS = ("rank", "score", "terms (value, rank)", "date", "text")
SHOWN = 70  # characters of a text


@dataclass(frozen=True)
class Found:
    """What was recalled of `history` messages; `calls`: of the model."""

    recalled: list[Recalled]
    history: int
    calls: int

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """COLUMNS of each item, texts clipped; what is not the person's own words says so."""
        return [
            (str(rank), f"{r.score:.4g}", terms(r), _date(r.message.time), _mark(r) + clip(r.message.words, SHOWN))
            for rank, r in enumerate(self.recalled, 1)
        ]


def terms(item: Recalled) -> str:
    """Each term with its value and its rank: "dense 0.71 (2), bm25 3.4 (1)"."""
    return ", ".join(
        f"{name} {value:.4g}" + (f" ({item.terms[f'{name}_rank']:.0f})" if f"{name}_rank" in item.terms else "")
        for name, value in item.terms.items()
        if name.removesuffix("_rank") not in item.terms.keys() - {name}
    )


async def recall(store: MemoryStore, user: str, query: str, *, before: int, spec: str, llm: Any = None) -> Found:
    """What `spec` recalls of `user` for `query`, strictly before `before`. `llm`: for policies that ask a model.

    Raises:
        UnknownName: nobody of that name, no such policy. Missing: the policy needs a model. ModelError: a call failed.
    """
    from simulator.llm import asking

    made = policy.load(memory.retrievers, spec)
    history = store.history(user, before=before)
    ask = None if llm is None else Remembering(asking(llm))
    found = await CorpusDoors(store, ask).recall(made, history, query)
    return Found(found, len(history), 0 if ask is None else ask.calls)


def show_recalled(  # noqa: PLR0913 - one caller: the command
    corpus: Path, user: str, query: str, before: str, spec: str, model: str, base_url: str | None
) -> None:
    """Prints what would be remembered. The model is opened only for a policy that asks one."""
    store = MemoryStore.open(corpus)
    try:
        found = asyncio.run(_with_model(store, user, query, moment(before), spec, (model, base_url)))
    finally:
        store.close()
    title = f"{clip(user)} before {_date(moment(before))} by {spec}: {len(found.recalled)} of {found.history} messages"
    show(title, COLUMNS, found.rows(), right=COLUMNS[:2])
    if found.calls:
        print(f"calls of the model: {found.calls}")


async def _with_model(
    store: MemoryStore, user: str, query: str, before: int, spec: str, model: tuple[str, str | None]
) -> Found:
    from simulator.models import open_llm
    from simulator.wrappers import Retried

    if "ask" not in needs(policy.load(memory.retrievers, spec)):
        return await recall(store, user, query, before=before, spec=spec)
    llm = Retried(open_llm(*model))
    try:
        return await recall(store, user, query, before=before, spec=spec, llm=llm)
    finally:
        await llm.close()


def _date(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M")


def _mark(item: Recalled) -> str:
    return {"own": "", "other": "[others] ", "note": "[note] "}[item.role]
