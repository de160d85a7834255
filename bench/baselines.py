"""What guesses without a model get on a corpus: each baseline of the tables over many targets, beside two looser rules.

    python -m bench.baselines CORPUS [--targets 600] [--earlier 4] [--seed 0]

Targets are comments with words and a known score whose person had at least `--earlier` comments before, drawn by seed.
Marked "hindsight" are statistics over the whole corpus, later messages and the target itself too, as a quick look at a
data set takes them; "Jaccard" is the person's reply that shares most words with the parent, without vectors.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np

from evaluation import baselines
from evaluation.baselines import PHRASE, Known
from evaluation.console import show
from evaluation.metrics import numbers, texts
from evaluation.tasks import Value
from memory.message import Message
from memory.store import MemoryStore
from simulator.records import Slot

TEXTS = ("rouge1", "rougeL", "meteor", "bleu", "chrf")
WORDS_AND_SIGNS = re.compile(r"\w+|[^\w\s]")  # tokens of METEOR's further column
STRANGERS = 10  # replies of others, from which an oracle chooses
ORACLE = 300  # targets that it does so for


def chosen(store: MemoryStore, count: int, earlier: int, seed: int) -> list[Known]:
    """At most `count` targets by lot; all where there are fewer."""
    found: list[Known] = []
    for person in store.corpus.people():
        past = [m for m in store.history(person, before=2**62).messages if m.kind == "comment"]
        for n, message in enumerate(past):
            if sum(m.time < message.time for m in past[:n]) >= earlier and message.score is not None:
                found.append(_known(store, message, person, seed))
    return Random(seed).sample(found, min(count, len(found)))


def _known(store: MemoryStore, message: Message, person: str, seed: int) -> Known:
    thread = store.corpus.thread(message.thread)
    slot = Slot(thread.id, message.id, person, message.parent or "", message.time)
    cut = thread.before(slot.time, answering=slot.parent)
    lot = Random(f"{seed}:{message.id}").randrange(2**31)
    return Known(slot, message.place, cut, store.history(person, before=slot.time), store.corpus, lot)


def score_rows(known: Sequence[Known], truth: Sequence[float]) -> list[tuple[str, ...]]:
    """MAE, RMSE, MAE on the log scale and Spearman of each baseline, then of the same statistics in hindsight."""
    said: dict[str, list[float]] = {}
    for one in known:
        for baseline in baselines.of_kind("number"):
            said.setdefault(baseline.name, []).append(float(asyncio.run(_guess(baseline, one))))
    corpus = known[0].corpus
    every = corpus.scores(before=2**62, comments=True)
    said["median, hindsight"] = [float(np.median(every))] * len(known)
    said["mean, hindsight"] = [float(every.mean())] * len(known)
    there = {one.place: float(np.median(corpus.scores(before=2**62, place=one.place, comments=True))) for one in known}
    said["community_median, hindsight"] = [there[one.place] for one in known]
    return [(name, *_figures(truth, values)) for name, values in said.items()]


def _figures(truth: Sequence[float], said: Sequence[float]) -> tuple[str, ...]:
    slog = [[numbers.slog(v) for v in values] for values in (truth, said)]
    found = (numbers.mae(truth, said), numbers.rmse(truth, said), numbers.mae(*slog), numbers.spearman(truth, said))
    return tuple(f"{value:.3f}" for value in found)


async def _guess(baseline: baselines.Baseline, known: Known) -> Value:
    return (await baseline.guess(known))[0]


def text_rows(known: Sequence[Known], truth: Sequence[str]) -> list[tuple[str, ...]]:
    """TEXTS of each baseline, then of the nearest reply by Jaccard and of strangers from any community."""
    said: dict[str, list[str]] = {}
    for one in known:
        for baseline in baselines.of_kind("text"):
            said.setdefault(baseline.name, []).append(str(asyncio.run(_guess(baseline, one))))
        said.setdefault("own_nearest, Jaccard", []).append(_jaccard(one))
    rows = []
    for name, values in said.items():
        each = [texts.overlaps(t, s) for t, s in zip(truth, values, strict=True)]
        signs = [texts.meteor(t, s, WORDS_AND_SIGNS.findall) for t, s in zip(truth, values, strict=True)]
        rows.append((name, *(f"{np.mean([e[m] for e in each]):.4f}" for m in TEXTS), f"{np.mean(signs):.4f}"))
    return [*rows, *_oracle(known[:ORACLE], truth)]


def _jaccard(known: Known) -> str:
    if known.parent is None or not known.replies:
        return PHRASE
    asked = _words(known.parent.words)
    near = [len(asked & w) / max(1, len(asked | w)) for w in (_words(m.words) for m in known.replies)]
    return known.replies[int(np.argmax(near))].words


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.casefold()))


def _oracle(known: Sequence[Known], truth: Sequence[str]) -> list[tuple[str, ...]]:
    """ROUGE-1 of STRANGERS earlier replies of others in the community: one, and the best of them by the true text."""
    each = []
    for one, true in zip(known, truth, strict=False):
        found = one.corpus.others(
            before=one.slot.time, place=one.place, author=one.slot.author, outside=one.slot.thread, k=STRANGERS,
            seed=one.seed,
        )  # fmt: skip
        if len(found) == STRANGERS:
            each.append([texts.rouge(true, m.words)[0] for m in found])
    if not each:
        return []
    values = np.array(each)
    single, best = f"{values.mean():.4f}", f"{values.max(axis=1).mean():.4f}"
    blank = ("",) * len(TEXTS)
    return [(f"strangers, one ({len(each)} targets)", single, *blank), ("strangers, oracle of 10", best, *blank)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--targets", type=int, default=600)
    parser.add_argument("--earlier", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    store = MemoryStore.open(given.corpus)
    known = chosen(store, given.targets, given.earlier, given.seed)
    real = [store.corpus.message(one.slot.id) for one in known]
    title = f"{len(known)} targets of {len({one.slot.author for one in known})} people"
    columns = ["MAE", "RMSE", "MAE, log scale", "Spearman"]
    show(f"Scores, {title}", ["guess", *columns], score_rows(known, [float(m.score or 0) for m in real]), right=columns)
    columns = [*TEXTS, "meteor, words and signs"]
    show(f"Texts, {title}; METEOR with {texts.wordnet_name()}", ["guess", *columns],
         text_rows(known, [m.words for m in real]), right=columns)  # fmt: skip
    store.close()


if __name__ == "__main__":
    main()
