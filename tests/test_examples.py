"""The examples do what they say, on a small corpus and a model that says what it is told; each fits on a screen."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from bench.stub_server import running
from bench.turns import dump
from examples import (
    branch,
    compare_memories,
    demo,
    model_per_person,
    own_retriever,
    own_scheduler,
    recall_quality,
    run_benchmark,
    simulate_thread,
)
from memory.importing import import_corpus
from simulator import runlog
from simulator.llm import Request
from simulator.testing import Scripted, distinct

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted(p.stem for p in (ROOT / "examples").glob("*.py"))


def say(request: Request) -> str:
    probes = {4: "positive", 8: "2"}
    return probes.get(request.max_tokens, "I would check the cassette.")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    dump(folder / "dump.ndjson", people=6, replies=5)
    import_corpus([folder / "dump.ndjson"], folder / "corpus", embedder="bag", keep_names=True)
    return folder / "corpus"


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_under_60_lines_and_says_how_to_run_it(name: str) -> None:
    module = importlib.import_module(f"examples.{name}")
    assert len((ROOT / f"examples/{name}.py").read_text().splitlines()) < 60
    assert f"python examples/{name}.py" in (module.__doc__ or "")


def test_one_thread_is_simulated_and_printed(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulate_thread.main(corpus, tmp_path, "t3_t0x0", Scripted(say))
    printed = capsys.readouterr().out
    assert "[simulated, rollout]" in printed
    assert "4 turns, 0 failed" in printed


def test_memories_are_compared_beside_the_baselines(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compare_memories.main(corpus, tmp_path, threads=1, turns=2, llm=Scripted(say))
    printed = capsys.readouterr().out
    assert "Does a memory help?" in printed and "canary: " in printed and "near-duplicate: " in printed
    for row in (*compare_memories.MEMORIES, "baseline:parent_copy", "baseline:majority", "baseline:one"):
        assert f"\n{row} " in printed


def test_memories_are_ranked_without_a_model(corpus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recall_quality.main(corpus, people=4)
    printed = capsys.readouterr().out
    assert "held-out reply: " in printed and "both controls, nDCG@5" in printed


def test_the_benchmark_prints_a_table_for_each_task_and_the_published_rows_and_names_its_rows(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_benchmark.main(corpus, tmp_path, run_benchmark.SPEC.model_copy(update={"items": 2}), Scripted(say))
    printed = capsys.readouterr().out
    assert all(f"{task}, all items" in printed for task in ("generation", "impact", "sentiment"))
    assert "other data, other protocol" in printed
    assert printed.rstrip().endswith(str(tmp_path / "rows.ndjson"))


def test_an_own_retriever_decides_what_is_remembered(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own_retriever.main(corpus, tmp_path, Scripted(say))
    assert "earlier messages and remembered t" in capsys.readouterr().out


def test_an_own_scheduler_decides_who_answers_whom(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own_scheduler.main(corpus, tmp_path, ("p0", "p1", "p2"), Scripted(distinct))
    turns = runlog.turns(tmp_path)
    assert {turn.slot.parent for turn in turns} == {turns[0].slot.thread} and len({t.slot.author for t in turns}) == 3
    assert "[simulated, rollout]" in capsys.readouterr().out


def test_a_branch_shares_what_came_before_its_change(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    branch.main(corpus, tmp_path, Scripted(distinct))
    printed = capsys.readouterr().out
    assert "2 turns shared, 2 played anew" in printed
    assert "report.html" in printed


def test_some_people_are_played_by_models_of_their_own(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model_per_person.main(corpus, tmp_path / "first", {}, Scripted(distinct))
    person = runlog.turns(tmp_path / "first")[0].slot.author
    with running(latency_ms=0) as url:
        model_per_person.main(corpus, tmp_path / "second", {person: f"openai:stub@{url}"}, Scripted(distinct))
    assert f"{person} was played by openai:stub" in capsys.readouterr().out


def test_the_demo_names_a_report_and_a_transcript_and_goes_on_where_it_stopped(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "corpus").symlink_to(corpus)
    spec = demo.SPEC.model_copy(update={"threads": 1, "max_turns": 2})
    model = Scripted(say)
    for found in (0, 6):
        demo.main(tmp_path, spec, model)
        printed = capsys.readouterr().out
        assert f"{6 - found} calls made, {found} found finished, 0 failed" in printed
        assert (tmp_path / "run" / "report.html").is_file()
        assert str(tmp_path / "run" / "transcript.md") in printed
    assert len(model.requests) == 6


def test_the_python_in_the_readme_runs(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [code] = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "corpus").symlink_to(corpus)
    monkeypatch.chdir(tmp_path)
    with running(latency_ms=0) as url:
        exec(code.replace('model="embedded"', f'model="openai:stub", base_url="{url}"'), {})
    assert (tmp_path / "runs" / "first" / "report.html").is_file()
