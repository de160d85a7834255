"""The PersonaConvBench file: posts with nested replies, as a list ("raw") or under their writers' names ("grouped").

Its records carry no ids. Ids are made here from what does not change when a text is edited (place, time, title, place
in the tree), without names, so the same post has the same id in both shapes and in every later copy of the file.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Any

from memory.elements import decoded, elements
from memory.fields import fullname, moment, score, text, writer
from memory.mending import BOM
from memory.reading import Row, Source, Tally

_START = re.compile(rb'\s*(?:\[\s*\{|\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\[\s*[{\]])', re.DOTALL)
_OWN = re.compile(rb'(?<!\\)"(?:content|comments|__sub__|num_comments)"\s*:')
UNKNOWN_AUTHOR = "UNKNOWN_AUTHOR"


def recognises(head: bytes) -> bool:
    """A list of posts, or an object of such lists."""
    return _START.match(head.removeprefix(BOM)) is not None and _OWN.search(head) is not None


def read(source: Source, tally: Tally) -> Iterator[Row]:
    """Each post and the replies below it, in the order of the file; `line` is the one the post begins on."""
    for element in elements(source, tally):
        post = decoded(element, source, tally)
        if post is None:
            tally.read += 1
            continue
        yield from _thread(post, element.key, f"{source.name}:{element.line}", element.line, tally)


def _thread(post: dict[str, Any], key: str | None, where: str, line: int, tally: Tally) -> Iterator[Row]:
    place = _word(post.get("__sub__") or post.get("subreddit")) or ""
    stated, title = _time(post), _word(post.get("title")) or ""
    id = fullname(_id(post.get("id")), "t3_") or "t3_" + _made(place, stated, title, post.get("url"))
    same: dict[tuple[str, str], int] = {}
    # (node, id, parent); a stack instead of recursion, so that depth has no limit here
    waiting: list[tuple[Any, str, str | None]] = [(post, id, None)]
    while waiting:
        node, own, parent = waiting.pop()
        tally.read += 1
        made = _row(node, own, id, parent, place, line)
        if isinstance(made, str):
            tally.note("dropped", made, where)
        else:
            if parent is None and node.get("author") is None:
                made.author = _author(key)
            yield made
        below = node.get("replies" if parent is not None else "comments")
        children = []
        for child in below if isinstance(below, list) else []:
            if not isinstance(child, dict):
                tally.read += 1
                tally.note("dropped", "a reply that is no object", where)
                continue
            at = _time(child)
            nth = same[own, at] = same.get((own, at), 0) + 1
            its = fullname(_id(child.get("id")), "t1_") or "t1_" + _made(own, at, nth)
            children.append((child, its, own))
        waiting += reversed(children)


def _row(node: dict[str, Any], id: str, thread: str, parent: str | None, place: str, line: int) -> Row | str:
    stated = node.get("timestamp", node.get("created_utc"))
    when = moment(stated) if isinstance(stated, (int, float, str)) else None
    if when is None:
        return "no usable time"
    post = parent is None
    words = [node.get(name) for name in (("content", "body", "selftext") if post else ("body",))]
    said = next((w for w in words if w is not None), None)
    if not isinstance(said, str | None):
        return "a field of a type no dump has"
    counted = node.get("score")
    return Row(
        id,
        thread,
        parent,
        _author(node.get("author")),
        when,
        text(said),
        score(counted) if isinstance(counted, (int, float, str)) else None,
        place,
        "post" if post else "comment",
        (text(_word(node.get("title"))) or "").strip() if post else "",
        None,
        line,
    )


def _author(name: Any) -> str | None:
    return None if name == UNKNOWN_AUTHOR else writer(_word(name))


def _time(node: dict[str, Any]) -> str:
    return str(node.get("timestamp", node.get("created_utc")))


def _word(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _id(value: Any) -> str | int | None:
    return value if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _made(*parts: Any) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode(errors="replace")).hexdigest()[:16]
