"""LangGraph: a memory as its store. People of the corpus are namespaces; what is put stands beside the corpus.

store = Memories(memory_store, before=t)
items = await store.asearch(("people", "u_abc"), query="what do you make of it?", limit=8)
store.put(("people", "u_abc"), "said-1", {"text": "well ...", "ts": t})
store.at(t + 60).get(("people", "u_abc"), "said-1")
"""

from __future__ import annotations

import asyncio
import dataclasses
import operator
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import numpy as np
from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from memory import policy, retrievers
from memory.errors import BadInput, UnknownName
from memory.gathered import Gathered
from memory.message import Message, order
from memory.recall import Vectors
from memory.store import MemoryStore, Past

PEOPLE = "people"
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}

Namespace = tuple[str, ...]
Overlay = dict[Namespace, dict[str, dict[str, Any]]]


class Memories(BaseStore):
    """What was there strictly before `before` (UTC seconds). Every value has its time in "ts", which is what counts:
    created_at and updated_at repeat it, and no clock is read.

    A search with a query is answered by `policy`, without one by the newest first. `index` of a put says which fields
    of its value are searched: "text" by default.
    """

    __slots__ = ("_overlay", "before", "policy", "store")

    def __init__(
        self, store: MemoryStore, *, before: int, policy: str = "dense", overlay: Overlay | None = None
    ) -> None:
        self.store = store
        self.before = before
        self.policy = policy
        self._overlay: Overlay = {} if overlay is None else overlay

    def at(self, before: int) -> Memories:
        """The same memory and what was put there, seen from another moment."""
        return Memories(self.store, before=before, policy=self.policy, overlay=self._overlay)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The answers, one an operation, done one after another.

        Raises:
            BadInput: a put without a time, a filter or a search that cannot be answered; says what to do.
        """
        return [await self._do(op) for op in ops]

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        given = list(ops)
        with ThreadPoolExecutor(1) as pool:  # a thread of its own: the caller's may be running a loop already
            return pool.submit(lambda: asyncio.run(self.abatch(given))).result()

    async def _do(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            return self._get(op.namespace, op.key)
        if isinstance(op, PutOp):
            self._put(op)
            return None
        if isinstance(op, SearchOp):
            return await self._search(op)
        return self._list(op)

    # -- one key

    def _get(self, namespace: Namespace, key: str) -> Item | None:
        value = self._overlay.get(namespace, {}).get(key)
        if value is None or value["ts"] >= self.before:
            message = self._message(namespace, key)
            if message is None:
                return None
            value = _value(message)
        return Item(namespace=namespace, key=key, value=_shown(value), created_at=_date(value), updated_at=_date(value))

    def _message(self, namespace: Namespace, key: str) -> Message | None:
        """A message of the corpus, if it is this person's, earlier, and has words: what their history holds."""
        if len(namespace) != 2 or namespace[0] != PEOPLE:
            return None
        try:
            found = self.store.corpus.message(key)
            self.store.corpus.past(namespace[1], self.before)
        except UnknownName:
            return None
        return found if found.author == namespace[1] and found.time < self.before and found.words else None

    def _put(self, op: PutOp) -> None:
        held = self._overlay.setdefault(op.namespace, {})
        if op.value is None:
            if op.key not in held and self._message(op.namespace, op.key) is not None:
                raise BadInput(f"{op.key} is in the corpus, which is never changed; only what was put can be deleted")
            held.pop(op.key, None)
            return
        if not isinstance(op.value.get("ts"), int):
            raise BadInput(f'value["ts"] of {op.key} must say when it was said, in UTC seconds; put it there')
        fields = ("text",) if op.index is None else tuple(op.index or ())
        said = "\n\n".join(str(op.value[field]) for field in fields if op.value.get(field))
        held[op.key] = {**op.value, _SAID: said}

    # -- searching

    async def _search(self, op: SearchOp) -> list[SearchItem]:
        past, rows = self._rows(op.namespace_prefix)
        wanted = _filter(op.filter or {})
        rows = sorted((row for row in rows if wanted(row.value)), key=lambda row: order(row.message))
        if op.query is None:
            return [row.item(None) for row in rows[::-1][op.offset : op.offset + op.limit]]
        rows = [row for row in rows if row.message.words]
        # Keys are unique within a namespace only, so a policy knows each message by its place among these.
        named = [dataclasses.replace(row.message, id=str(at)) for at, row in enumerate(rows)]
        given = Gathered(
            past.user if past else "", self.before, named, await self._vectors(past, rows), self.store.embed
        )
        asked = policy.sized(policy.load(retrievers, self.policy), op.offset + op.limit)
        found = (await asked(given, op.query))[op.offset : op.offset + op.limit]
        return [rows[int(r.message.id)].item(r.score) for r in found]

    def _rows(self, prefix: Namespace) -> tuple[Past | None, list[_Row]]:
        """The person's past, if `prefix` is a person, and all that is there under it, put or read."""
        if prefix in ((), (PEOPLE,)):
            raise BadInput(f'a search needs one person, as ("{PEOPLE}", NAME); everybody\'s memory is not searched')
        put = [
            _Row(namespace, _message(namespace, key, value), value)
            for namespace, held in self._overlay.items()
            if namespace[: len(prefix)] == prefix
            for key, value in held.items()
            if value["ts"] < self.before
        ]
        if len(prefix) != 2 or prefix[0] != PEOPLE:
            return None, put
        try:
            past = self.store.history(prefix[1], before=self.before)
        except UnknownName:  # nobody of the corpus: somebody who was only put
            return None, put
        replaced = {row.message.id for row in put if row.namespace == prefix}
        said = [_Row(prefix, m, _value(m), at) for at, m in enumerate(past.messages) if m.id not in replaced]
        return past, put + said

    async def _vectors(self, past: Past | None, rows: list[_Row]) -> Vectors:
        found = np.empty((len(rows), self.store.dim), np.float32)
        read = {i: row.at for i, row in enumerate(rows) if row.at is not None}
        if past is not None and read:
            found[list(read)] = past.vectors[list(read.values())]
        new = [i for i, row in enumerate(rows) if row.at is None]
        found[new] = await self.store.embed([rows[i].message.words for i in new])
        return found

    # -- namespaces

    def _list(self, op: ListNamespacesOp) -> list[Namespace]:
        found: set[Namespace] = {(PEOPLE, person) for person in self.store.corpus.heard(before=self.before)}
        for namespace, held in self._overlay.items():
            if any(value["ts"] < self.before for value in held.values()):
                found.add(namespace)
        fitting = [n for n in found if all(_fits(n, condition) for condition in op.match_conditions or ())]
        cut = sorted({n[: op.max_depth] for n in fitting})
        return cut[op.offset : op.offset + op.limit]


