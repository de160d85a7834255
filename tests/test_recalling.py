"""personaconv recall says what comes back, in which order, and why."""

import asyncio
from pathlib import Path

import pytest
from dumps import START, comment, imported, post

from evaluation.cli import main
from evaluation.recalling import recall, terms
from evaluation.running import POLICY_COLUMNS, policy_rows
from memory import policy, retrievers
from memory.doors import needs
from memory.errors import BadInput, Missing
from memory.message import Message
from memory.recall import Recalled
from memory.store import MemoryStore
from simulator.opening import moment
from simulator.testing import Scripted


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("recalling")
    said = [comment(f"{n}", "a", author="ann", time=n, body=text) for n, text in enumerate(SAID, 1)]
    imported(home, post("a", "bob"), *said, comment("o", "a", author="cy", time=2, body="chain of others"))
    return home / "corpus"


SAID = ("I oil the chain", "rain again\x1b[31m " + "and again " * 40, "chain", "the chain, later")
NOW = str(START + 4)  # the last one is not earlier


def run(*arguments: str | Path) -> int:
    return main([str(a) for a in arguments])


def test_recall_prints_rank_score_terms_date_and_clipped_text(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert run("recall", folder, "ann", "chain", "--before", NOW, "--policy", "hybrid_rrf:k=3") == 0
    shown = capsys.readouterr().out
    assert "3 of 3 messages" in shown and "later" not in shown
    lines = [line for line in shown.splitlines() if "2020-09-13 12:26" in line]
    first = next(line for line in lines if line.startswith("   1"))
    assert "dense 1 (1), bm25" in first and first.rstrip().endswith("chain")
    assert "\x1b" not in shown and "..." in shown
    assert all(len(line) < 180 for line in lines)


def test_others_and_notes_are_marked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("recall", folder, "ann", "chain", "--before", NOW, "--policy", "neighbour") == 0
    assert "[others] chain of others" in capsys.readouterr().out
    assert run("recall", folder, "ann", "chain", "--before", NOW, "--policy", "style_card") == 0
    assert "[note] Usually about" in capsys.readouterr().out


def test_a_model_is_asked_only_where_the_policy_needs_one(folder: Path) -> None:
    store, llm = MemoryStore.open(folder), Scripted("rain")
    found = asyncio.run(recall(store, "ann", "weather", before=START + 4, spec="hyde", llm=llm))
    assert found.calls == len(llm.requests) == 1
    assert found.recalled[0].message.id == "t1_2"
    assert asyncio.run(recall(store, "ann", "weather", before=START + 4, spec="dense", llm=llm)).calls == 0
    with pytest.raises(Missing, match="name one with --model"):
        asyncio.run(recall(store, "ann", "weather", before=START + 4, spec="hyde"))


def test_mistakes_are_one_sentence(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("recall", folder, "ann", "chain", "--before", "tomorrow") == 2
    assert "'tomorrow' is no moment; give a date" in capsys.readouterr().err
    assert run("recall", folder, "nobody", "chain", "--before", NOW) == 2
    assert "unknown person 'nobody'" in capsys.readouterr().err
    assert run("recall", folder, "ann", "chain", "--before", NOW, "--policy", "oracle") == 0, (
        "at that second ann answered"
    )
    assert run("recall", folder, "ann", "chain", "--before", "2021", "--policy", "oracle") == 2


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1970-01-02", 86_400), ("1970-01-01T01:00", 3_600), ("1970-01-01T01:00+01:00", 0), ("1600000000", 1_600_000_000)],
)
def test_a_moment_is_a_date_or_seconds(text: str, seconds: int) -> None:
    assert moment(text) == seconds


@pytest.mark.parametrize("text", ["", "12", "2020-13-01", "now"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is no moment"):
        moment(text)


def test_terms_tell_value_and_rank() -> None:
    item = Recalled(Message("m", "t", None, "a", 1, "x"), 1, {"dense": 0.5, "dense_rank": 2.0, "foreign_rank": 3.0})
    assert terms(item) == "dense 0.5 (2), foreign_rank 3"


def test_policies_tell_options_cost_and_source() -> None:
    rows = {name: dict(zip(POLICY_COLUMNS, row, strict=True)) for row in policy_rows() for name in [row[1]]}
    for name in policy.names(retrievers):
        row, made = rows[name], policy.load(retrievers, name)
        assert row["source"] and row["what it does"]
        calls = row["model calls, write / read"]
        assert calls != "0 / 0" or "ask" not in needs(made), f"{name} asks a model, but says that it calls none"
    assert "Park et al. 2023" in rows["generative_agents"]["source"]
    assert "half_life_days=180.0" in rows["decay_half_life"]["options"]
    assert rows["oracle"]["what it does"].startswith("UPPER BOUND ONLY")
