"""What a run can find before it is made: width of its intervals, and the smallest difference that it would show."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evaluation.metrics import headline
from evaluation.sides import Side, read
from evaluation.stats import Plan, correlation, icc
from memory.store import MemoryStore
from simulator import setting
from simulator.manifest import RunSpec
from simulator.opening import kept
from simulator.schedulers.skeleton import Policy as Skeleton
from simulator.schedulers.skeleton import followed

SHARE, ICC, CORRELATION = 0.82, 0.2, 0.5  # assumed where no earlier run says otherwise


@dataclass(frozen=True, slots=True)
class Assumed:
    """Of one mean: `sd` of an item, `icc` of a person's items, `correlation` of two systems on one item."""

    name: str
    sd: float
    icc: float = ICC
    correlation: float = CORRELATION


def slots(spec: RunSpec, store: MemoryStore) -> tuple[int, int]:
    """(items, people) of a run that follows real threads; (0, 0) of any other, which has no truths. Repeats of an item
    are no further items."""
    if spec.base == "free" or not isinstance(setting.scheduler(spec), Skeleton):
        return 0, 0
    people = setting.known(spec, store.corpus)
    found = []
    for id in setting.threads(spec, store):
        real = store.corpus.thread(id)
        own, _ = followed(real, kept(real, str(spec.cut)), spec.base, people)
        found += own[: spec.max_turns or None]
    return len(found), len({slot.author for slot in found})


def before(spec: RunSpec, corpus: Path, like: Path | None = None) -> list[str]:
    """The lines of a run that is about to be made; `like`: an earlier run to measure in place of what is assumed."""
    store = MemoryStore.open(corpus)
    try:
        return list(lines(*slots(spec, store), like))
    finally:
        store.close()


def lines(items: int, people: int, like: Path | None = None) -> Iterator[str]:
    """What `items` of `people` can find, in English; nothing for no items. Raises what evaluation.sides.read raises."""
    if not items:
        return
    known = measured(read(like)) if like else assumed()
    yield f"{items} items of {people} people; {_source(like)}"
    for given in known:
        own = Plan(items, people, given.sd, given.icc)
        paired = Plan(items, people, given.sd, given.icc, given.correlation)
        yield (
            f"  {given.name}: known to ±{own.half_width:.3f}; another run on the same items has to differ by "
            f"{paired.detectable:.3f}, on other items by {own.detectable:.3f}, to be told apart (80 % power)"
        )


def assumed() -> list[Assumed]:
    """A share, and any other mean in its standard deviations."""
    return [Assumed(f"a share near {SHARE}", math.sqrt(SHARE * (1 - SHARE))), Assumed("any mean, in its sd", 1.0)]


def measured(found: list[Side]) -> list[Assumed]:
    """The headline means of the first side; correlations with the second where there is one. What nobody's items can
    tell is assumed."""
    first, second = found[0], found[1] if len(found) > 1 else None
    known = []
    for task in dict.fromkeys(item[0] for item in first.rows):
        rows = {item: row for item, row in first.rows.items() if item[0] == task}
        for metric in headline(next(iter(rows.values())).kind):
            if not metric.item or any(metric.item not in row.metrics for row in rows.values()):
                continue
            values = [row.metrics[metric.item] for row in rows.values()]
            within = icc(values, [row.user for row in rows.values()])
            both = [item for item in rows if second and item in second.rows]
            sides = [[side.rows[item].metrics[metric.item] for item in both] for side in (first, second) if side]
            pair = correlation(*sides) if len(sides) == 2 else math.nan
            sd = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            known.append(
                Assumed(
                    f"{metric.title} of {task}",
                    sd,
                    ICC if math.isnan(within) else within,
                    CORRELATION if math.isnan(pair) else min(pair, 0.99),
                )
            )
    return known


def _source(like: Path | None) -> str:
    if like:
        return f"spread as in {like}; where it cannot tell, ICC {ICC} and correlation {CORRELATION} are assumed"
    return f"ICC {ICC} and a correlation of {CORRELATION} with another run are assumed (--power-from RUN measures them)"
