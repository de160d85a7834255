"""Does a memory help? The gain over no memory in its parts, each paired on the same items, with intervals.

gain = (another's words - none: what any words in the prompt do) + (own by lot - another's: what is personal)
       + (policy - own by lot: what choosing adds);   headroom = oracle - policy.

A policy helps only if it is ahead of both own messages by lot and the latest ones; being ahead of none alone shows only
that own words help. All differences are turned so that more is better. In cells of the reference protocol none is
p-nonconv, another's words are np-conv's, one's own are p-conv's, and nothing chooses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

from evaluation.contrast import difference
from evaluation.metrics import METRICS, Metric
from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Sheet, Value
from evaluation.sides import Item, Side
from evaluation.stats import Interval

NONE, OTHER, LOT, RECENCY, ORACLE = "none", "random_other", "random_own", "recency", "oracle"
CONTROLS = (NONE, OTHER, LOT, ORACLE)
PARTS = {
    "context": (NONE, OTHER),
    "personal": (OTHER, LOT),
    "retrieval": (LOT, ""),
    "gain": (NONE, ""),
    "over_recency": (RECENCY, ""),
    "headroom": ("", ORACLE),
}
TITLES = {
    "context": "in-context effect", "personal": "personal", "retrieval": "retrieval", "gain": "gain over none",
    "over_recency": "over recency", "headroom": "headroom",
}  # fmt: skip
PLACE = {NONE: 0, OTHER: 1, LOT: 2, RECENCY: 3, ORACLE: 5}  # in tables; what is compared with these comes fifth
REFERENCE = {"p-nonconv": NONE, "np-conv": OTHER, "p-conv": LOT}
LIKELIHOOD = ("bits_per_byte", "nll_per_byte")
SLICES = (("under 10", 0, 10), ("10 to 100", 10, 101), ("over 100", 101, 2**31))


@dataclass(frozen=True)
class Arms:
    """Sides of one model, seed and conversation by what their memory was; `items`: those that all have. `permuted`: own
    by lot of a matched other's past, and anybody's words, where both are there."""

    name: str
    sides: Mapping[str, Side]
    items: tuple[Item, ...]
    permuted: tuple[Side, Side] | None = None

    @property
    def policies(self) -> list[str]:
        return [name for name in self.sides if name not in CONTROLS]

    def part(self, metric: Metric, part: str, policy: str, items: Sequence[Item]) -> Interval | None:
        """None where an arm is missing, or one stands for both."""
        first, second = (self.sides.get(name or policy) for name in PARTS[part])
        if first is None or second is None or first is second:
            return None
        a, b = ([side.rows[item] for item in items] for side in (first, second))
        found = difference(metric, a, b)
        return found if metric.higher is not False else _turned(found)


def arms(sides: Sequence[Side]) -> list[Arms]:
    """Sides sorted into groups that differ in memory alone. A matched other's memory (setting other/...) by lot is the
    best "random_other", then the policy of that name, then swap_user. Empty where no two arms have an item in common.
    """
    groups: dict[str, dict[str, Side]] = {}
    strangers: dict[str, dict[str, Side]] = {}  # those that can stand for somebody else's words, by what they are
    for side in sides:
        if not side.rows:
            continue
        row = next(iter(side.rows.values()))
        setting = side.config.get("setting", "own/")
        memory, _, conversation = ("", "", "") if setting in REFERENCE else setting.partition("/")
        policy = side.config.get("policy", row.retriever)
        group = ", ".join(
            part for part in (conversation, row.model, f"seed {side.config.get('seed', '')}"[:40]) if part
        )
        group = group if "seed" in side.config else row.model
        held = groups.setdefault(group, {})
        if kind := _stranger(memory, policy):
            strangers.setdefault(group, {})[kind] = side
        elif role := REFERENCE.get(setting) or _role(memory, policy):
            held[role] = side
        if REFERENCE.get(setting) == LOT:
            held[setting] = side  # what is told of, beside the part that it stands for
    found = []
    for group, held in groups.items():
        lent = strangers.get(group, {})
        if best := next((lent[kind] for kind in STRANGERS if kind in lent), None):
            held[OTHER] = best
        held = dict(sorted(held.items(), key=lambda arm: PLACE.get(arm[0], 4)))
        matched = lent.get("matched") or lent.get("swapped by lot")
        several = len({id(side) for side in held.values()}) > 1
        shared = set.intersection(*({*side.rows} for side in held.values())) if several else set()
        if shared:
            pair = (matched, lent["anybody"]) if matched and "anybody" in lent else None
            found.append(Arms(group, held, tuple(sorted(shared)), pair))
    return found


STRANGERS = ("matched", "anybody", "swapped by lot", "swapped")  # the best first


def _stranger(memory: str, policy: str) -> str:
    """Whose words a side shows, of STRANGERS; "" for none of them."""
    name = policy.partition(":")[0]
    if memory == "other":
        return "matched" if name == LOT else ""
    if memory == "none" or name not in (OTHER, "swap_user"):
        return ""
    return "anybody" if name == OTHER else "swapped by lot" if f"base={LOT}" in policy else "swapped"


def _role(memory: str, policy: str) -> str:
    """What a side stands for; "" for a matched other's memory that is not by lot."""
    name = policy.partition(":")[0]
    if memory == "none" or name in ("", NONE):
        return NONE
    return "" if memory == "other" else name if name in (LOT, ORACLE, RECENCY) else policy


