"""Runs hand a policy what it needs: other people, the run's own model, the truth; and count what the memory costs."""

import asyncio
from pathlib import Path

import pytest
from club import dump

from memory.errors import UnknownName
from memory.importing import import_corpus
from memory.store import MemoryStore
from simulator import runlog
from simulator.llm import Completion, ModelError, Request
from simulator.manifest import RunSpec
from simulator.records import Ask, Turn
from simulator.run import Progress, simulate
from simulator.testing import Scripted, completion

REPLY = Ask("reply", "Write the next message.", 50)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> MemoryStore:
    folder = tmp_path_factory.mktemp("doors")
    import_corpus([dump(folder)], folder / "corpus", embedder="bag", keep_names=True)
    return MemoryStore.open(folder / "corpus")


def run(store: MemoryStore, out: Path, retriever: str, says: object = None) -> tuple[Progress, list[Turn], Scripted]:
    """The last thread, its replies alone."""
    llm = Scripted(says or (lambda request: completion("Rides a lot.", request)))  # type: ignore[arg-type]
    spec = RunSpec(retriever=retriever, threads=("t3_8",), mode="replay", keep_prompts=True, card=False)
    progress = asyncio.run(simulate(spec, store, llm, [REPLY], out))
    return progress, list(runlog.turns(out)), llm


def test_the_runs_own_model_writes_the_profile_and_its_calls_are_counted_apart(
    store: MemoryStore, tmp_path: Path
) -> None:
    progress, turns, llm = run(store, tmp_path / "run", "profile_summary:k=2")
    asked = [r for r in llm.requests if "one member of a forum wrote" in r.messages[0][1]]
    assert 0 < len(asked) == progress.memory_calls == len(llm.requests) - len(turns)
    assert len({r.messages for r in asked}) == len(asked), "the same prompt is never put twice"
    assert all("Notes on you, made from what you wrote earlier:" in (turn.prompt or "") for turn in turns)
    assert all("> Rides a lot." in (turn.prompt or "") for turn in turns)


def test_neighbours_are_shown_as_others_and_come_from_other_threads(store: MemoryStore, tmp_path: Path) -> None:
    progress, turns, _ = run(store, tmp_path / "run", "neighbour:mode=neighbor,k=2")
    assert progress.memory_calls == 0
    assert all("Others wrote earlier, elsewhere:" in (turn.prompt or "") for turn in turns)
    assert all(item.thread != "t3_8" for turn in turns for item in turn.recalled)


def test_controls_are_shown_as_the_persons_own(store: MemoryStore, tmp_path: Path) -> None:
    for retriever in ("random_other", "swap_user"):
        _, turns, _ = run(store, tmp_path / retriever, retriever)
        assert all("You wrote earlier, elsewhere:" in (turn.prompt or "") for turn in turns)
        writers = {store.corpus.message(i.id).author == turn.slot.author for turn in turns for i in turn.recalled}
        assert writers == {False}


def test_the_oracle_is_handed_the_truth_of_each_turn(store: MemoryStore, tmp_path: Path) -> None:
    _, turns, _ = run(store, tmp_path / "run", "oracle:k=1")
    for turn in turns:
        truth = store.corpus.message(turn.slot.id).words.split()  # "Chain 3 fits 8 gears, says one who rides."
        [item] = turn.recalled
        assert item.terms["overlap"] >= 7 / 8 and len(truth) == 9


def test_a_memory_call_that_fails_is_a_counted_turn_and_the_run_goes_on(store: MemoryStore, tmp_path: Path) -> None:
    def says(request: Request) -> Completion | ModelError:
        if "as any member might" in request.messages[0][1]:
            return ModelError("empty", "no words")
        return completion("A reply.", request)

    progress, turns, _ = run(store, tmp_path / "run", "hyde", says)
    assert progress.failed == len(turns) > 0
    assert {(turn.failure, turn.reason) for turn in turns} == {("empty", "while recalling: no words")}


def test_a_fatal_failure_of_the_memory_ends_the_run(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such key"):
        run(store, tmp_path / "run", "hyde", ModelError("refused", "no such key", fatal=True))


def test_a_policy_of_no_file_is_refused_before_anything_is_called(store: MemoryStore, tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="unknown retriever 'clairvoyance'"):
        run(store, tmp_path / "run", "clairvoyance")
