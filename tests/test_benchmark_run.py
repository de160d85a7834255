"""A benchmark is run cell by cell, goes on where it stopped, and its rows hold whatever its tables say."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from bench.benchmark_file import generate
from evaluation import baselines
from evaluation.benchmark import command, tables
from evaluation.benchmark.command import bench
from evaluation.benchmark.domains import DOMAINS, places
from evaluation.benchmark.items import TASKS
from evaluation.benchmark.posts import read_posts
from evaluation.benchmark.published import published
from evaluation.benchmark.reference import Reference
from evaluation.benchmark.sources import open_source
from evaluation.benchmark.spec import BenchSpec
from evaluation.cli import main
from evaluation.metrics import of_kind
from evaluation.playing import Sitting
from evaluation.rows import BASELINE
from evaluation.tasks import load
from memory.errors import BadInput, Busy, Missing
from memory.lock import held
from simulator.budget import Limits
from simulator.llm import Completion, ModelError, Request
from simulator.testing import Faulty, Scripted
from tests.dumps import imported
from tests.test_benchmark_corrected import dump

FILE = str(Path(__file__).parent / "parity" / "synthetic_posts.json")
RELEASED = {
    "title", "author", "url", "score", "num_comments", "content", "timestamp", "comments", "__sub__", "__srcfile__",
}  # fmt: skip
SETTINGS = ("none/none", "own/tree", "other/parent")


def say(request: Request) -> str:
    asked = request.messages[-1][1]
    if "positive" in asked:
        return "positive"
    return "3" if "number" in asked else "I would rather not say."


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench")
    imported(folder, *dump())
    return folder / "corpus"


def spec(corpus: Path, **more: Any) -> BenchSpec:
    fields = {"data": str(corpus), "settings": SETTINGS, "policies": ("recency:k=2",), "models": ("fake",)}
    return BenchSpec.of({**fields, "items": 3, "earlier": 3, **more})


def reference(**more: Any) -> BenchSpec:
    fields = {"protocol": "reference", "data": FILE, "models": ("fake",), "items": 4, "embedder": "bag", "repeats": 2}
    return BenchSpec.of({**fields, **more})


def loaded(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "rows.ndjson").read_text().splitlines()]


def test_there_is_one_row_for_each_item_cell_and_repeat_and_baselines_once(corpus: Path, tmp_path: Path) -> None:
    progress = bench(spec(corpus, repeats=2), tmp_path, lambda name: Scripted(say))
    assert (progress.threads, progress.calls_done, progress.failed) == (3, 3 * 3 * 3 * 2, 0)
    model = [row for row in loaded(tmp_path) if row["system"] == "model"]
    keys = Counter((r["task"], r["slot"], r["setting"], r["policy"], r["seed"], r["repeat"]) for r in model)
    assert len(keys) == 54 and set(keys.values()) == {1}
    assert {row["setting"] for row in model} == set(SETTINGS)
    others = Counter(
        (r["task"], r["slot"], r["system"], r["repeat"]) for r in loaded(tmp_path) if r["system"] != "model"
    )
    assert others and set(others.values()) == {1}
    items = {setting: {r["slot"] for r in model if r["setting"] == setting} for setting in SETTINGS}
    assert items["none/none"] == items["own/tree"] == items["other/parent"]


def test_several_answers_are_a_mean_and_an_expected_best_that_says_how_it_is_chosen(
    corpus: Path, tmp_path: Path
) -> None:
    wanted, number = spec(corpus, tasks=("generation",), settings=("own/tree",), repeats=3), iter(range(99))
    bench(wanted, tmp_path, lambda name: Scripted(lambda request: f"said it {next(number)}" + " again" * 5))
    made = [line for line in tables.lines(loaded(tmp_path)) if not line.place and line.cell[0] == "own/tree"]
    notes = {2: "expected best of 2, ", 3: "expected best of 3, "}
    assert [line.note for line in made] == ["mean of 3", *(n + tables.EACH_BY_TRUTH for n in notes.values())]
    assert [line.asked for line in made] == [9, 3, 3]
    mean, two, three = (line.values["sbert"] for line in made)
    assert mean <= two <= three
    bench(wanted.model_copy(update={"repeats": 1}), tmp_path / "one", lambda name: Scripted(say))
    assert all("best" not in line.note for line in tables.lines(loaded(tmp_path / "one")))


def test_what_was_stopped_goes_on_and_ends_with_the_same_rows(corpus: Path, tmp_path: Path) -> None:
    wanted = spec(corpus)
    bench(wanted, tmp_path / "whole", lambda name: Scripted(say))
    model = Scripted(say)
    gone = Faulty(model, {11: ModelError("refused", "no such key", fatal=True)}, calls=0)
    with pytest.raises(ModelError, match="no such key"):
        bench(wanted, tmp_path / "parts", lambda name: gone)
    assert not (tmp_path / "parts" / "rows.ndjson").exists()
    progress = bench(wanted, tmp_path / "parts", lambda name: model)
    assert progress.found == 11 and len(model.requests) == 27
    plain = [row | {"seconds": 0} for row in loaded(tmp_path / "whole")]
    assert [row | {"seconds": 0} for row in loaded(tmp_path / "parts")] == plain
    again = Scripted(say)
    bench(wanted.model_copy(update={"concurrency": 8}), tmp_path / "parts", lambda name: again)
    assert again.requests == []


def test_other_settings_are_refused_by_name_and_a_second_process_too(corpus: Path, tmp_path: Path) -> None:
    bench(spec(corpus, settings=("own/tree",)), tmp_path, lambda name: Scripted(say))
    with pytest.raises(BadInput, match="thread_tokens was 700, now 900"):
        bench(spec(corpus, settings=("own/tree",), thread_tokens=900), tmp_path, lambda name: Scripted(say))
    with held(tmp_path, "bench"), pytest.raises(Busy):
        bench(spec(corpus, settings=("own/tree",)), tmp_path, lambda name: Scripted(say))


def test_a_failed_answer_is_a_row_and_stays_in_the_denominator(corpus: Path, tmp_path: Path) -> None:
    told = ModelError("content_filter", "withheld")
    bench(spec(corpus, settings=("own/tree",)), tmp_path, lambda name: Scripted(told))
    rows = [row for row in loaded(tmp_path) if row["system"] == "model"]
    assert len(rows) == 9 and {row["failure"] for row in rows} == {"content_filter"}
    for line in tables.lines(rows):
        assert line.asked == line.failed
        if line.task == "sentiment":
            assert line.values["accuracy"] == 0


def test_a_cell_without_memory_is_run_once_whatever_the_policies() -> None:
    jobs = list(
        BenchSpec.of({"settings": ["none/tree", "own/tree"], "policies": ["dense", "bm25"], "seeds": [1, 2]}).jobs()
    )
    assert [(job.setting, job.policy) for job in jobs[:3]] == [
        ("none/tree", ""),
        ("own/tree", "dense"),
        ("own/tree", "bm25"),
    ]
    assert len(jobs) == 6 == len({job.folder for job in jobs})


def test_seeds_give_other_draws_of_the_same_items(corpus: Path, tmp_path: Path) -> None:
    model = Scripted(say)
    bench(spec(corpus, settings=("own/tree",), seeds=(1, 2)), tmp_path, lambda name: model)
    assert len({request.seed for request in model.requests}) == len(model.requests)
    assert len({request.messages for request in model.requests}) == len(model.requests) / 2


def test_the_reference_is_run_on_its_own_file_and_keeps_no_names(tmp_path: Path) -> None:
    bench(reference(), tmp_path, lambda name: Scripted(say))
    rows = [row for row in loaded(tmp_path) if row["system"] == "model"]
    assert len(rows) == 3 * 3 * 4 * 2
    assert all(row["switches"]["target_by_score"] is True and len(row["switches"]) > 8 for row in rows)
    kept = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".sqlite")
    names = json.loads(Path(FILE).read_text())
    assert not [name for name in names if name in kept]
    sentiment = [row for row in rows if row["task"] == "sentiment"]
    assert {row["value"]["chat"] for row in sentiment} == {"positive"}


def test_reference_tables_count_both_ways_and_name_the_oracle(tmp_path: Path) -> None:
    answers = iter(range(10_000))
    model = Scripted(lambda request: say(request) if next(answers) % 3 else "who knows?")
    bench(reference(settings=("p-conv",), items=9), tmp_path, lambda name: model)
    made = [line for line in tables.lines(loaded(tmp_path)) if not line.place]
    notes = {line.note for line in made if line.task == "sentiment" and line.note.endswith(tuple(tables.COUNTED))}
    assert notes == {f"{reader} reader, {how}" for reader in ("chat", "log") for how in tables.COUNTED}
    there, here = (
        next(line for line in made if line.task == "sentiment" and line.note == f"chat reader, {how}")
        for how in tables.COUNTED
    )
    assert there.failed == here.failed > 0 and there.values["count"] < here.values["count"] == here.asked
    assert {"f1_positive", "f1_weighted"} <= here.values.keys()
    oracle = [line.note for line in made if line.task == "generation" and line.note.startswith("oracle best of 2")]
    assert len(oracle) == len(set(oracle)) == 2
    assert any(line.cell == ("baseline:always_positive",) for line in made)
    for task in TASKS:
        wanted = [BASELINE + b.name for b in baselines.of_kind(load(task).KIND)]
        found = [line.cell[0] for line in made if line.task == task and line.cell[0].startswith(BASELINE)]
        assert [name for name in found if name != "baseline:always_positive"] == wanted
    assert {line.place for line in tables.lines(loaded(tmp_path))} >= {"", "life", "movies", tables.NOWHERE}


def test_a_dry_run_says_calls_tokens_and_cost_and_asks_nothing(
    corpus: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command.dry_run(spec(corpus, prices={"fake": "input=1000,output=2000"}))
    printed = capsys.readouterr().out
    assert "27 calls in 3 cells" in printed and re.search(
        r"own/tree recency:k=2 fake seed 0 +9 +[\d,]+ +[\d,]+ +\d", printed
    )
    command.dry_run(reference())
    assert "np-conv fake seed 0" in capsys.readouterr().out


def test_the_command_takes_a_file_of_fields_and_flags_in_their_place(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text(f"data: {corpus}\nearlier: 3\nitems: 3\nsettings: [own/tree]\npolicies: [bm25]\n")
    assert main(["bench", str(file), "--dry-run", "--items", "2", "--task", "impact"]) == 0
    assert "2 calls in 1 cells" in capsys.readouterr().out
    assert main(["bench", "describe", str(file)]) == 0
    assert "items of" in capsys.readouterr().out
    assert main(["bench", "describe", "--data", FILE, "--protocol", "reference"]) == 0
    assert "dropped, positive_lower_half" in capsys.readouterr().out
    assert main(["bench", "list"]) == 0
    listed = capsys.readouterr().out
    assert "other/trajectory" in listed and "half_of_positives" in listed and "worldnews" in listed


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("settings: [p-conv, q-conv]", "q-conv"),
        ("protocol: fair", "protocol = 'fair'"),
        ("seats: 3", "seats"),
        ("items: [", "line 2 is not YAML"),
        ("3", "holds no fields"),
        ("tasks: []", "name at least one"),
        ("prices: {fake: cheap}", "prices are per million tokens"),
    ],
)
def test_what_cannot_be_run_is_said_in_a_sentence(
    text: str, wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text(text + "\n")
    assert main(["bench", str(file)]) == 2
    said = capsys.readouterr().err
    assert wanted in said and "Traceback" not in said


def test_missing_data_is_asked_for() -> None:
    with pytest.raises(Missing, match="no data named"):
        open_source(BenchSpec())
    with pytest.raises(Missing, match="no benchmark file"):
        open_source(BenchSpec.of({"protocol": "reference", "data": "nowhere.json"}))
    with pytest.raises(BadInput, match="own/parent"):
        reference(settings=("own/parent",))


def test_published_rows_say_that_they_are_not_ours() -> None:
    rows = [row for task in ("sentiment", "impact", "generation") for row in published(task)]  # type: ignore[arg-type]
    assert all("other data, other protocol" in row.marks for row in rows)
    oracle = {row.model for row in rows if any("oracle best of 10" in mark for mark in row.marks)}
    assert oracle == {"GPT-4.1", "GPT-4o-mini"}
    one = next(row for row in rows if (row.task, row.setting, row.model) == ("sentiment", "p-nonconv", "GPT-4.1"))
    assert one.values == {"accuracy": 0.7862, "f1": 0.8720, "mcc": 0.2266}
    assert next(r for r in rows if r.setting == "np-conv" and r.task == "impact").values == {
        "rmse": 316.84,
        "mae": 97.83,
    }


def test_a_made_up_file_has_the_shape_of_the_released_one(tmp_path: Path) -> None:
    generate(tmp_path / "made.json", mb=0.4)
    posts = read_posts(tmp_path / "made.json")
    assert 200_000 < (tmp_path / "made.json").stat().st_size < 800_000
    assert {*json.loads((tmp_path / "made.json").read_text())[0]} == RELEASED
    assert max(len(c.path) for post in posts for c in post.tree().comments) == 101
    heard: list[tuple[str, int, int]] = []
    made = Reference(posts, watch=lambda *said: heard.append(said))
    assert made.select("impact", "p-conv").items and heard[-1][1:] == (len(posts), len(posts))


def test_communities_stand_in_the_papers_order_and_others_after_them() -> None:
    assert len(DOMAINS) == 10
    assert places({"zoo", "art", "worldnews", "bikes"}) == ["worldnews", "art", "bikes", "zoo"]


def test_calls_are_recorded_and_replayed_offline(corpus: Path, tmp_path: Path) -> None:
    wanted, calls = spec(corpus, settings=("own/tree",)), tmp_path / "calls.ndjson"
    bench(wanted, tmp_path / "a", lambda name: Scripted(say), sitting=Sitting(record=calls))
    silent = Scripted(ModelError("refused", "nobody is asked", fatal=True))
    bench(wanted, tmp_path / "b", lambda name: silent, sitting=Sitting(replay=calls))
    assert silent.requests == [] and len(loaded(tmp_path / "b")) == len(loaded(tmp_path / "a"))
    answers = [[row["answer"] for row in loaded(tmp_path / folder)] for folder in "ab"]
    assert answers[0] == answers[1]


def test_a_budget_stops_it_with_rows_of_what_is_done_and_a_larger_one_goes_on(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = spec(corpus, settings=("own/tree",), prices={"fake": "input=1,output=1"})
    small = Sitting(limits=Limits(tokens=5000))
    costly = Scripted(lambda request: Completion(say(request), tokens_in=1000, tokens_out=5))
    stopped = bench(wanted, tmp_path, lambda name: costly, sitting=small)
    assert "--max-tokens-total" in stopped.stopped and 0 < stopped.calls_done < 9
    assert stopped.stopped in capsys.readouterr().out
    assert sum(row["system"] == "model" for row in loaded(tmp_path)) == stopped.calls_done
    whole = bench(wanted, tmp_path, lambda name: Scripted(say), sitting=Sitting(limits=Limits(cost=1.0)))
    assert (whole.stopped, whole.calls_done, whole.found) == ("", 9, stopped.calls_done)
    two = wanted.model_copy(update={"models": ("fake", "dear")})
    with pytest.raises(BadInput, match="one price"):
        bench(two, tmp_path / "two", lambda name: Scripted(say), sitting=Sitting(limits=Limits(cost=1.0)))


def test_shards_share_the_items_and_make_the_rows_of_one_process(corpus: Path, tmp_path: Path) -> None:
    wanted = spec(corpus)
    bench(wanted, tmp_path / "whole", lambda name: Scripted(say))
    for shard in ("1/2", "2/2"):
        done = bench(wanted.model_copy(update={"shard": shard}), tmp_path / "parts", lambda name: Scripted(say))
        assert done.calls == done.calls_done < 27 and done.found == 0
    plain = [row | {"seconds": 0} for row in loaded(tmp_path / "whole")]
    assert [row | {"seconds": 0} for row in loaded(tmp_path / "parts")] == plain
    with pytest.raises(BadInput, match="2/4"):
        spec(corpus, shard="3/2")


def test_all_measures_the_skill_beside_each_baseline_and_the_classes_of_failures_are_printed(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def answer(request: Request) -> Any:
        return ModelError("content_filter", "no") if "number" in request.messages[-1][1] else say(request)

    bench(spec(corpus, settings=("own/tree", "none/tree")), tmp_path, lambda name: Scripted(answer))
    printed = capsys.readouterr().out
    assert "6 failed (6 content_filter)" in printed
    shown = printed.split("further measures\n")
    assert [part.split("\n")[0].split()[3:] for part in shown[1:]] == [
        [m.name for m in of_kind(load(task).KIND) if not m.headline] for task in TASKS
    ]
    made = [line for line in tables.lines(loaded(tmp_path)) if line.task == "impact" and not line.place]
    assert [line.cell[0].startswith(BASELINE) for line in made] == [False] * 2 + [True] * (len(made) - 2)
    cells, rows = tables.skills(made)
    assert cells == ["own/tree recency:k=2 fake:scripted 0", "none/tree fake:scripted 0"]
    mae = {line.cell[0]: line.values["mae"] for line in made}
    one = {row[0]: row[1:] for row in rows}["baseline:one"]
    assert one == [tables.shown(1 - mae[cell] / mae["baseline:one"]) for cell in ("own/tree", "none/tree")]
    assert tables.skills([line for line in tables.lines(loaded(tmp_path)) if line.task == "generation"]) == ([], [])