def decomposition(found: Sequence[Arms]) -> Sheet:
    """One row for each group, task, metric and policy. A part is None where an arm of it is missing."""
    columns = (
        Column("model", "model"),
        Column("task", "task"),
        Column("metric", "metric"),
        Column("policy", "policy"),
        *(Column(part, title, _about(part), higher=True) for part, title in TITLES.items()),
        Column("helps", "helps", "ahead of both own by lot and recency: intervals without 0"),
        Column("items", "items"),
        Column("users", "users"),
    )
    rows = []
    for group in found:
        for task, metric, items in metrics_of(group):
            for policy in group.policies:
                parts = {part: group.part(metric, part, policy, items) for part in PARTS}
                users = len({group.sides[policy].rows[item].user for item in items})
                named = (group.name, task, metric.name, policy)
                rows.append((*named, *(parts[part] for part in TITLES), _helps(parts), len(items), users))
    told = (
        ""
        if any(metric.name in LIKELIHOOD for group in found for _, metric, _ in metrics_of(group))
        else _NO_LIKELIHOOD
    )
    about = " ".join(str(__doc__).partition("\n\n")[2].split()) + told
    return Sheet("memory_gain", "Does a memory help?", about, columns, tuple(rows), _where(rows))


_NO_LIKELIHOOD = " Likelihood gain in bits per byte is not there: it needs an endpoint that scores prompts."


def _where(rows: Sequence[tuple[Value, ...]]) -> tuple[dict[str, str], ...]:
    """The model's answers to the task in the second column, of every arm."""
    return tuple({"task": str(row[1]), "system": MODEL} for row in rows)


def slices(found: Sequence[Arms]) -> Sheet:
    """What choosing adds, and the gain over none, by how many earlier messages a person had."""
    columns = (
        Column("model", "model"), Column("task", "task"), Column("metric", "metric"), Column("policy", "policy"),
        Column("history", "history", "earlier messages of the person"),
        Column("gain", "gain over none", higher=True), Column("retrieval", "retrieval", higher=True),
        Column("items", "items"), Column("users", "users"),
    )  # fmt: skip
    rows: list[tuple[Value, ...]] = []
    for group in found:
        for task, metric, items in metrics_of(group):
            for policy in group.policies:
                held = group.sides[policy].rows
                for name, low, high in SLICES:
                    own = [item for item in items if low <= held[item].history < high]
                    if own:
                        part = partial(group.part, metric, policy=policy, items=own)
                        users = len({held[item].user for item in own})
                        named = (group.name, task, metric.name, policy, name)
                        rows.append((*named, part("gain"), part("retrieval"), len(own), users))
    spans = {name: f"{low}-{high - 1}" for name, low, high in SLICES}
    where = tuple({**found, "history": spans[str(row[4])]} for row, found in zip(rows, _where(rows), strict=True))
    return Sheet("memory_by_history", "By length of history", "", columns, tuple(rows), where)


