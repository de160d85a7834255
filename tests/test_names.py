import sqlite3

import pytest

from memory import pseudonym
from memory.names import Names
from memory.segment import create

KEY = b"k" * 32


def people(key: bytes | None = KEY, earlier: str = "", cached: int = 100) -> tuple[sqlite3.Connection, Names]:
    """`earlier`: what somebody in another segment is called."""
    sql = sqlite3.connect(":memory:", isolation_level=None)
    sql.execute("attach ':memory:' as s0")
    for schema in ("main", "s0"):
        create(sql, schema, parts=True)
    sql.execute("create temp view every_authors as select * from main.authors union all select * from s0.authors")
    if earlier:
        take(sql, earlier, "s0")
    return sql, Names(sql, key, cached)


def take(sql: sqlite3.Connection, called: str, schema: str = "main") -> None:
    sql.execute(f"insert into {schema}.authors(name, identity, bot) values (?, ?, 0)", (called, called.encode()))


def called(names: Names, name: str) -> str | None:
    return names.people([name])[name][1]


def usual(name: str) -> str:
    return pseudonym.pseudonyms([pseudonym.digest(KEY, name)], 8)[0]


def test_everybody_has_one_number_in_the_order_of_first_appearance() -> None:
    sql, names = people()
    assert names.codes(["ann", "bob", None, "Ann", "cy"]).tolist() == [1, 2, -1, 1, 3]
    assert names.codes(["cy", "BOB", "dee"], {"dee"}).tolist() == [3, 2, 4]
    found = sql.execute("select name, bot from authors order by code").fetchall()
    assert found == [(usual("ann"), 0), (usual("bob"), 0), (usual("cy"), 0), (usual("dee"), 1)]
    assert called(names, "DEE") == usual("dee") and called(names, "eve") is None


def test_names_that_are_kept_are_spelled_as_first_seen() -> None:
    _, names = people(key=None)
    names.codes(["Ann", "ann", "ANN"])
    assert called(names, "aNN") == "Ann"


def test_names_that_cannot_be_encoded_are_one_person() -> None:
    _, names = people()
    assert names.codes(["x\ud800", "x\udfff", "y"]).tolist() == [1, 1, 2]


@pytest.mark.parametrize("before", [True, False])
def test_who_would_be_called_like_somebody_else_gets_a_longer_pseudonym(before: bool) -> None:
    sql, names = people(earlier=usual("bob") if before else "")
    if not before:
        take(sql, usual("bob"))
    longer = pseudonym.pseudonyms([pseudonym.digest(KEY, "bob")], 9)[0]
    take(sql, longer)
    sql.execute("update sqlite_sequence set seq = 7")
    ann, bob = names.codes(["ann", "bob"]).tolist()
    assert called(names, "ann") == usual("ann")
    assert called(names, "bob") == pseudonym.pseudonyms([pseudonym.digest(KEY, "bob")], 10)[0]
    found = dict(sql.execute("select code, name from authors where code in (?, ?)", (ann, bob)))
    assert found == {ann: called(names, "ann"), bob: called(names, "bob")}


def test_who_was_known_before_keeps_number_and_name() -> None:
    sql, names = people()
    names.codes(["ann", "bob"])
    again = Names(sql, KEY)
    assert called(again, "bob") == usual("bob")
    assert again.codes(["cy", "Bob", "ann"]).tolist() == [3, 2, 1]


def test_a_profile_page_is_called_like_its_owner_before_and_after_the_owner_is_met() -> None:
    _, names = people()
    assert names.place("u_ann") == "u_" + usual("ann")
    names.codes(["ann"])
    assert names.place("U_Ann") == "u_" + usual("ann") and names.place("bikes") == "bikes"


def test_people_who_are_no_longer_kept_in_memory_are_known_still() -> None:
    sql, names = people(cached=2)
    for _ in range(2):
        for n in range(6):
            assert (
                names.codes([f"p{n}", f"P{n}", "ann"]).tolist()[:2]
                == [sql.execute("select code from authors where name = ?", (usual(f"p{n}"),)).fetchone()[0]] * 2
            )
    assert sql.execute("select count(*) from authors").fetchone() == (7,)
