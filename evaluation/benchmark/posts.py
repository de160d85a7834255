"""The benchmark's file as the reference reads it: users, their posts, comments numbered depth first.

A post stays packed as JSON until somebody looks at it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from memory.errors import BadInput, Missing
from memory.readers.personaconv import UNKNOWN_AUTHOR
from memory.reading import Source, Tally


@dataclass(frozen=True, slots=True)
class Comment:
    """`ref`: the reference's own id, e.g. "u1p2-c1-c4". `path`: list indexes in the file. `author`, `body`, `score` and
    `stated` (its timestamp) are what the file says, of any type."""

    ref: str
    parent: str
    path: tuple[int, ...]
    author: Any
    body: Any
    score: Any
    stated: Any

    @property
    def text(self) -> str:
        return clean(self.body)

    @property
    def time(self) -> datetime | None:
        return instant(self.stated)


@dataclass(frozen=True)
class Tree:
    """A post decoded. `user` is the key it stands under, which decides whose replies count; `fields`: all but comments,
    in the order of the file; `comments` depth first."""

    ref: str
    user: str
    fields: dict[str, Any]
    comments: tuple[Comment, ...]

    @cached_property
    def by_ref(self) -> dict[str, Comment]:
        return {c.ref: c for c in self.comments}

    @cached_property
    def children(self) -> dict[str, list[Comment]]:
        """Parent ref -> replies, in the order of the file."""
        found: dict[str, list[Comment]] = {}
        for comment in self.comments:
            found.setdefault(comment.parent, []).append(comment)
        return found

    def below(self, ref: str) -> list[str]:
        """`ref` and everything under it, depth first."""
        found, waiting = [], [ref]
        while waiting:
            here = waiting.pop()
            found.append(here)
            waiting += [c.ref for c in reversed(self.children.get(here, ()))]
        return found

    def top(self, ref: str) -> Comment:
        """The top-level comment that `ref` stands under, or is."""
        comment = self.by_ref[ref]
        while comment.parent != self.ref:
            comment = self.by_ref[comment.parent]
        return comment

    @property
    def stops_the_reference(self) -> bool:
        """A number as timestamp, on the post or a reply of the user: the reference ends with an error there."""
        stated = [self.fields.get("timestamp"), *(c.stated for c in self.comments if c.author == self.user)]
        return any(isinstance(s, int | float) for s in stated)


@dataclass(frozen=True, slots=True)
class Post:
    """`ref`: "u<user>p<post>", both from 1 in the order of the file. `index` counts from 0 within the user."""

    ref: str
    user: str
    index: int
    raw: Any  # msgspec.Raw or bytes

    def tree(self) -> Tree:
        """Raises: BadInput for a post that is nested beyond reading."""
        try:
            fields = _decoded(self.raw)
        except RecursionError:
            raise BadInput(f"post {self.ref} is nested too deeply to be read; take it out") from None
        above = fields.pop("comments", None)
        return Tree(self.ref, self.user, fields, tuple(_flat(above, self.ref)))


@dataclass(frozen=True)
class Posts(Sequence[Post]):
    """All posts in the reference's order: by user as each first appears, then as the file has them."""

    posts: tuple[Post, ...]
    where: str = ""

    @cached_property
    def by_ref(self) -> dict[str, Post]:
        return {post.ref: post for post in self.posts}

    def __len__(self) -> int:
        return len(self.posts)

    def __getitem__(self, at: Any) -> Any:
        return self.posts[at]

    def __iter__(self) -> Iterator[Post]:
        return iter(self.posts)


def read_posts(path: Path) -> Posts:
    """The raw list or the grouped object, plain or zstd. Texts stay packed: a 180 MB file takes about 200 MB.

    Raises: Missing where there is no file, BadInput where it is no JSON of either shape.
    """
    try:
        data = b"".join(Source(path).blocks(Tally()))
    except FileNotFoundError:
        raise Missing(f"no benchmark file {path}; give the PersonaConvBench JSON, raw or grouped") from None
    return parse_posts(data, str(path))


