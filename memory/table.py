"""Rows of tables, data sets and plain mappings: which column means what, whatever it is called and typed as.

A column of text, as many published sets have them throughout, is understood as what it says.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from memory.errors import BadInput, clip
from memory.fields import Fields, row
from memory.reading import Row, Source, Tally

# Field -> the names it goes by, the likeliest first. `created` is left out: the API's is hours off.
NAMES = {
    "id": ("id", "message_id", "comment_id", "utterance_id", "name"),
    "author": ("author", "author_name", "user", "username", "user_name", "speaker"),
    "body": ("body", "text", "comment", "comment_body", "message", "content"),
    "selftext": ("selftext", "self_text"),
    "title": ("title", "post_title"),
    "created_utc": ("created_utc", "timestamp", "created_at", "time", "datetime", "date"),
    "score": ("score", "ups", "upvotes", "points"),
    "score_hidden": ("score_hidden",),
    "parent_id": ("parent_id", "parent", "reply_to", "reply-to", "in_reply_to"),
    "link_id": ("link_id", "thread_id", "thread", "conversation_id", "submission_id", "post_id"),
    "subreddit": ("subreddit", "subreddit_name", "community", "place", "__sub__"),
    "retrieved_on": ("retrieved_on", "retrieved_utc", "retrieved"),
    "kind": ("kind", "type"),
    "bot": ("bot", "is_bot"),
}
_NUMBERS = ("created_utc", "score", "retrieved_on")
_POSTS, _COMMENTS = ("post", "submission", "t3", "story"), ("comment", "reply", "t1")
NO_PARENTS = "the source has no column of parents: hung under the post"


@dataclass
class Rows(Source):
    """Rows that are in memory or come from a stream (a `datasets.Dataset` is one), as a source of their own."""

    rows: Iterable[Mapping[str, Any]] = ()

    @property
    def size(self) -> int:
        return 0


def columns(there: Iterable[str], where: str) -> dict[str, str]:
    """Field -> column. Upper and lower case are the same.

    Raises:
        BadInput: no column has words, or none says when; names those that are there.
    """
    by_name = {name.lower(): name for name in reversed(list(there))}
    found = {field: by_name[n] for field, names in NAMES.items() for n in reversed(names) if n in by_name}
    lacking = [] if found.keys() & {"body", "selftext", "title"} else ["words (body, text, selftext or title)"]
    lacking += [] if "created_utc" in found else ["a time (created_utc or timestamp)"]
    if lacking:
        have = clip(", ".join(sorted(by_name.values())), 200)
        raise BadInput(f"{where} has no column for {' and none for '.join(lacking)}; its columns are {have}")
    return found


def messages(rows: Iterable[Mapping[str, Any]], fields: dict[str, str], name: str, tally: Tally) -> Iterator[Row]:
    """The Rows of `rows`, numbered from 1; what is no message is noted as "`name`:number"."""
    for number, given in enumerate(rows, 1):
        tally.read += 1
        made = _message({field: given.get(column) for field, column in fields.items()}, number)
        if isinstance(made, str):
            tally.note("dropped", made, f"{name}:{number}")
            continue
        if made.kind == "comment" and "parent_id" not in fields:
            tally.note("repaired", NO_PARENTS, f"{name}:{number}")
        yield made


def read(source: Rows, tally: Tally) -> Iterator[Row]:
    """Rows in memory; their hash is of all that was read of them."""
    digest = hashlib.sha256()

    def seen() -> Iterator[Mapping[str, Any]]:
        for given in source.rows:
            digest.update(repr(sorted(given.items())).encode(errors="surrogatepass"))
            yield given

    rows = seen()
    first = next(rows, None)
    if first is not None:
        fields = columns(first.keys(), source.name)
        yield from messages(_chained(first, rows), fields, source.name, tally)
    source.sha256 = digest.hexdigest()


def _chained(first: Mapping[str, Any], rest: Iterator[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    yield first
    yield from rest


def _message(given: dict[str, Any], number: int) -> Row | str:
    kind, bot = str(given.pop("kind", None) or "").lower(), given.pop("bot", None)
    values = {f: _number(v) if f in _NUMBERS else _plain(v, f) for f, v in given.items()}
    if any(v is not None and not isinstance(v, (str, int, float)) for v in values.values()):
        return "a field of a type no dump has"
    for field in ("title", "selftext", "body", "author", "subreddit"):
        values[field] = None if values.get(field) is None else str(values[field])
    fields = Fields(**values)
    own, above, thread = (None if id in ("", "None") else id for id in (fields.id, fields.parent_id, fields.link_id))
    post = kind in _POSTS or (kind not in _COMMENTS and above is None and thread in (None, own, f"t3_{own}"))
    if post:
        fields.selftext = fields.body if fields.selftext is None else fields.selftext
        fields.title = fields.title or ""
    else:
        fields.title = fields.selftext = None
        fields.link_id = thread
        fields.parent_id = None if above is not None and f"t3_{above}" in (thread, f"t3_{thread}") else above
    made = row(fields, number)
    if not isinstance(made, str):
        made.bot = bot in (True, 1, "true", "True")
    return made


def _number(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    if isinstance(value, (str, int, float)) or value is None:
        return value
    try:
        return float(value)  # Decimal, numpy
    except (TypeError, ValueError):
        return value


def _plain(value: Any, field: str) -> Any:
    """A missing value in a column of numbers is NaN, and turns whole numbers to floats."""
    if not isinstance(value, float):
        return value
    if math.isnan(value):
        return None
    return int(value) if field.endswith("id") and value.is_integer() else str(value)
