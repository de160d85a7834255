"""What a person sees: plain lines where there is no terminal, tables of text that is never markup."""

import re

import pytest

from evaluation.console import Live, failed, show, watch
from simulator.run import Progress
from simulator.wrappers import Usage

Said = pytest.CaptureFixture[str]


def test_progress_without_a_terminal_says_the_beginning_and_the_end_once(capsys: Said) -> None:
    with Live() as live:
        for done in (0, 1, 2, 3, 3, 3):
            live("read", done, 3)
        live("write", 2, 2)
    assert capsys.readouterr().out.splitlines() == ["read: 0 of 3", "read: 3 of 3", "write: 2 of 2"]


def test_progress_to_an_unknown_end_says_how_far_it_is(capsys: Said) -> None:
    with Live() as live:
        live("read", 5)
        live("read", 6)
    assert capsys.readouterr().out == "read: 5\n"


def test_a_name_in_brackets_is_text_and_not_markup(capsys: Said) -> None:
    show("[bold]People", ["name", "n"], [("[red]ann[/red]", 3), ("[link=x]", 12)], right=["n"])
    shown = capsys.readouterr().out
    assert "[red]ann[/red]" in shown and "[link=x]" in shown
    assert "\x1b" not in shown


def test_numbers_are_aligned_to_the_right(capsys: Said) -> None:
    show("Scores", ["who", "score"], [("a", 7), ("b", 1234)], right=["score"])
    ends = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert [len(line) for line in ends[1:]] == [len(ends[1])] * 3


def test_the_watcher_says_tokens_cache_and_failures(capsys: Said) -> None:
    usage = Usage(calls=2, failed=1, tokens_in=2000, tokens_out=30, cached=500)
    with Live() as live:
        watch(live, usage, "replay on m")(Progress(threads=1, calls=4, calls_done=2, failed=1), None)
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith("replay on m: 2 of 4") and "2,030 tokens, 25% cached, " in line
    assert line.endswith(", 1 failed")


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 80 columns."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("narrow")
def test_a_terminal_of_80_columns_shows_progress_speed_cost_and_failures_whole(capsys: Said) -> None:
    seen = Progress(threads=1, calls=4, calls_done=3, failed=3, failures={"empty": 1, "copied": 2})
    note = f"other/tree dense:k=3 openai:some-model seed 0: 1,234,567 tokens, 12.3 calls/s, cost 1.2345, {failed(seen)}"
    with Live() as live:
        live("bench", 3, 4, note)
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", capsys.readouterr().out)
    assert "3/4" in shown and "…" not in shown
    assert "cost 1.2345, 3 failed (2 copied, 1 empty)" in " ".join(shown.split())


@pytest.mark.usefixtures("narrow")
def test_names_that_do_not_fit_go_on_in_the_next_line(capsys: Said) -> None:
    show("Scores", ["who", *"abcdef"], [("baseline:community_median", *["0.450 [0.211, 0.689]"] * 6)], right="abcdef")
    shown = capsys.readouterr().out
    assert "…" not in shown and "0.689]" in shown
