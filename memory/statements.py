"""The three ways a record is asked and changed, over any connection of SQLite's; knows no table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any


def one(sql: sqlite3.Connection, query: str, *values: Any) -> Any:
    """The first column of the first row; None where there is none."""
    found = sql.execute(query, values).fetchone()
    return None if found is None else found[0]


def each(sql: sqlite3.Connection, query: str, *values: Any) -> Iterator[tuple[Any, ...]]:
    """Rows of a query, on a cursor of its own, so that writes can go on between them."""
    with closing(sql.cursor()) as cursor:
        yield from cursor.execute(query, values)


def change(sql: sqlite3.Connection, statement: str, values: Iterable[tuple[Any, ...]]) -> int:
    """Runs the statement for all of `values` in one transaction; how many rows it changed."""
    before = sql.total_changes
    sql.execute("begin")
    sql.executemany(statement, values)
    sql.execute("commit")
    return sql.total_changes - before