def costs(
    found: Sequence[Arms],
    written: Mapping[str, tuple[int, int]] | None = None,
    reads: Mapping[str, float] | None = None,
) -> Sheet:
    """What each arm took for a call: tokens, seconds, messages in the prompt, and how often there were too few.

    `written`: of evaluation.costs. `reads`: ms of a recall by policy, of evaluation.shuffles; without it no column."""
    columns: tuple[Column, ...] = (
        Column("model", "model"), Column("memory", "memory"), Column("calls", "calls"),
        Column("tokens_in", "tokens in", "of a call", 0), Column("tokens_out", "tokens out", "of a call", 1),
        Column("cached", "cached", "share of the tokens in"), Column("seconds", "seconds", "of a call", 2),
        Column("recalled", "messages", "of the memory in the prompt", 1),
        Column("cold", "short", "share of calls with fewer messages than the most"), Column("failed", "failed"),
        Column("asked", "memory's calls", "of the model by the memory itself, in all"),
        Column("asked_tokens", "memory's tokens", "in and out, of these"),
        Column("read_ms", "ms a read", "median, read again one by one; none where a model is asked", 2),
    )  # fmt: skip
    rows, where = [], []
    for group in found:
        for name, side in {id(side): (name, side) for name, side in group.sides.items()}.values():
            own = list(side.rows.values())
            most = max(len(row.recalled) for row in own)
            read, cached = (sum(getattr(r, f) or 0 for r in own) for f in ("tokens_in", "cached"))
            rows.append((
                *(group.name, name, len(own), _mean(own, "tokens_in"), _mean(own, "tokens_out")),
                cached / read if read else None,
                *(_mean(own, "seconds"), fmean(len(row.recalled) for row in own)),
                *(fmean(len(row.recalled) < most for row in own), sum(row.failure is not None for row in own)),
                *((written or {}).get(own[0].run, (None, None))),
                (reads or {}).get(own[0].retriever),
            ))  # fmt: skip
            where.append({"system": MODEL, "retriever": own[0].retriever})
    if reads is None:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return Sheet("memory_cost", "What each memory costs", "", columns, tuple(rows), tuple(where))


def metrics_of(group: Arms) -> Iterator[tuple[str, Metric, list[Item]]]:
    """Headline metrics of each task, and likelihoods where every row has them."""
    for task in dict.fromkeys(item[0] for item in group.items):
        items = [item for item in group.items if item[0] == task]
        rows = [side.rows[item] for side in group.sides.values() for item in items]
        for metric in METRICS:
            wanted = metric.kind == rows[0].kind and (metric.headline or metric.name in LIKELIHOOD)
            if wanted and (not metric.item or all(metric.item in row.metrics for row in rows)):
                yield task, metric, items


def _helps(parts: Mapping[str, Interval | None]) -> str:
    """no: one of the two is not ahead."""
    lows = [part.low if part else math.nan for part in (parts["retrieval"], parts["over_recency"])]
    if any(low <= 0 for low in lows):
        return "no"
    return "yes" if all(low > 0 for low in lows) else "not known"


def _turned(found: Interval) -> Interval:
    return replace(found, mean=-found.mean, low=-found.high, high=-found.low)


def _about(part: str) -> str:
    first, second = PARTS[part]
    return f"{second or 'policy'} - {first or 'policy'}"


def _mean(rows: Sequence[Scored], field: str) -> float | None:
    told = [value for row in rows if (value := getattr(row, field)) is not None]
    return fmean(told) if told else None
