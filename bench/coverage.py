"""How often 95 % intervals hold the truth: 40 people of 10 answers each, a fifth of the variance between people.

python -m bench.coverage [TRIES]. Beside each interval stands the one that takes every answer for a witness of its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from evaluation.console import show
from evaluation.metrics import METRICS, Answers
from evaluation.stats import Interval, interval, resampled, share
from evaluation.weighted import mean, weighted

PEOPLE, EACH, ICC = 40, 10, 0.2
MANY = 20_000  # people of the population
LABELS = ("positive", "negative")
Floats = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def latent(dice: np.random.Generator, people: int) -> Floats:
    """Standard normal values, EACH a person, with intraclass correlation ICC; flat, person by person."""
    own = dice.normal(scale=np.sqrt(ICC), size=(people, 1))
    return np.asarray((own + dice.normal(scale=np.sqrt(1 - ICC), size=(people, EACH))).ravel())


def labels(dice: np.random.Generator, people: int) -> Answers:
    """80 % right, and people differ in how often; 70 % positive."""
    first = latent(dice, people) < 0.5244
    right = latent(dice, people) < 0.8416
    p = np.where(first == right, 0.5, 0.1) + dice.random(people * EACH) * 0.5
    said = [LABELS[int(t != r)] for t, r in zip(first, right, strict=True)]
    return Answers([LABELS[int(not t)] for t in first], said, LABELS, p.tolist())


def numbers(dice: np.random.Generator, people: int) -> Answers:
    """Normal scores, and guesses that follow them: the case whose 95 % intervals are to hold 93 to 97 times of 100."""
    true = latent(dice, people)
    return Answers(true.tolist(), (true / 2 + latent(dice, people)).tolist())


def tailed(dice: np.random.Generator, people: int) -> Answers:
    """A harder case of our own: scores with a heavy tail, of which a sample may miss what decides an RMSE."""
    true = np.sinh(latent(dice, people))
    return Answers(true.tolist(), (true / 2 + latent(dice, people)).tolist())


def held(found: Interval, truth: float) -> bool:
    return found.low <= truth <= found.high


def main(tries: int) -> None:
    dice, rows, began = np.random.default_rng(0), [], time.process_time()
    people = np.repeat(np.arange(PEOPLE), EACH)
    names = [str(n) for n in people]
    alone = [str(n) for n in range(PEOPLE * EACH)]
    made: dict[str, tuple[float, Callable[[np.random.Generator, int], Floats]]] = {
        "mean": (0.0, latent),
        "share of 0.8": (0.8, lambda dice, n: (latent(dice, n) < 0.841621).astype(float)),
        "paired difference": (0.1, lambda dice, n: latent(dice, n) + 0.1 * latent(dice, n) ** 2),
    }
    for name, (truth, draw) in made.items():
        of = share if name.startswith("share") else interval
        drawn = [draw(dice, PEOPLE).tolist() for _ in range(tries)]
        resamples = [resampled(mean(np.asarray(values), people), PEOPLE) for values in drawn[: tries // 4]]
        rows.append((
            name, f"{np.mean([held(of(values, names), truth) for values in drawn]):.3f}",
            f"{np.mean([held(of(values, alone), truth) for values in drawn]):.3f}",
            f"{np.mean([held(found, truth) for found in resamples]):.3f}",
        ))  # fmt: skip
    for metric in METRICS:
        if metric.whole is None or metric.name in ("kendall", "ece"):  # no form over weights; biased for few items
            continue
        for case in (labels,) if metric.kind == "label" else (numbers, tailed):
            truth = metric.whole(case(dice, MANY))
            clustered: list[bool] = []
            naive: list[bool] = []
            for _ in range(tries // 4):
                found = case(dice, PEOPLE)
                for kept, codes in ((clustered, people), (naive, np.arange(PEOPLE * EACH))):
                    of_people, draws, items = weighted(metric, found, codes)
                    told = resampled(of_people, int(codes[-1]) + 1, items=items, draws=min(draws, 500))
                    kept.append(held(told, truth))
            name = metric.name + (", heavy tail" if case is tailed else "")
            rows.append((name, f"{np.mean(clustered):.3f}", f"{np.mean(naive):.3f}", ""))
    title = f"Share of 95 % intervals that hold the truth, {tries} tries ({tries // 4} of resamples)"
    show(title, ["statistic", "by person", "by answer", "resampled by person"], rows)
    print(f"{time.process_time() - began:.0f} CPU s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4_000)
