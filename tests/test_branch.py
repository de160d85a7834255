"""What is changed at a turn reaches it and those after it; a branch shares all before, and asks none of it again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from evaluation.arms import arms
from evaluation.results import TRANSCRIPT, make
from evaluation.running import asks
from evaluation.staging import opened, staged
from memory.errors import BadInput, Missing
from memory.store import MemoryStore
from simulator import runlog
from simulator.llm import LLM, Request
from simulator.manifest import RunSpec
from simulator.opening import kept
from simulator.records import Turn
from simulator.run import Progress, simulate
from simulator.testing import Scripted, distinct
from tests.dumps import START

DAY = 86_400
THREAD: dict[str, Any] = {"threads": ("t3_8",)}  # replies of dan, eve, ann, bob, cat ... see tests/club.py
FREE: dict[str, Any] = {
    "mode": "free", "scheduler": "chosen_by_model:turns=5",
    "openings": ({"place": "bikes", "author": "ann", "text": "Which grease?"},),
}  # fmt: skip


def play(  # noqa: PLR0913 - what differs from test to test
    store: MemoryStore,
    run: Path,
    probes: tuple[str, ...] = ("none",),
    *,
    models: dict[str, LLM] | None = None,
    given: dict[str, str] | None = None,
    score: Callable[[Turn], float] | None = None,
    says: Callable[[Request], str] = distinct,
    **spec: Any,
) -> tuple[Progress, dict[int, Turn], Scripted]:
    model = Scripted(says)
    wanted = RunSpec.of(
        {"model": "fake:scripted", "retriever": "recency:k=2", "keep_prompts": True, **spec, "models": given or {}}
    )
    done = asyncio.run(simulate(wanted, store, model, asks(probes), run, models=models, score=score))
    return done, {turn.slot.number: turn for turn in runlog.turns(run) if turn.ask == "reply"}, model


def branched(store: MemoryStore, parent: Path, run: Path, *changes: dict[str, Any], **spec: Any) -> Any:
    return play(store, run, mode="branch", parent=str(parent), interventions=changes, **spec)


def changed(store: MemoryStore, run: Path, *changes: dict[str, Any], **spec: Any) -> tuple[Progress, dict[int, Turn]]:
    return play(store, run, **{**THREAD, **spec}, interventions=changes)[:2]


EDIT = {"do": "edit", "at": 4, "message": "t3_8", "text": "Which saddle, I meant."}


def test_a_branch_copies_what_came_before_and_asks_for_the_rest_alone(store: MemoryStore, tmp_path: Path) -> None:
    _, before, _ = play(store, tmp_path / "a", **THREAD)
    progress, after, model = branched(store, tmp_path / "a", tmp_path / "b", EDIT)
    name = runlog.manifest(tmp_path / "a")["run"]
    assert [n for n, turn in sorted(after.items()) if turn.copied == name] == [1, 2, 3]
    assert len(model.requests) == len(before) - 3 == len(after) - 3 and progress.found == 3
    assert all(after[n].completion == before[n].completion and after[n].prompt == before[n].prompt for n in (1, 2, 3))
    assert {turn.slot.id for turn in after.values()} == {turn.slot.id for turn in before.values()}
    assert all("saddle" in str(after[n].prompt) for n in (4, 5, 6, 7))
    assert not branched(store, tmp_path / "a", tmp_path / "b", EDIT)[2].requests  # finished: nothing is asked again


def test_a_thread_that_is_not_changed_is_shared_whole(store: MemoryStore, tmp_path: Path) -> None:
    play(store, tmp_path / "a", threads=("t3_7", "t3_8"))
    _, _, model = branched(store, tmp_path / "a", tmp_path / "b", {**EDIT, "thread": "t3_8"})
    other = [turn for turn in runlog.turns(tmp_path / "b") if turn.slot.thread == "t3_7"]
    assert len(other) == 7 and all(turn.copied for turn in other) and len(model.requests) == 4


def test_who_speaks_next_is_shared_up_to_the_change_with_its_log(store: MemoryStore, tmp_path: Path) -> None:
    _, _, model = play(store, tmp_path / "a", **FREE)
    insert = {"do": "insert", "at": 3, "author": "eve", "text": "None at all."}
    _, _, again = branched(store, tmp_path / "a", tmp_path / "b", insert)
    turns = runlog.turns(tmp_path / "b")
    assert sorted((t.ask, t.slot.number) for t in turns if t.copied) == [
        ("next", 1), ("next", 2), ("next", 3), ("post", 0), ("reply", 1), ("reply", 2)
    ]  # fmt: skip
    assert len(again.requests) == len(model.requests) - 5  # the post was given


def test_a_branch_says_what_it_cannot_be_made_of(store: MemoryStore, tmp_path: Path) -> None:
    play(store, tmp_path / "a", **THREAD)
    play(store, tmp_path / "replay", mode="replay", **THREAD)
    for parent, more, error, says in (
        ("a", {"seed": 9}, BadInput, "keeps the settings of .* seed was 0, now 9"),
        ("a", {"interventions": ()}, BadInput, "needs an intervention"),
        ("replay", {}, BadInput, "is a replay"),
        ("none", {}, Missing, "no run in"),
    ):
        with pytest.raises(error, match=says):
            fields: dict[str, Any] = {
                "mode": "branch",
                "parent": str(tmp_path / parent),
                "interventions": (EDIT,),
                **more,
            }
            play(store, tmp_path / "b", **fields)


def test_what_is_inserted_is_seen_from_its_turn_on(store: MemoryStore, tmp_path: Path) -> None:
    insert = {"do": "insert", "at": 3, "author": "eve", "text": "Sand it first."}
    progress, turns = changed(store, tmp_path, insert)
    assert "Sand it first." in str(turns[5].prompt) and not progress.unmet
    assert not any("Sand it first." in str(turns[n].prompt) for n in (1, 2))


def test_an_edited_message_reads_otherwise_from_its_turn_on(store: MemoryStore, tmp_path: Path) -> None:
    _, turns = changed(store, tmp_path, {"do": "edit", "at": 4, "message": "t1_83", "text": "I was wrong."})
    assert "I was wrong." in str(turns[4].prompt) and str(turns[3].words) not in str(turns[4].prompt)


def test_a_removed_message_takes_with_it_what_answers_it(store: MemoryStore, tmp_path: Path) -> None:
    _, turns = changed(store, tmp_path / "a", {"do": "remove", "at": 4, "message": "t1_83"})
    assert {n: turn.failure for n, turn in turns.items() if turn.failure} == {4: "no_reply", 7: "no_reply"}
    with pytest.raises(BadInput, match="t3_8 opens thread t3_8 and cannot be removed"):
        changed(store, tmp_path / "b", {"do": "remove", "at": 4, "message": "t3_8"})


def test_a_swapped_person_remembers_another_s_past(store: MemoryStore, tmp_path: Path) -> None:
    author = store.corpus.message("t1_84").author
    _, turns = changed(store, tmp_path, {"do": "swap", "at": 4, "person": author, "by": "ann"})
    assert turns[4].slot.author == author and turns[4].slot.person == "ann"
    assert {store.corpus.message(item.id).author for item in turns[4].recalled} == {"ann"}
    assert not turns[3].slot.person


def test_a_memory_changes_from_its_turn_on(store: MemoryStore, tmp_path: Path) -> None:
    _, turns = changed(store, tmp_path, {"do": "memory", "at": 3, "retriever": "none"})
    assert [bool(turn.recalled) for _, turn in sorted(turns.items())] == [True, True] + [False] * 5
    assert turns[2].retriever == "recency:k=2" and turns[3].retriever == "none"


def test_a_model_changes_from_its_turn_on_and_a_person_may_have_one_of_their_own(
    store: MemoryStore, tmp_path: Path
) -> None:
    author, other = str(store.corpus.message("t1_81").author), Scripted(distinct, name="fake:other")
    change = {"do": "model", "at": 3, "model": "fake:other"}
    _, turns, _ = play(store, tmp_path / "a", **THREAD, interventions=(change,), models={"fake:other": other})
    assert [n for n, turn in sorted(turns.items()) if turn.model == "fake:other"] == [3, 4, 5, 6, 7]
    _, turns, _ = play(store, tmp_path / "b", given={author: "fake:other"}, models={"fake:other": other}, **THREAD)
    assert {t.slot.author for t in turns.values() if t.model == "fake:other"} == {author}
    with pytest.raises(Missing, match="needs the models fake:other"):
        play(store, tmp_path / "c", given={author: "fake:other"}, **THREAD)


def test_changes_that_meet_nothing_are_counted(store: MemoryStore, tmp_path: Path) -> None:
    late, nothing = {**EDIT, "at": 99}, {**EDIT, "message": "t1_none"}
    assert changed(store, tmp_path, late, nothing)[0].unmet == 2


def test_a_thread_is_cut_by_number_moment_or_message(store: MemoryStore, tmp_path: Path) -> None:
    thread = store.corpus.thread("t3_8")
    at = START + 8 * DAY
    assert [kept(thread, cut) for cut in ("2", "999", "t1_82", str(at + 121), "1999-01-01")] == [2, 8, 3, 3, 1]
    with pytest.raises(BadInput, match="cut 'soon' is no number, no moment and no message of thread t3_8"):
        kept(thread, "soon")
    turns = play(store, tmp_path, threads=1, cut="t1_84")[1]
    assert [turn.slot.id for _, turn in sorted(turns.items())] == ["t1_85", "t1_86", "t1_87"]


def test_predicted_scores_are_hidden_unless_asked_for(store: MemoryStore, tmp_path: Path) -> None:
    def shown(name: str, **more: Any) -> bool:
        turns = play(store, tmp_path / name, **THREAD, **more)[1]
        return any("(score " in str(turn.prompt) for turn in turns.values())

    assert not shown("hidden") and shown("community", scores="community")
    _, turns, _ = play(store, tmp_path / "i", ("impact",), score=lambda _: 7.0, **THREAD, scores="impact")
    assert any("(score 7)" in str(turn.prompt) for turn in turns.values())
    with pytest.raises(BadInput, match="need that probe"):
        play(store, tmp_path / "n", **THREAD, scores="impact")


def test_simulated_delays_are_as_long_as_the_community_s(store: MemoryStore, tmp_path: Path) -> None:
    delays = []
    for seed in range(3):
        opening = {"place": "bikes", "author": "ann", "text": "Hm?"}
        turns = play(store, tmp_path / f"{seed}", mode="free", openings=(opening,) * 3, seed=seed, max_turns=8)[1]
        time = {turn.slot.id: turn.slot.time for turn in runlog.turns(tmp_path / f"{seed}")}
        delays += [turn.slot.time - time[turn.slot.parent] for turn in turns.values()]
    assert 30 < median(delays) < 1200  # the club answers after one to six minutes


def test_a_report_shows_both_arms_from_the_change_on(store: MemoryStore, tmp_path: Path) -> None:
    _, before, _ = play(store, tmp_path / "a", **THREAD)
    insert = {"do": "edit", "at": 4, "message": "t1_83", "text": "<script>no</script>"}
    _, after, _ = branched(store, tmp_path / "a", tmp_path / "b", insert, model="fake:scripted")
    found = arms(tmp_path / "b", runlog.manifest(tmp_path / "b"), list(after.values()))
    assert found and found.shared == 3
    assert [(p.parent, p.branch) for p in found.pairs] == [(before[n].words, after[n].words) for n in (4, 5, 6, 7)]
    page = make(tmp_path / "b").report.read_text(encoding="utf-8")
    assert "Both arms" in page and "<script>no" not in page and "3 turns are shared" in page
    assert all((before[n].words or "?") in page and (after[n].words or "?") in page for n in (4, 5, 6, 7))
    assert "Both arms" not in make(tmp_path / "a").report.read_text(encoding="utf-8")
    told = "both arms stand side by side in its report"
    assert told in (tmp_path / "b" / TRANSCRIPT).read_text(encoding="utf-8")
    assert told not in (tmp_path / "a" / TRANSCRIPT).read_text(encoding="utf-8")


def test_words_of_a_model_are_inert_in_both_arms(store: MemoryStore, tmp_path: Path) -> None:
    def says(request: Request) -> str:
        return f"<b onclick=x{request.seed}>{{{{ 7 * 7 }}}}</b> \u202e &amp; I ride."

    play(store, tmp_path / "a", says=says, **THREAD)
    insert = {"do": "insert", "at": 4, "author": "ann", "text": "<i>no</i>"}
    branched(store, tmp_path / "a", tmp_path / "b", insert, says=says)
    page = make(tmp_path / "b").report.read_text(encoding="utf-8")
    both = page[page.index("3 turns are shared") :]
    assert both.count("&lt;b onclick=x") >= 8
    assert "{{ 7 * 7 }}&lt;/b&gt; &lt;U+202E&gt; &amp;amp; I ride." in both
    assert "<b onclick" not in page and "\u202e" not in page


def test_a_report_says_that_the_other_arm_is_gone(store: MemoryStore, tmp_path: Path) -> None:
    play(store, tmp_path / "a", **THREAD)
    insert = {"do": "insert", "at": 4, "author": "ann", "text": "No."}
    branched(store, tmp_path / "a", tmp_path / "b", insert)
    (tmp_path / "a").rename(tmp_path / "c")
    page = " ".join(make(tmp_path / "b").report.read_text(encoding="utf-8").split())
    assert "Its arm is not shown: no run in ../a, where the branched one was; put that back" in page
    assert "(not shown)" in page
    play(store, tmp_path / "a", **THREAD, seed=9)
    assert "../a holds another run now" in make(tmp_path / "b").report.read_text(encoding="utf-8")


def test_the_options_of_the_command_become_fields() -> None:
    change = '{"do": "remove", "at": 2, "message": "t1_a"}'
    fields = staged("ann, bob", "runs/a", [change], ["ann=openai:x@http://127.0.0.1:1/v1"])
    assert fields["people"] == ("ann", "bob") and fields["mode"] == "branch" and fields["parent"] == "runs/a"
    assert fields["models"] == {"ann": "openai:x@http://127.0.0.1:1/v1"} and fields["interventions"][0].at == 2
    assert staged("4", "", [], [])["people"] == 4
    given = {"place": "bikes", "author": "ann", "text": "Hi"}
    assert opened("free", "bikes", "Hi", "ann", "") == {"openings": (given,)}
    for options, says in (
        (("4", "", [], ["ann"]), "person=provider:model"),
        (("4", "", ['{"do": "insert", "at": 0}'], []), "record 0: at"),
        (("4", "", ['{"at": 1, "edit": "x"}'], []), "say what is done by do: insert, edit"),
        (("4", "", ["nothing.yaml"], []), "cannot read 'nothing.yaml'"),
    ):
        with pytest.raises(BadInput, match=says):
            staged(*options)
    with pytest.raises(BadInput, match="needs its community"):
        opened("free", "", "Hi", "", "")
    with pytest.raises(BadInput, match="needs its community"):
        opened("free", "", "", "", "")
    with pytest.raises(BadInput, match="not of rollout"):
        opened("rollout", "bikes", "", "", "")
