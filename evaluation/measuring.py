"""The values of single answers: what each row is worth by every metric that is a mean. Nothing is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from evaluation import baselines, bertscore, likelihood, metrics, tasks, token_match
from evaluation.bertscore import BERTSCORE, Score, model_stamp, scores
from evaluation.rows import MODEL, Scored
from evaluation.token_match import TOKEN_MATCH
from memory.embed import MiniLM

if TYPE_CHECKING:
    from memory.store import MemoryStore

Open = Callable[[str], Score]  # a value of the option -> its scorer
ALIGNED: Mapping[str, Open] = {BERTSCORE: bertscore.opened, TOKEN_MATCH: token_match.opened}  # options that are metrics
INTERVAL = ("covered", "interval_score")
PLACES = 6  # decimals of a stored metric value


async def measured(rows: list[Scored], store: MemoryStore, by: Mapping[str, Open] = ALIGNED) -> list[Scored]:
    """The rows with the values of their own answers; means and whole-cell metrics are made from these by table().

    Raises as bertscore.checked, where that option is set."""
    similar = await _similarities([(str(r.truth), str(r.value)) for r in rows if _has_texts(r)], store)
    like = {name: _aligned([r for r in rows if name in r.options and _has_texts(r)], name, by[name]) for name in by}
    done = []
    for row in rows:
        if row.truth is None:
            done.append(row)
            continue
        values: dict[str, float]
        if row.kind == "label":
            labels = tasks.load(row.task).ASK.labels
            correct = float(row.value == row.truth)
            values = {"correct": correct, "brier": metrics.labels.brier(str(row.truth), probability(row), labels)}
        elif row.kind == "number":
            true, said = float(row.truth), number(row)
            slog = metrics.numbers.slog
            values = {"abs_error": abs(true - said), "slog_error": abs(slog(true) - slog(said))}
            if "interval" in row.options and (row.system == MODEL or "low" in row.detail):
                values |= _interval(row, true, said)
            if row.options.get("by") == "expected" and row.system == MODEL:
                values["expectation"] = float(row.detail.get("expectation") == "known")
        elif _has_texts(row):
            pair = str(row.truth), str(row.value)
            values = metrics.texts.overlaps(*pair) | {"sbert": similar[pair]}
        else:
            values = metrics.texts.worst(str(row.truth)) | {"sbert": 0.0}
        for name in like.keys() & row.options.keys():
            values[name] = like[name].get((row.options[name], str(row.truth), str(row.value)), 0.0)
        if "likelihood" in row.detail:
            values |= likelihood.values(row.detail)
        columns = (*metrics.of_kind(row.kind), *metrics.optional(row.kind))
        stamps = {m.item: m.stamp(store.embedder) + _by_option(m.item, row) for m in columns if m.item in values}
        done.append(replace(row, metrics={k: round(v, PLACES) for k, v in values.items()}, stamps=stamps))
    return done


def _by_option(item: str, row: Scored) -> str:
    """What an option adds to the stamp of `item`."""
    told = f"{row.options['interval']} %" if item in INTERVAL else model_named(item, row.options)
    return f", {told}" if told else ""


def model_named(item: str, options: Mapping[str, str]) -> str:
    """Of a metric that is an option: which model it is made with; "" of others."""
    if item == BERTSCORE:
        return model_stamp(options[BERTSCORE])
    return MiniLM.name if item == TOKEN_MATCH else ""


def _aligned(rows: list[Scored], name: str, open_model: Open) -> dict[tuple[str, str, str], float]:
    """By model, true text and answer."""
    found: dict[tuple[str, str, str], float] = {}
    for model in sorted({r.options[name] for r in rows}):
        pairs = [(str(r.truth), str(r.value)) for r in rows if r.options[name] == model]
        found |= {(model, *pair): value for pair, value in scores(pairs, open_model(model)).items()}
    return found


def _interval(row: Scored, true: float, said: float) -> dict[str, float]:
    """Of the stated ends; where there are none, nothing is covered and the value alone is the interval."""
    known = "low" in row.detail
    low, high = (float(row.detail[end]) for end in ("low", "high")) if known else (said, said)
    score = metrics.numbers.interval_score(true, low, high, int(row.options["interval"]))
    return {"covered": float(known and low <= true <= high), "interval_score": score}


def _has_texts(row: Scored) -> bool:
    return row.kind == "text" and row.truth is not None and row.value is not None


async def _similarities(pairs: list[tuple[str, str]], store: MemoryStore) -> dict[tuple[str, str], float]:
    if not pairs:
        return {}
    texts = sorted({text for pair in pairs for text in pair})
    vectors = await store.embed(texts)
    row = {text: n for n, text in enumerate(texts)}
    unique = sorted(set(pairs))
    found = metrics.cosine(vectors[[row[a] for a, _ in unique]], vectors[[row[b] for _, b in unique]])
    return dict(zip(unique, found.tolist(), strict=True))


def number(row: Scored) -> float:
    """What is measured of a number row: its value, else its fill."""
    return float(row.value if row.value is not None else row.fill if row.fill is not None else baselines.ONE)


def probability(row: Scored) -> float:
    """P(first label): what was stated, where the answer was read from it, else the answer as 1 or 0.

    An unread answer counts as sure of the wrong label, so that nobody gains by refusing.
    """
    stated = row.detail.get("p")
    if isinstance(stated, float) and row.detail.get("path", "logprobs") == "logprobs":
        return stated
    first = tasks.load(row.task).ASK.labels[0]
    return float(row.truth != first) if row.value is None else float(row.value == first)
