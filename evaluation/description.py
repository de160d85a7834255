"""A corpus described on the terminal: a table of counts, and distributions as bars of text."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from evaluation.console import console, show
from memory.corpus import Corpus
from memory.describe import ENOUGH, Description, describe, limits
from memory.errors import clip
from memory.forget import Farewell

BAR = 40  # characters of the longest bar


def show_corpus(path: Path, enough: Sequence[str] | None, as_json: bool) -> None:
    """Prints what `path` holds. `enough`: as memory.describe.limits reads them, beside those shown by default."""
    corpus = Corpus.open(path)
    try:
        found = describe(corpus, [*ENOUGH, *limits(enough or ())])
        if as_json:
            print(json.dumps({"data_hash": corpus.data_hash, **dataclasses.asdict(found)}, indent=1))
        else:
            _print(path, found)
    finally:
        corpus.close()


def _print(path: Path, found: Description) -> None:
    show(str(path), ["", "number"], counts(found), right=["number"])
    communities = [(clip(c.place, 40) or "(none)", c.messages, c.people, c.threads) for c in found.largest]
    more = f", the largest {len(communities)} of {found.communities}" if found.communities > len(communities) else ""
    columns = ["community", "messages", "people", "threads"]
    show(f"Communities{more}", columns, communities, right=columns[1:])
    for title, unit, groups in (
        ("How much people wrote", "messages each", found.histories),
        ("How large threads are", "messages", found.sizes),
        ("How deep messages stand", "replies below the post", found.depths),
    ):
        whose = "people" if groups is found.histories else "threads" if groups is found.sizes else "messages"
        show(title, [unit, whose, ""], bars(groups, console().options.ascii_only), right=[unit, whose])
    rows = [
        (
            f"at least {n} messages" + (f" in at least {of} threads" if of > 1 else ""),
            people,
            share(people, found.people),
        )
        for n, of, people in found.enough
    ]
    show("People with enough history for a persona", ["history", "people", "of all"], rows, right=["people", "of all"])


def farewell(done: Farewell) -> str:
    """What forgetting somebody did, and what it cannot reach. Nobody is named."""
    if done.already:
        return "this person was forgotten before; nothing had to be done"
    return (
        f"{done.messages} messages are left without words and writer, names were taken out of {done.mentions} others; "
        "a later import will not bring this person back while the key file beside the folder is kept.\n"
        "Not reached: what others quoted without a name, run folders, exports and sources made before."
    )


def counts(found: Description) -> list[tuple[str, str]]:
    """(what, how many) for the first table."""
    rows = [
        ("messages", f"{found.messages:,}"),
        ("  posts", f"{found.posts:,}"),
        ("    of them empty, for posts that were not in the data", f"{found.stand_ins:,}"),
        ("  comments", f"{found.comments:,}"),
        ("  with words", f"{found.with_words:,}"),
        ("  by nobody (deleted accounts)", f"{found.without_author:,}"),
        ("  without a known score", f"{found.without_score:,}"),
        ("people", f"{found.people:,}"),
        ("bots", f"{found.bots:,}"),
        ("threads", f"{found.threads:,}"),
        ("communities", f"{found.communities:,}"),
    ]
    if found.first is not None and found.last is not None:
        rows += [("from", _day(found.first)), ("to", _day(found.last))]
    return rows


def bars(groups: Sequence[tuple[str, int]], ascii_only: bool = False) -> list[tuple[str, int, str]]:
    """(label, number, bar): the longest has BAR characters, and whoever is there at all has one."""
    most = max((n for _, n in groups), default=0)
    mark = "#" if ascii_only else "█"
    return [(label, n, mark * (max(1, round(BAR * n / most)) if n else 0)) for label, n in groups]


def share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else ""


def _day(time: int) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M UTC")
