"""bench-recall on a world where it is known what belongs where: the cut is kept, the controls stand beside."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from dumps import comment, imported, post

from evaluation.recall_quality import Quality, measure, own, show_quality, tables, without_model
from memory import policy, retrievers
from memory.errors import BadInput
from memory.message import Message
from memory.recall import History, Recalled
from memory.store import MemoryStore

TOPICS = ("chain wax", "brake squeal", "saddle height", "tyre pressure")


def rows() -> list[dict[str, Any]]:
    """Two people answer asker's questions, each in the question's own words, topic after topic, in two communities."""
    made: list[dict[str, Any]] = []
    for n in range(14):
        topic, place, at = TOPICS[n % 4], ("bikes", "trains")[n % 2], 100 * n
        made.append(post(f"p{n}", author="asker", time=at, title=f"{topic} question {n}", subreddit=place))
        for i, person in enumerate(("ann", "bob")):
            said = f"> {topic} question {n}\nmy {topic} answer is {n} {person}"
            made.append(comment(f"{person}{n}", f"p{n}", author=person, time=at + 1 + i, body=said, subreddit=place))
            back = comment(f"ask{person}{n}", f"p{n}", f"t1_{person}{n}", author="asker", time=at + 10, subreddit=place)
            made.append(back | {"body": f"what of {topic} {n}"})
            more = comment(f"{person}{n}x", f"p{n}", f"t1_ask{person}{n}", author=person, time=at + 20, subreddit=place)
            made.append(more | {"body": f"again {topic} {n} {person}"})
    return made


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> MemoryStore:
    folder = tmp_path_factory.mktemp("quality")
    imported(folder, *rows())
    return MemoryStore.open(folder / "corpus")


@dataclass(frozen=True)
class Spy:
    """Asked like any policy; keeps what it was shown."""

    seen: ClassVar[list[tuple[History, str, Sequence[Message]]]] = []
    k: int = 5

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        self.seen.append((history, query, list(history.messages)))
        return [Recalled(m, 1.0) for m in history.messages[: self.k]]


@dataclass(frozen=True)
class Picky:
    """Refuses what does not come from a corpus."""

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        if not any(m.thread for m in history.messages):
            raise BadInput("a corpus is needed; give one")
        return []


def run(store: MemoryStore, *specs: str, **options: Any) -> Quality:
    return asyncio.run(measure(store, specs, ks=(1, 3), **options))


def value(found: Quality, measured: str, spec: str, k: int = 1) -> float:
    [row] = [r for r in found.rows if (r.measure, r.policy, r.k) == (measured, spec, k)]
    return row.any.mean


def test_a_policy_sees_only_what_is_earlier_and_the_words_that_were_answered(store: MemoryStore) -> None:
    Spy.seen.clear()
    run(store, f"{__name__}:Spy", each=100)
    texts = {m.words for m in store.history("asker", before=2**62).messages}
    shown = 0
    for history, query, messages in Spy.seen:
        assert query in texts or history.user == "asker"
        assert all(m.time < history.before and m.author == history.user for m in messages)
        shown += all(m.thread for m in messages)
        if all(m.thread for m in messages):  # a real past, not the candidates
            assert messages == list(store.history(history.user, before=history.before).messages)
    assert 0 < shown < len(Spy.seen)


def test_candidates_tell_nothing_but_words_and_hold_the_comment_once(store: MemoryStore) -> None:
    Spy.seen.clear()
    run(store, f"{__name__}:Spy", each=100)
    handed = [messages for _, _, messages in Spy.seen if not messages[0].thread]
    assert handed
    for messages in handed:
        assert len({(m.time, m.thread, m.parent, m.score, m.place, m.title) for m in messages}) == 1
        assert len({m.id for m in messages}) == len(messages)
        assert len({m.words for m in messages}) == len(messages) or messages[0].author == "asker"
        assert not any(">" in m.words for m in messages)
    places = {spot for _, spot in _targets(store)}
    assert len(places) > 5, "the comment stands anywhere among them"


def _targets(store: MemoryStore) -> set[tuple[str, int]]:
    newest = {}
    for history, query, messages in Spy.seen:
        if messages[0].thread:
            continue
        said = [m.words for m in messages]
        real = [m for m in store.history(history.user, before=history.before + 1).messages if m.time == history.before]
        for m in real:
            if own(m) in said:
                newest[query + history.user] = said.index(own(m))
    return set(newest.items())


def test_what_follows_the_words_beats_the_lottery_and_none_finds_nothing(store: MemoryStore) -> None:
    found = run(store, "dense", each=100)
    assert value(found, "held-out reply", "dense") > 0.5 > value(found, "held-out reply", "random_own")
    assert value(found, "thread", "recency") > value(found, "thread", "random_own")
    assert all(r.any.mean == 0 for r in found.rows if r.policy == "none")
    assert {r.policy for r in found.rows} == {"none", "random_own", "recency", "dense"}
    assert {r.measure for r in found.rows} == {"thread", "place", "held-out reply"}
    assert all(r.over_random.mean == 0 for r in found.rows if r.policy == "random_own")
    assert all(r.any.groups <= 3 and r.any.low <= r.any.mean <= r.any.high for r in found.rows)


def test_words_of_other_people_are_never_a_hit(store: MemoryStore) -> None:
    found = run(store, "random_other", "swap_user", each=100)
    assert not found.left_out
    theirs = [r for r in found.rows if r.policy in ("random_other", "swap_user")]
    assert len(theirs) == 12 and all(r.any.mean == 0 for r in theirs)


def test_what_cannot_be_judged_is_skipped_and_counted(store: MemoryStore) -> None:
    found = run(store, each=100)
    for measured in ("thread", "place", "held-out reply"):
        judged = next(r.any.n for r in found.rows if r.measure == measured)
        skipped = sum(n for (name, _), n in found.skipped.items() if name == measured)
        assert judged + skipped == found.items
    assert found.skipped["thread", "nothing earlier is relevant"] > 0
    assert found.skipped["held-out reply", "fewer than 9 other comments"] > 0


def test_the_same_seed_gives_the_same_and_another_draws_other_items(store: MemoryStore) -> None:
    assert run(store, "bm25", each=4) == run(store, "bm25", each=4)
    assert run(store, "bm25", each=4, seed=1) != run(store, "bm25", each=4)
    assert run(store, each=4, people=1).people == 1


def test_a_policy_that_refuses_is_left_out_of_that_measure_with_its_reason(store: MemoryStore) -> None:
    spec = f"{__name__}:Picky"
    found = run(store, spec)
    assert found.left_out == {("held-out reply", spec): "a corpus is needed; give one"}
    assert spec in {r.policy for r in found.rows if r.measure == "thread"}
    assert any(row[-1] == "a corpus is needed; give one" for _, rows in tables(found) for row in rows)


def test_quotes_are_not_a_persons_own_words() -> None:
    said = Message("a", "a", None, "ann", 1, "> yours\nmine\n  > yours too\nmine > yours")
    assert own(said) == "mine\nmine > yours"


def test_nothing_to_judge_and_no_k_are_said(tmp_path: Path, store: MemoryStore) -> None:
    imported(tmp_path, post("a"))
    with pytest.raises(BadInput, match=r"no reply that can be judged \(0 looked at\)"):
        run(MemoryStore.open(tmp_path / "corpus"))
    with pytest.raises(BadInput, match="k=0 messages cannot be judged"):
        asyncio.run(measure(store, [], ks=(0,)))
    with pytest.raises(BadInput, match="k='x' cannot be read"):
        show_quality(store.corpus.path, ["none"], "x")


def test_a_table_for_each_measure_is_printed(store: MemoryStore, capsys: pytest.CaptureFixture[str]) -> None:
    show_quality(store.corpus.path, ["bm25"], "1", each=5)
    printed = capsys.readouterr().out
    for title in ("thread: ", "place: ", "held-out reply: "):
        assert title in printed
    assert printed.count("\nbm25 ") == 3 and "skipped: nothing earlier is relevant" in printed


def test_all_policies_that_need_no_model_are_the_default() -> None:
    assert set(without_model()) <= set(policy.names(retrievers))
    assert {"none", "random_own", "recency", "dense", "neighbour"} <= set(without_model())
    assert not {"oracle", "hyde"} & set(without_model())
