"""What a memory gains, in its parts, and the controls that fail a comparison whose memory knew too much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from evaluation import leaks
from evaluation.gain import Arms, arms, costs, decomposition, slices
from evaluation.rows import Scored
from evaluation.sides import Side, side
from memory.errors import Leak
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
