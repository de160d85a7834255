"""A sitting of a run: recorded and replayed byte for byte, stopped by a budget and gone on with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluation.playing import Played, Sitting, sit
from evaluation.running import asks
from evaluation.summary import summary
from memory.errors import BadInput, Missing
from simulator.budget import Limits
from simulator.llm import LLM, Completion, ModelError, Request
from simulator.manifest import RunSpec
from simulator.prices import Prices
from simulator.recording import calls
from simulator.runlog import turns
from simulator.testing import Faulty, Scripted, distinct
from tests.club import rows
from tests.dumps import imported

SMALL: dict[str, Any] = {
    "threads": ("t3_7", "t3_8"),
    "retriever": "recency:k=2",
    "attempts": 2,
    "model": "fake:scripted",
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("club")
    imported(folder, *rows())
    return folder / "corpus"


def play(corpus: Path, out: Path, sitting: Sitting, llm: LLM | None = None, **spec: Any) -> Played:
    return sit(RunSpec.of({**SMALL, **spec}), corpus, out, asks(["sentiment"]), sitting, llm)


def log(run: Path) -> bytes:
    return (run / "log.ndjson").read_bytes()


def test_a_recorded_run_replays_byte_for_byte(corpus: Path, tmp_path: Path) -> None:
    play(corpus, tmp_path / "a", Sitting(record=tmp_path / "r.zst"), Told(), model="fake:told")
    play(corpus, tmp_path / "b", Sitting(replay=tmp_path / "r.zst"), model="fake:told")
    assert log(tmp_path / "a") == log(tmp_path / "b")
    play(corpus, tmp_path / "c", Sitting(replay=tmp_path / "r.zst"), model="fake:told", concurrency=8)
    assert sorted(log(tmp_path / "c").splitlines()) == sorted(log(tmp_path / "a").splitlines())


def test_failures_are_replayed_as_they_were(corpus: Path, tmp_path: Path) -> None:
    faults = {2: ModelError("transport", "reset"), 5: ModelError("refused", "no"), 8: ModelError("limit", "slow")}
    model = Faulty(Scripted(distinct), {**faults, 9: ModelError("limit", "slow", wait=0.0)})
    play(corpus, tmp_path / "a", Sitting(record=tmp_path / "r"), model)
    again = play(corpus, tmp_path / "b", Sitting(replay=tmp_path / "r"))
    # A turn that has nothing to answer fails at once: whether that is before a slow one, the clock decides.
    assert sorted(log(tmp_path / "a").splitlines()) == sorted(log(tmp_path / "b").splitlines())
    assert again.progress.failures["limit"] == 1 and "refused" in again.progress.failures


def test_what_was_recorded_before_a_run_was_stopped_is_not_asked_again(corpus: Path, tmp_path: Path) -> None:
    file = tmp_path / "r"
    stopped = Faulty(Scripted(distinct), {6: ModelError("refused", "the key is not accepted", fatal=True)})
    with pytest.raises(ModelError):
        play(corpus, tmp_path / "a", Sitting(record=file), stopped)
    before = len(list(calls(file)))
    rest = Faulty(Scripted(distinct), {})
    play(corpus, tmp_path / "b", Sitting(record=file), rest)
    assert before >= 6 and rest.calls == 28 - before


def test_a_replay_with_other_settings_names_the_first_missing_turn(corpus: Path, tmp_path: Path) -> None:
    play(corpus, tmp_path / "a", Sitting(record=tmp_path / "r"), Scripted(distinct))
    with pytest.raises(Missing, match=r"the ask 'reply' of turn .* differs in seed \(recorded \d+, asked \d+\)"):
        play(corpus, tmp_path / "b", Sitting(replay=tmp_path / "r"), seed=1)
    with pytest.raises(Missing, match=r"differs in its prompt from character"):
        play(corpus, tmp_path / "c", Sitting(replay=tmp_path / "r"), memory_tokens=0)


def test_record_and_replay_exclude_each_other(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="exclude each other"):
        play(corpus, tmp_path / "a", Sitting(tmp_path / "r", tmp_path / "r"), Scripted(distinct))


class Told:
    """A model that says 200 tokens in, 100 of them cached, and 10 out."""

    name = "fake:told"

    async def __call__(self, request: Request) -> Completion:
        return Completion("I ride.", tokens_in=200, tokens_out=10, cached=100)

    async def close(self) -> None:
        pass


def test_a_run_stops_before_its_budget_is_overrun_and_goes_on_to_the_same_log(corpus: Path, tmp_path: Path) -> None:
    play(corpus, tmp_path / "whole", Sitting(), Told())
    limits = [Limits(tokens=2000), Limits(tokens=4000), Limits()]
    sittings = [play(corpus, tmp_path / "run", Sitting(limits=limit), Told(), concurrency=8) for limit in limits]
    first, second, last = (played.progress for played in sittings)
    assert "the budget of 2,000 tokens is spent" in first.stopped and "4,000" in second.stopped and not last.stopped
    assert 0 < first.calls_done < second.calls_done < last.calls_done == last.calls
    assert [played.ledger.tokens for played in sittings] == [n * 210 for n in (9, 19, 28)] or all(
        played.ledger.tokens <= (played.ledger.limits.tokens or 28 * 210) for played in sittings
    )
    assert sorted(log(tmp_path / "run").splitlines()) == sorted(log(tmp_path / "whole").splitlines())


def test_the_summary_says_tokens_cached_share_cost_and_failures(corpus: Path, tmp_path: Path) -> None:
    model = Faulty(Told(), {3: ModelError("content_filter", "withheld")})
    played = play(corpus, tmp_path / "a", Sitting(prices=Prices(1.0, 2.0, 0.5)), model)
    lines = list(summary(played))
    assert lines[0] == "2 threads, 28 calls made, 0 found in the log, 1 failed"
    assert lines[1] == "failed: 1 content_filter"
    assert lines[2].startswith("5,400 tokens in, 50% of them cached, 270 out; ") and " tokens/s, " in lines[2]
    assert lines[3] == f"cost {27 * (100 * 1.0 + 100 * 0.5 + 10 * 2.0) / 1e6:.4f} in all sittings of this run"
    assert lines[4].endswith("went into recalling")


def test_each_turn_says_what_it_cost_where_prices_are_known(corpus: Path, tmp_path: Path) -> None:
    play(corpus, tmp_path / "a", Sitting(prices=Prices(1.0, 2.0, 0.5)), Told())
    assert {turn.cost for turn in turns(tmp_path / "a")} == {170 / 1e6}
    play(corpus, tmp_path / "b", Sitting(), Told())
    assert {turn.cost for turn in turns(tmp_path / "b")} == {None}
