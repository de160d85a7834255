"""The live view: who to whom, first words, how like them; plain lines without a terminal; nothing of a text acts."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evaluation.console import Live
from evaluation.growing import Growing
from simulator.events import Event, RunStarted, ThreadFinished, ThreadStarted, TurnFailed, TurnFinished, TurnStarted

Said = pytest.CaptureFixture[str]
AT: dict[str, Any] = {"run": "r", "thread": "t3_a", "repeat": 0}
EVIL = "\x1b[2J\x1b]0;owned\x07 hi [bold red]there[/] \u202eback\nnext line " + "long " * 40


def turn(slot: str, author: str, parent: str, words: str | None, whom: str | None = "ann") -> list[Event]:
    about: dict[str, Any] = {**AT, "slot": slot, "author": author, "parent": parent, "time": 9}
    used: dict[str, Any] = {"tokens_in": 1, "tokens_out": 1, "cached": 0, "seconds": 0.1}
    start = TurnStarted(**about, whom=whom)
    if words is None:
        return [start, TurnFailed(**about, ask="reply", failure="limit", reason="slow", attempts=4)]
    return [start, TurnFinished(**about, ask="reply", words=words, **used),
            TurnFinished(**about, ask="impact", words="7", **used)]  # fmt: skip


def told(events: list[Event], likes: list[float | None]) -> Growing:
    found = iter(likes)
    with Live() as live:
        grow = Growing(live, lambda author, before, text: next(found, None))
        live.above = grow.shown
        for event in [RunStarted(run="r", mode="rollout", model="m", threads=1, calls=4, found=0), *events]:
            grow(event)
    return grow


def test_without_a_terminal_each_reply_is_a_plain_line(capsys: Said) -> None:
    events = [ThreadStarted(**AT), *turn("b", "bob", "a", "first words"), *turn("c", "cat", "b", None, whom=None)]
    told([*events, *turn("d", "bob", "b", "more"), ThreadFinished(**AT, stop="the end")], [0.25, 0.75])
    assert capsys.readouterr().out.splitlines() == [
        "t3_a bob -> ann: first words  [like own 25%, so far 25% of 1]",
        "t3_a cat -> somebody: failed: limit",
        "t3_a bob -> ann: more  [like own 75%, so far 50% of 2]",
        "t3_a ended: the end",
    ]


def test_who_has_no_manner_is_compared_with_nothing(capsys: Said) -> None:
    told(turn("b", "bob", "a", "words"), [None])
    assert capsys.readouterr().out == "t3_a bob -> ann: words\n"


@pytest.mark.parametrize("terminal", ["0", "1"])
def test_nothing_in_a_text_or_a_name_acts_on_the_terminal(
    capsys: Said, monkeypatch: pytest.MonkeyPatch, terminal: str
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", terminal)
    told([ThreadStarted(**AT), *turn("b", f"bob{EVIL}", "a", EVIL), ThreadFinished(**AT, stop=EVIL)], [])
    shown = capsys.readouterr().out
    assert "[bold red]there[/]" in shown
    assert not re.search("\x1b\\[2J|\x1b\\]|\x07|\u202e", shown.replace("\x1b[2K", ""))
    assert max(map(len, shown.splitlines())) < 300


def test_on_a_terminal_a_thread_is_a_tree_that_stays_when_it_ends(
    capsys: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    events = [ThreadStarted(**AT), *turn("b", "bob", "a", "one"), *turn("c", "cat", "b", "two", whom="bob")]
    grow = told(events, [])
    assert str(grow.shown()) == "thread t3_a\n  bob -> ann: one\n    cat -> bob: two"
    capsys.readouterr()
    grow = told([*events, ThreadFinished(**AT, stop="the end")], [])
    assert str(grow.shown()) == ""
    assert "thread t3_a\n  bob -> ann: one\n    cat -> bob: two\nt3_a ended: the end\n" in capsys.readouterr().out


def test_a_tree_that_is_taller_than_the_screen_shows_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    grow = told([ThreadStarted(**AT), *(e for n in range(99) for e in turn(f"s{n}", "bob", "a", f"no {n}"))], [])
    lines = str(grow.shown()).splitlines()
    assert len(lines) <= 30 and lines[0] == "thread t3_a" and "no 98" in lines[-1]


def test_no_color_is_honoured(capsys: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    with Live() as live:
        live("rollout", 1, 4, "note")
    assert not re.search("\x1b\\[[0-9;]*(3[0-7]|38|9[0-7])[0-9;]*m", capsys.readouterr().out)