def parse_posts(data: bytes, where: str = "input") -> Posts:
    """Posts of a file's contents; `where` stands in errors."""
    try:
        return _posts(msgspec.json.decode(data, type=dict[str, list[msgspec.Raw]] | list[msgspec.Raw]), where)
    except msgspec.DecodeError:
        pass  # NaN, half surrogates and other things that only the standard library takes, as the reference does
    try:
        loose = json.loads(data)
    except ValueError as error:
        raise BadInput(f"{where} is not JSON ({error}); get the PersonaConvBench file whole") from None
    return _posts(_packed(loose, where), where)


def _posts(found: dict[str, list[Any]] | list[Any], where: str) -> Posts:
    users = found if isinstance(found, dict) else _by_author(found)
    posts = [
        Post(f"u{n}p{m}", user, m - 1, raw)
        for n, (user, own) in enumerate(users.items(), 1)
        for m, raw in enumerate(own, 1)
    ]
    wrong = next((p for p in posts if bytes(memoryview(p.raw)[:1]) != b"{"), None)
    if wrong is not None:
        raise BadInput(f"{where}: post {wrong.ref} is no object; a list of posts or {{user: [posts]}} is needed")
    return Posts(tuple(posts), where)


def _by_author(posts: list[Any]) -> dict[str, list[Any]]:
    """As Raw_Data_Process.py groups: by the post's author, in order of first appearance."""
    users: dict[str, list[Any]] = {}
    for raw in posts:
        post = _decoded(raw)
        author = post.get("author", UNKNOWN_AUTHOR) if isinstance(post, dict) else ""
        users.setdefault("null" if author is None else str(author), []).append(raw)
    return users


def _decoded(raw: Any) -> Any:
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        return json.loads(bytes(raw))


def _packed(loose: Any, where: str) -> dict[str, list[bytes]] | list[bytes]:
    pack = json.dumps
    if isinstance(loose, list):
        return [pack(post).encode() for post in loose]
    if isinstance(loose, dict) and all(isinstance(own, list) for own in loose.values()):
        return {user: [pack(post).encode() for post in own] for user, own in loose.items()}
    raise BadInput(
        f"{where} is neither a list of posts nor an object {{user: [posts]}}; give the PersonaConvBench file"
    )


def _flat(above: Any, post: str) -> Iterator[Comment]:
    """Depth first, numbered by one counter for the whole post; what is no object is skipped and gets no number."""
    number = 0
    waiting: list[tuple[dict[str, Any], str, tuple[int, ...]]] = []
    waiting += [(node, post, (i,)) for i, node in _objects(above)][::-1]
    while waiting:
        node, parent, path = waiting.pop()
        number += 1
        ref = f"{parent}-c{number}"
        yield Comment(ref, parent, path, node.get("author"), node.get("body"), node.get("score"), node.get("timestamp"))
        waiting += [(child, ref, (*path, i)) for i, child in _objects(node.get("replies"))][::-1]


def _objects(nodes: Any) -> list[tuple[int, dict[str, Any]]]:
    return [(i, node) for i, node in enumerate(nodes) if isinstance(node, dict)] if isinstance(nodes, list) else []


def clean(text: Any) -> str:
    """Line breaks as blanks, stripped; "" for null."""
    return "" if text is None else str(text).replace("\n", " ").replace("\r", " ").strip()


def instant(stated: Any) -> datetime | None:
    """ISO 8601 text as UTC (no offset: UTC). A number, where the reference stops, is seconds since 1970; else None."""
    try:
        if isinstance(stated, int | float) and not isinstance(stated, bool):
            return datetime.fromtimestamp(stated, UTC)
        if not isinstance(stated, str):
            return None
        found = datetime.fromisoformat(stated)
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
