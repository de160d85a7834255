"""A bicycle club: a dump of eight threads of five people, so that all of them have a past in the later ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.dumps import comment, post, write

PEOPLE = ("ann", "bob", "cat", "dan", "eve")
PARENTS = (0, 0, 1, 3, 0, 5, 4)  # of the replies 1 to 7; 0 is the post


def rows(threads: int = 8) -> list[dict[str, Any]]:
    """Thread n is t3_n with the replies t1_n1 to t1_n7, a minute apart; it begins n days after START."""
    return [row for n in range(1, threads + 1) for row in _thread(n)]


def _thread(n: int) -> list[dict[str, Any]]:
    day = 86_400 * n
    title = f"Which chain for a bicycle of {n} gears?"
    replies = [
        comment(
            f"{n}{at}", str(n), f"t1_{n}{parent}" if parent else None, PEOPLE[(n + at) % 5], day + 60 * at,
            body=f"Chain {at} fits {n} gears, says one who rides.", score=(n * at) % 5 - 1,
        )
        for at, parent in enumerate(PARENTS, 1)
    ]  # fmt: skip
    return [post(str(n), PEOPLE[n % 5], day, title, score=n), *replies]


def dump(folder: Path, *more: dict[str, Any] | bytes, threads: int = 8) -> Path:
    """folder/club.ndjson with these rows and `more` after them."""
    return write(folder / "club.ndjson", *rows(threads), *more)
