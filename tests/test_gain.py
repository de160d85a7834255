"""What a memory gains, in its parts, and the controls that fail a comparison whose memory knew too much."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import pytest

from bench.turns import dump
from evaluation import leaks
from evaluation.gain import Arms, arms, costs, decomposition, slices
from evaluation.rows import Scored
from evaluation.sides import Side, side
from memory.errors import Leak
from memory.importing import import_corpus
from memory.message import Message
from memory.recall import History, Recalled
from memory.store import MemoryStore
from tests.test_comparing import number

ERRORS = {
    "none": 9.0,
    "random_other:k=3": 8.0,
    "random_own:k=3": 6.0,
    "recency:k=3": 5.5,
    "dense:k=3": 3.0,
    "oracle": 1.0,
}
BUMPS = (0.0, 0.2, -0.3, 0.1, 0.4, -0.4)


def made(name: str, error: float) -> Side:
    """30 people of two items; the errors of a memory differ from item to item, so that differences have intervals."""
    rows = []
    for n in range(60):
        bump = BUMPS[(n + 2 * len(name)) % 6]
        row = number(n, 0.0, error + bump, f"u{n // 2}")
        rows.append(replace(row, retriever=name, history=5 if n < 40 else 50, model="m", recalled=("x",) * (n % 2 + 1)))
    return side(name, rows)


def column(sheet_rows: object, columns: object, name: str) -> list[object]:
    [at] = [n for n, c in enumerate(columns) if c.name == name]  # type: ignore[arg-type, var-annotated]
    return [row[at] for row in sheet_rows]  # type: ignore[attr-defined]


@pytest.fixture
def found() -> list[Arms]:
    return arms([made(name, error) for name, error in ERRORS.items()])


def test_the_gain_over_no_memory_is_the_sum_of_its_parts_turned_so_that_more_is_better(found: list[Arms]) -> None:
    sheet = decomposition(found)
    [row] = [r for r in sheet.rows if (r[2], r[3]) == ("mae", "dense:k=3")]
    parts = dict(zip([c.name for c in sheet.columns], row, strict=True))
    means = {name: parts[name].mean for name in ("context", "personal", "retrieval", "gain", "headroom")}  # type: ignore[union-attr]
    assert means == pytest.approx({"context": 1, "personal": 2, "retrieval": 3, "gain": 6, "headroom": 2}, abs=1e-9)
    assert means["gain"] == pytest.approx(means["context"] + means["personal"] + means["retrieval"])
    assert parts["helps"] == "yes" and (parts["items"], parts["users"]) == (60, 30)
    assert parts["gain"].low < 6 < parts["gain"].high  # type: ignore[union-attr]
    assert "Likelihood gain in bits per byte is not there" in sheet.about


def test_a_memory_helps_only_ahead_of_lot_and_of_recency_and_nothing_is_told_where_one_is_missing() -> None:
    level = decomposition(arms([made(name, 5.5 if name == "dense:k=3" else e) for name, e in ERRORS.items()]))
    told = {row[3]: row[-3] for row in level.rows if row[2] == "mae"}
    assert told["dense:k=3"] == "no"  # ahead of lot, level with recency
    few = decomposition(arms([made(name, ERRORS[name]) for name in ("none", "random_own:k=3", "dense:k=3")]))
    assert set(column(few.rows, few.columns, "helps")) == {"not known"}
    assert set(column(few.rows, few.columns, "context")) == {None}
    assert arms([made("none", 9.0)]) == []


def test_a_matched_others_memory_by_lot_stands_for_somebody_elses_words_before_the_policies_do() -> None:
    cells = []
    for setting, policy in (("none/tree", ""), ("other/tree", "random_own"), ("other/tree", "dense"),
                            ("own/tree", "random_own"), ("own/tree", "dense"), ("own/none", "dense")):  # fmt: skip
        config = {"setting": setting, "policy": policy, "model": "m", "seed": "0"}
        cells.append(Side(f"{setting} {policy}", made(policy, 5.0).rows, config))
    [tree] = arms(cells)  # own/none stands alone
    names = {role: s.name for role, s in tree.sides.items()}
    assert names == {
        "none": "none/tree ", "random_other": "other/tree random_own", "random_own": "own/tree random_own",
        "dense": "own/tree dense",
    }  # fmt: skip


def test_gains_are_sliced_by_history_and_each_memory_says_what_it_costs(found: list[Arms]) -> None:
    sheet = slices(found)
    kept = [r for r in sheet.rows if (r[2], r[3]) == ("mae", "dense:k=3")]
    assert [(r[4], r[7], r[8]) for r in kept] == [("under 10", 40, 20), ("10 to 100", 20, 10)]
    cost = costs(found)
    assert column(cost.rows, cost.columns, "memory") == [
        "none",
        "random_other",
        "random_own",
        "recency",
        "dense:k=3",
        "oracle",
    ]
    assert set(column(cost.rows, cost.columns, "recalled")) == {1.5} and set(
        column(cost.rows, cost.columns, "cold")
    ) == {0.5}


def test_likelihoods_are_taken_apart_where_every_row_has_them() -> None:
    def likely(name: str, bits: float) -> Side:
        rows = [
            replace(r, kind="text", task="generation", metrics={"bits_per_byte": bits})
            for r in made(name, 1).rows.values()
        ]
        return side(name, rows)

    sheet = decomposition(arms([likely("none", 3.0), likely("random_own", 2.0), likely("dense", 1.5)]))
    if any(m == "bits_per_byte" for m in column(sheet.rows, sheet.columns, "metric")):
        assert column(sheet.rows, sheet.columns, "gain")[0].mean == pytest.approx(1.5)  # type: ignore[attr-defined]


def recalled(store: MemoryStore, pick: object, answers: int = 6) -> list[Arms]:
    """Two arms over the last answers of the club, whose memory brought what `pick` says for each."""
    thread = store.corpus.thread("t3_8")
    rows = []
    for m in [m for m in thread.messages if m.parent][:answers]:
        row = replace(number(0, 0.0, 1.0, m.author or ""), thread="t3_8", slot=m.id, time=m.time, model="m")
        rows.append(replace(row, recalled=tuple(pick(m)), retriever="dense"))  # type: ignore[operator]
    none = [replace(row, recalled=(), retriever="none") for row in rows]
    return arms([side("none", none), side("dense", rows)])


def test_a_memory_that_recalled_the_answer_or_anything_later_fails_the_comparison(store: MemoryStore) -> None:
    earlier = leaks.canary(recalled(store, lambda m: ["t1_11", "t1_12", "note_1"]), store)
    assert earlier.found.startswith("12 recalled messages, all earlier")
    with pytest.raises(Leak, match=r"canary: dense recalled t1_81 of second \d+ for the answer t1_81 of second"):
        leaks.canary(recalled(store, lambda m: [m.id]), store)
    with pytest.raises(Leak, match="canary: dense recalled t1_87"):
        leaks.canary(recalled(store, lambda m: ["t1_87"]), store)


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    """Ten people, enough for the shuffles to tell."""
    folder = tmp_path_factory.mktemp("ten")
    dump(folder / "dump.ndjson", people=10, replies=9)
    import_corpus([folder / "dump.ndjson"], folder / "corpus", embedder="bag", keep_names=True)
    found = MemoryStore.open(folder / "corpus")
    yield found
    found.close()


def calls(store: MemoryStore) -> list[Scored]:
    found = []
    for person in store.corpus.people():
        past = store.history(person, before=2**62).messages
        for m in [m for m in past if m.parent][-5:]:
            found.append(replace(number(0, 0.0, 1.0, person), thread=m.thread, slot=m.id, time=m.time, model="m"))
    return found


@dataclass(frozen=True)
class Cheat:
    """Looks past its door: at the store it was given, for whatever `of` finds there."""

    of: Callable[[Message], float]

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        return [Recalled(max(history.messages, key=self.of), 0.0)]


def test_recency_over_permuted_moments_tells_nothing_and_what_knows_the_true_order_fails(ten: MemoryStore) -> None:
    true = {m.id: m.time for person in ten.corpus.people() for m in ten.history(person, before=2**62).messages}
    passed = asyncio.run(leaks.time_shuffle(calls(ten), ten))
    assert passed.found.endswith("off the middle of the true past, 50 calls")
    with pytest.raises(Leak, match=r"time-shuffle: with moments permuted, recency still brings messages from 1\.00"):
        asyncio.run(leaks.time_shuffle(calls(ten), ten, latest=Cheat(lambda m: true[m.id])))
    few = asyncio.run(leaks.time_shuffle(calls(ten)[:5], ten))
    assert few.found == "too few people with a past to tell"


def test_lots_of_permuted_people_gain_nothing_and_what_knows_who_was_meant_fails(ten: MemoryStore) -> None:
    assert "likeness left of being oneself, 50 calls" in asyncio.run(leaks.user_shuffle(calls(ten), ten)).found
    rows = calls(ten)

    @dataclass(frozen=True)
    class Knows:
        async def __call__(self, history: History, query: str) -> list[Recalled]:
            [meant] = [row for row in rows if row.time == history.before][:1]
            message = ten.corpus.message(meant.slot)
            return [Recalled(message, 0.0)]

    with pytest.raises(Leak, match="user-shuffle: with ids of people permuted, a gain of"):
        asyncio.run(leaks.user_shuffle(rows, ten, lot=Knows()))


def test_words_of_the_answer_in_a_memory_are_counted_by_runs_of_five() -> None:
    answer = "one two three four five six seven"
    assert leaks.shared(f"he said {answer} twice", answer) == 1.0
    assert leaks.shared("one two three four five nine", answer) == pytest.approx(1 / 3)
    assert leaks.shared("two one", "one two") == 0.0 and leaks.shared("Yes OK", "yes ok") == 1.0
    assert leaks.shared("anything", "") == 0.0


def test_a_gain_that_rests_on_nearly_copied_answers_fails_the_comparison(store: MemoryStore) -> None:
    ids = [m.id for n in range(3, 9) for m in store.corpus.thread(f"t3_{n}").messages if m.parent]

    def arm(name: str, error: float, copied: float) -> list[Scored]:
        rows = []
        for n, id in enumerate(ids):
            own = copied if n < 30 else error
            row = number(n, 0.0, own + BUMPS[(n + len(name)) % 6], f"u{n}")
            rows.append(replace(row, slot=id, thread=store.corpus.message(id).thread, model="m", retriever=name,
                                recalled=(id,) if name == "dense" and n < 30 else ()))  # fmt: skip
        return rows

    level = {"none": (5.0, 5.0), "random_own": (5.0, 5.0), "recency": (5.0, 5.0), "dense": (5.0, 1.0)}
    found = arms([side(name, arm(name, *e)) for name, e in level.items()])
    with pytest.raises(Leak, match="near-duplicate: dense on impact on mae gains only with the 30 items"):
        leaks.near_duplicates(found, store)
    better = level | {"dense": (1.0, 1.0)}
    kept = leaks.near_duplicates(arms([side(name, arm(name, *e)) for name, e in better.items()]), store)
    assert kept.found == "30 items whose answer was nearly recalled; every gain stands without them"