@dataclasses.dataclass(frozen=True, slots=True)
class _Row:
    """Something to be searched; `at`: its place in the person's past, None where it was put."""

    namespace: Namespace
    message: Message
    value: Mapping[str, Any]
    at: int | None = None

    def item(self, score: float | None) -> SearchItem:
        when = _date(self.value)
        return SearchItem(self.namespace, self.message.id, _shown(self.value), when, when, score)


_SAID = "\0said"  # beside a value in the overlay: the words that are searched


def _value(message: Message) -> dict[str, Any]:
    """A message as a value: its fields, with the time in "ts"."""
    held = {f.name: getattr(message, f.name) for f in dataclasses.fields(message) if f.name not in ("id", "time")}
    return {**held, "text": message.text or "", "ts": message.time}


def _shown(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: held for key, held in value.items() if key != _SAID}


def _message(namespace: Namespace, key: str, value: Mapping[str, Any]) -> Message:
    author = namespace[1] if len(namespace) == 2 and namespace[0] == PEOPLE else None
    thread, place = str(value.get("thread", "")), str(value.get("place", ""))
    return Message(key, thread, None, author, value["ts"], value[_SAID], place=place, origin="simulated")


def _date(value: Mapping[str, Any]) -> datetime:
    return datetime.fromtimestamp(value["ts"], UTC)


def _filter(wanted: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool]:
    """A test of values: each field equal to what is given, or compared as $eq, $ne, $gt, $gte, $lt, $lte say."""
    tests: list[tuple[str, str, Any]] = []
    for name, asked in wanted.items():
        parts = asked if isinstance(asked, dict) and any(k.startswith("$") for k in asked) else {"$eq": asked}
        for sign, other in parts.items():
            if sign not in _COMPARE:
                raise UnknownName("operator of a filter", sign, _COMPARE)
            tests.append((name, sign, other))

    def fits(value: Mapping[str, Any]) -> bool:
        for name, sign, other in tests:
            held = value.get(name)
            if held is None and sign not in ("$eq", "$ne"):
                return False
            try:
                if not _COMPARE[sign](held, other):
                    return False
            except TypeError:
                raise BadInput(
                    f"a filter compares {name}={held!r:.40} with {other!r:.40}; give the same type"
                ) from None
        return True

    return fits


def _fits(namespace: Namespace, condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(asked in ("*", held) for held, asked in zip(part, path, strict=True))
