"""Stylometry: how far a person's simulated style is from their real one, in units of how much people differ.

Source: Burrows's delta (2002), the mean absolute difference of z scores.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from evaluation.analysis.lines import past, replies, said, silent, true, where
from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Plot, Sheet, Value
from evaluation.stats import interval
from evaluation.stats.intervals import Floats

if TYPE_CHECKING:
    from memory.store import MemoryStore

PEOPLE = 4  # below whom a standard deviation between people says nothing
NAME, TITLE = "stylometry", "Style: distance to the person's real replies"
DELTA = (
    "Burrows's delta: mean absolute difference of z scores over the features of the next table, each in standard "
    "deviations between the people's real replies. The person's own earlier messages are the floor, another person's "
    "replies what a stranger would get."
)
COUNTED = {  # a match for each word or sign that counts; shares are of words or of characters
    "first person": r"\b(?:i|i'm|i've|i'd|i'll|me|my|mine|we|us|our)\b",
    "second person": r"\b(?:you|your|yours|you're|you've|u)\b",
    "contractions": r"\b\w+['’](?:s|t|re|ve|d|ll|m)\b",
    "hedges": r"\b(?:maybe|perhaps|probably|might|could|think|guess|seems?|somewhat|likely|possibly)\b",
    "negations": r"\b(?:no|not|never|none|nothing|\w+n['’]t)\b",
}
SIGNS = {
    "commas": r",",
    "full stops": r"\.",
    "question marks": r"\?",
    "exclamation marks": r"!",
    "digits": r"\d",
    "capitals": r"[A-Z]",
    "line breaks": r"\n",
    "emoji": r"[\U0001F300-\U0001FAFF\u2600-\u27BF]",
}
FEATURES = ("words a message", "words a sentence", "letters a word", "new words of 50", *COUNTED, *SIGNS)


def features(text: str) -> Floats:
    """The FEATURES of one text with words, in their order; counts are shares, lengths are logarithms."""
    words = re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text)
    count, flat = max(1, len(words)), text.casefold()
    sentences = max(1, len(re.findall(r"[.!?]+(?:\s|$)", text)))
    first = [word.casefold() for word in words[:50]]
    measured = [
        np.log1p(len(words)),
        np.log1p(count / sentences),
        sum(map(len, words)) / count,
        len({*first}) / max(1, len(first)),
        *(len(re.findall(pattern, flat)) / count for pattern in COUNTED.values()),
        *(len(re.findall(pattern, text)) / max(1, len(text)) for pattern in SIGNS.values()),
    ]
    return np.array(measured, np.float64)


def stylometry(rows: Sequence[Scored], store: MemoryStore) -> tuple[Sheet, ...]:
    """Of one run: the delta of simulated replies beside its floor, and the features one by one."""
    lines = [r for r in replies(rows) if said(r) and true(r)]
    users = sorted({r.user for r in lines})
    if len(users) < PEOPLE:
        return (silent(NAME, TITLE, f"{DELTA} Not here: {PEOPLE} people with real replies are needed."),)
    own = {user: [r for r in lines if r.user == user] for user in users}
    real = _means([[true(r) for r in own[user]] for user in users])
    simulated = _means([[said(r) for r in own[user]] for user in users])
    earlier = [past(store, user, own[user][0].time, own[user][0].thread) for user in users]
    apart = real.std(axis=0, ddof=1)
    both = np.concatenate([real, simulated]).std(axis=0, ddof=1)
    apart = np.where(apart > 1e-9, apart, both)  # a tic that no real person has
    told = np.flatnonzero(apart > 1e-9)
    z = (simulated - real)[:, told] / apart[told]
    known = [n for n, texts in enumerate(earlier) if texts]
    table: list[tuple[Value, ...]] = [("simulated replies", len(users), _delta(z, users))]
    if known:
        before = (_means([earlier[n] for n in known]) - real[known])[:, told] / apart[told]
        table.append(("own earlier messages (floor)", len(known), _delta(before, [users[n] for n in known])))
    strangers = np.roll(real, 1, axis=0)  # the next person by name
    table.append(("another person's replies", len(users), _delta((strangers - real)[:, told] / apart[told], users)))
    place = where(lines, task=lines[0].task, system=MODEL)
    columns = (
        Column("texts", "Whose words"),
        Column("people", "People", "", 0),
        Column("delta", "Delta", "to the person's real replies, in standard deviations", higher=False),
    )
    each = tuple(
        (FEATURES[n], float(simulated[:, n].mean()), float(real[:, n].mean()), interval(z[:, at].tolist(), users))
        for at, n in enumerate(told)
    )
    of_features = (
        Column("feature", "Feature", "shares of words or characters; lengths as ln(1 + n)"),
        Column("simulated", "Simulated", "mean over people"),
        Column("real", "Real", "mean over people"),
        Column("z", "Difference", "simulated minus real, in standard deviations between people"),
    )
    about = "Means over people of each one's mean; below 0 the simulated replies have less of it than the real ones."
    return (
        Sheet(NAME, TITLE, DELTA, columns, tuple(table), (place,) * len(table)),
        Sheet(
            "style-features", "Style: what differs", about, of_features, each, (place,) * len(each),
            Plot("bars", "feature", "z"),
        ),
    )  # fmt: skip


def _means(texts: Sequence[Sequence[str]]) -> Floats:
    return np.array([np.mean([features(text) for text in own], axis=0) for own in texts])


def _delta(z: Floats, users: Sequence[str]) -> Value:
    return interval(np.abs(z).mean(axis=1).tolist(), users)
