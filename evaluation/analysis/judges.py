"""The verdict of judge models on a run: wins that both orders agree on, flips, ties, failures, agreement."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from evaluation.analysis.lines import silent
from evaluation.judging import Judgement
from evaluation.sheet import Column, Sheet, Value
from evaluation.stats import Interval, interval, share

NAME, TITLE = "judge", "Judges: which of the two did this person write?"
ABOUT = (
    "The simulated and the real text of a slot beside the person's earlier messages, in both orders. Simulated or "
    "real wins where both orders choose it; all else that was answered is a tie, most of them flips (another text in "
    "the other order). A pair with a call that failed or could not be read is in no share but counted. 0.5 points: "
    "as good as the person. Every tenth pair is asked about once more, word for word: what a judge does not say again "
    "is noise of its own."
)
COLUMNS = (
    Column("judge", "Judge"),
    Column("writer", "Wrote", "the model that was judged; a judge of its own words favours them"),
    Column("pairs", "Pairs", "asked about, in both orders", 0),
    Column("failed", "Failed", "pairs with a call that gave no answer", 0),
    Column("unread", "Unreadable", "pairs with an answer that is not what was asked for", 0),
    Column("unfinished", "Half", "pairs asked in one order so far", 0),
    Column("people", "People", "of the judged pairs", 0),
    Column("points", "Points", "wins of the simulated text and half of the ties", higher=True),
    Column("wins", "Simulated", "share won by the simulated text", higher=True),
    Column("losses", "Real", "share won by the real text", higher=False),
    Column("ties", "Ties", "share without a winner"),
    Column("flips", "Flips", "share where the other order changed the text chosen", higher=False),
    Column("same", "Same again", "share of the calls made once more that chose the same", higher=True),
    Column("retested", "Once more", "calls made once more, that and the first one read", 0),
    Column("first", "First", "share of answers that chose text A; 0.5 is no bias of place"),
    Column("longer", "Length", "mean ln(words of the winner / of the loser); above 0 the longer text wins"),
    Column("agreement", "Agreement", "with the hand-marked pairs", higher=True),
    Column("kappa", "Kappa", "Cohen's, with the hand-marked pairs", higher=True),
    Column("marked", "Marked", "judged pairs that have a label", 0),
)
Labels = Mapping[tuple[str, str, int], str]


@dataclass(frozen=True)
class Verdict:
    """Of one pair: `winner` None where a call failed or one order is missing (`why`)."""

    one: Judgement
    winner: str | None
    why: str = ""
    flipped: bool = False


def verdict(calls: Sequence[Judgement]) -> Verdict:
    """Of the calls about one pair by one judge."""
    by_order = {call.first: call for call in calls}
    one = next(iter(by_order.values()))
    unread = [call for call in by_order.values() if call.failure in ("unparseable", "empty")]
    if any(call.failure and call not in unread for call in by_order.values()):
        return Verdict(one, None, "failed")
    if unread:
        return Verdict(one, None, "unread")
    if len(by_order) < 2:
        return Verdict(one, None, "half")
    chosen = {call.chosen for call in by_order.values()}
    if len(chosen) == 1:
        return Verdict(one, chosen.pop())
    return Verdict(one, "tie", flipped="tie" not in chosen)


def judged(calls: Sequence[Judgement], labels: Labels | None = None) -> Sheet:
    """A line for each judge, question and model that was judged; the order of calls does not matter."""
    if not calls:
        return silent(NAME, TITLE, "No judge was asked: personaconv judge RUN --model ... asks one.")

    def group(call: Judgement) -> tuple[str, str, str, int, int]:
        return call.run, call.judge, call.writer, call.version, call.seed

    ordered = sorted(calls, key=lambda call: (group(call), call.pair, call.first, call.again))
    lines, found = [], []
    for (run, *_), part in groupby(ordered, key=group):
        own = list(part)
        lines.append(_line(own, labels or {}))
        found.append({"run": run, "mode": own[0].mode, "task": "generation", "system": "model"})
    return Sheet(NAME, TITLE, ABOUT, COLUMNS, tuple(lines), tuple(found))


def _line(calls: list[Judgement], labels: Labels) -> tuple[Value, ...]:
    once = [call for call in calls if not call.again]
    same = _again(calls)
    verdicts = [verdict(list(part)) for _, part in groupby(once, key=lambda call: call.pair)]
    known = [v for v in verdicts if v.winner is not None]
    users = [v.one.user for v in known]
    missing = [sum(v.why == why for v in verdicts) for why in ("failed", "unread", "half")]

    def rate(hits: Sequence[float]) -> Interval | None:
        return share(hits, users) if hits else None

    first = [c for c in once if c.chosen in ("simulated", "real")]
    won = [v for v in known if v.winner != "tie" and all(v.one.words)]
    marked = [(v, label) for v in known if (label := labels.get((v.one.thread, v.one.slot, v.one.repeat)))]
    agreed = [float(v.winner == label) for v, label in marked]
    return (
        calls[0].judge,
        calls[0].writer,
        len(verdicts),
        *missing,
        len({*users}),
        rate([{"simulated": 1.0, "real": 0.0}.get(v.winner or "", 0.5) for v in known]),
        *(rate([float(v.winner == winner) for v in known]) for winner in ("simulated", "real", "tie")),
        rate([float(v.flipped) for v in known]),
        share([hit for hit, _ in same], [user for _, user in same]) if same else None,
        len(same),
        share([float(c.chosen == c.first) for c in first], [c.user for c in first]) if first else None,
        interval([_longer(v) for v in won], [v.one.user for v in won]) if won else None,
        share(agreed, [v.one.user for v, _ in marked]) if marked else None,
        kappa([str(v.winner) for v, _ in marked], [label for _, label in marked]) if marked else None,
        len(marked),
    )


def _again(calls: Sequence[Judgement]) -> list[tuple[float, str]]:
    """(whether the same was chosen, person) of each call that was made once more, where both were read."""
    by_key = {call.key: call for call in calls}
    firsts = ((by_key.get((*call.key[:-1], 0)), call) for call in calls if call.again)
    return [(float(a.chosen == b.chosen), b.user) for a, b in firsts if a is not None and a.chosen and b.chosen]


def _longer(found: Verdict) -> float:
    simulated, real = found.one.words
    ratio = math.log(simulated / real)
    return ratio if found.winner == "simulated" else -ratio


def kappa(a: Sequence[str], b: Sequence[str]) -> float:
    """Cohen's kappa; nan where both always say the same one thing."""
    agreed = sum(x == y for x, y in zip(a, b, strict=True)) / len(a)
    chance = sum(a.count(name) * b.count(name) for name in {*a}) / len(a) ** 2
    return (agreed - chance) / (1 - chance) if chance < 1 else math.nan
