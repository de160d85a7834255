"""--dry-run: the calls and tokens of the run that follows, nothing asked and nothing left behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evaluation.estimating import estimate
from evaluation.playing import Sitting, sit
from evaluation.running import asks
from simulator.budget import Limits
from simulator.estimate import Dry, Expected
from simulator.manifest import RunSpec
from simulator.prices import Prices
from simulator.testing import Scripted
from tests.club import rows
from tests.dumps import imported

SMALL: dict[str, Any] = {"threads": ("t3_7", "t3_8"), "retriever": "recency:k=2", "model": "fake:scripted"}
SPEC, ASKS = RunSpec.of(SMALL), asks(["sentiment"])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("club")
    imported(folder, *rows())
    return folder / "corpus"


def test_the_estimate_is_the_run_where_the_model_is_as_declared(corpus: Path, tmp_path: Path) -> None:
    told = estimate(SPEC, corpus, tmp_path / "run", ASKS)
    assert not (tmp_path / "run").exists()
    real = sit(SPEC, corpus, tmp_path / "run", ASKS, Sitting(), Dry("fake:scripted", Expected()))
    assert told.usage == real.usage and told.usage.calls == 28


def test_prompts_are_counted_though_the_words_of_others_are_made_up(corpus: Path, tmp_path: Path) -> None:
    told = estimate(SPEC, corpus, tmp_path / "run", ASKS).usage
    model = Scripted(lambda request: " ".join(f"{request.seed % (n + 9)}" for n in range(request.max_tokens // 3)))
    real = sit(SPEC, corpus, tmp_path / "run", ASKS, Sitting(), model)
    expected = Dry("m")
    ours = [expected.tokens_in(request) for request in model.requests]
    assert len(ours) == told.calls == real.usage.calls
    assert abs(sum(ours) - told.tokens_in) < 0.15 * told.tokens_in


def test_messages_that_do_not_stand_are_asked_for_again_or_fail_as_often_as_is_declared(
    corpus: Path, tmp_path: Path
) -> None:
    half = sit(SPEC, corpus, tmp_path / "half", ASKS, Sitting(), Dry("m", Expected(wrong=(0.5, 0.0))))
    assert (half.usage.calls, half.progress.failed) == (28 + 14 // 2, 0)
    none = sit(SPEC, corpus, tmp_path / "none", ASKS, Sitting(), Dry("m", Expected(wrong=(1.0, 1.0))))
    assert none.usage.calls == 2 * none.progress.failures["empty"] and none.progress.failed == 28


def test_of_an_unfinished_run_what_is_left_is_told(corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    played = sit(SPEC, corpus, run, ASKS, Sitting(limits=Limits(tokens=8000)), Dry("fake:scripted"))
    before = sorted(run.iterdir()), (run / "log.ndjson").read_bytes()
    told = estimate(SPEC, corpus, run, ASKS)
    assert 0 < told.usage.calls == 28 - played.progress.calls_done < 28
    assert (sorted(run.iterdir()), (run / "log.ndjson").read_bytes()) == before


def test_money_is_told_with_and_without_a_cache(corpus: Path, tmp_path: Path) -> None:
    told = estimate(SPEC, corpus, tmp_path / "run", ASKS)
    lines = list(told.lines(Prices(1.0, 4.0, 0.5)))
    use = told.usage
    assert lines[0] == "a run of 2 threads: 28 calls still to be made"
    assert lines[2].startswith(f"about {(use.tokens_in - use.cached * 0.5 + use.tokens_out * 4) / 1e6:.4f} in")
    assert f"{(use.tokens_in + use.tokens_out * 4) / 1e6:.4f} if nothing is cached" in lines[2]
    assert lines[-1] == "no model was asked"


def test_a_free_run_and_models_of_people_are_estimated_too(corpus: Path, tmp_path: Path) -> None:
    opening = {"place": "bikes", "author": "ann", "text": "Which grease?"}
    free = {"mode": "free", "openings": (opening,), "scheduler": "round_robin:turns=1", "people": 3, "threads": 3}
    spec = RunSpec.of({**SMALL, **free, "models": {"bob": "openai:other"}})
    assert estimate(spec, corpus, tmp_path / "run", asks(["none"])).usage.calls == 3
