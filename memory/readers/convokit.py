"""ConvoKit corpus folders: utterances of either spelling (reply-to, reply_to), titles from conversations.json.

In its Reddit corpora an unknown number is -1; a score of -1 is taken as it stands, for most are real.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec

from memory.batch import Batch
from memory.elements import decoded, elements
from memory.fields import fullname, moment, score, text, writer
from memory.mending import mend
from memory.reading import Row, Source, Tally
from memory.utterances import REMOVED, Folder, utterances

_REPLY = re.compile(rb'(?<!\\)"reply[-_]to"\s*:')
OURS = "personaconv"  # in corpus.json's meta: texts stand as they are


def recognises(head: bytes) -> bool:
    """Utterances on their own: titles are looked for beside them."""
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n[")
    return first.startswith(b"{") and _REPLY.search(first) is not None


def claims(folder: Path) -> bool:
    return _utterances(folder) is not None


def _utterances(folder: Path) -> Path | None:
    return next((f for name in ("utterances.jsonl", "utterances.json") if (f := folder / name).is_file()), None)


def read(source: Source, tally: Tally) -> Iterator[Row]:
    """The utterances in their order. Ids get the prefixes of Reddit's: t3_ for what opens a conversation."""
    for found in batches(source, tally):
        yield from found.rows() if isinstance(found, Batch) else (found,)


def batches(source: Source, tally: Tally) -> Iterator[Batch | Row]:
    """The same, together where many lines are usual."""
    file = _utterances(source.path) or source.path
    said = Source(file, source.allow_truncated)
    digest = hashlib.sha256()
    about = _Conversations(file.parent, tally, digest)
    plain, bots = _ours(file.parent)
    folder = Folder(plain, bots, lambda root: _title(about.of(root)[0], plain))
    for some in _listed(said, tally) if file.suffix == ".json" else _lines(said, folder, tally):
        source.done = said.done
        if isinstance(some, Batch):
            tally.read += len(some)
            yield some
            continue
        for line, value in some:
            tally.read += 1
            made = _row(value, line, about, plain) if isinstance(value, dict) else "a field of a type no dump has"
            if isinstance(made, str):
                tally.note("dropped", made, f"{said.name}:{line}")
            else:
                made.bot = made.author in bots
                yield made
    digest.update(said.sha256.encode())
    source.sha256 = digest.hexdigest() if file != source.path else said.sha256


def _listed(source: Source, tally: Tally) -> Iterator[list[tuple[int, Any]]]:
    """(line, value) of an array's elements."""
    for element in elements(source, tally):
        value = decoded(element, source, tally)
        tally.read += value is None
        yield [] if value is None else [(element.line, value)]


def _lines(source: Source, folder: Folder, tally: Tally) -> Iterator[Batch | Iterator[tuple[int, Any]]]:
    number = 1
    for lines in source.parts(tally):
        found = utterances(lines, number, folder)
        yield found or _one_by_one(lines, number, source.name, tally)
        number += len(found) if found else lines.count(b"\n")


def _one_by_one(lines: bytes, number: int, name: str, tally: Tally) -> Iterator[tuple[int, Any]]:
    for at, raw in enumerate(BytesIO(lines), number):
        try:
            found = [msgspec.json.decode(raw)]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            found = mend(raw.removesuffix(b"\n"), f"{name}:{at}", raw.endswith(b"\n"), tally)
            tally.read += not found
        for value in found:
            yield at, value


def _row(given: dict[str, Any], line: int, about: _Conversations, plain: bool) -> Row | str:
    meta = given.get("meta") if isinstance(given.get("meta"), dict) else {}
    assert isinstance(meta, dict)
    own = _id(given.get("id"))
    root = _id(given.get("conversation_id") or given.get("root"))
    above = _id(given.get("reply-to", given.get("reply_to")))
    if own is None:
        return "no id"
    stated = given.get("timestamp")
    when = moment(stated) if isinstance(stated, (int, float, str)) else None
    if when is None:
        return "no usable time"
    if root is None and above is None:
        root = own
    post = above is None and root == own
    said = given.get("text")
    if not isinstance(said, str | None):
        return "a field of a type no dump has"
    thread = fullname(root, "t3_")
    parent = thread if above in (None, root) else fullname(above, "t1_")
    title, place = about.of(root) if root is not None and (post or "subreddit" not in meta) else ("", "")
    counted, seen = meta.get("score"), meta.get("retrieved_on")
    return Row(
        fullname(own, "t3_" if post else "t1_") or "",
        thread,
        None if post else parent,
        writer(_name(given.get("speaker", given.get("user")))),
        when,
        said if plain and said not in REMOVED else text(said),
        score(counted) if isinstance(counted, (int, float, str)) else None,
        str(meta.get("subreddit") or place),
        "post" if post else "comment",
        _title(title, plain) if post else "",
        moment(seen) if isinstance(seen, (int, float, str)) else None,
        line,
    )


def _id(value: Any) -> str | None:
    return None if value is None or value == "" else str(value)


def _name(speaker: Any) -> str | None:
    """A name; old corpora have an object with it in."""
    if isinstance(speaker, dict):
        speaker = speaker.get("id", speaker.get("name"))
    return None if speaker is None else str(speaker)


def _title(title: str, plain: bool) -> str:
    return title if plain else (text(title) or "").strip()


def _ours(folder: Path) -> tuple[bool, frozenset[str]]:
    """Whether personaconv wrote this corpus, and the speakers it says are bots."""
    file = folder / "corpus.json"
    try:
        found = msgspec.json.decode(file.read_bytes())
        ours = found.get("meta", found).get(OURS)
        return ours is not None, frozenset(ours["bots"] if ours else ())
    except (OSError, msgspec.DecodeError, AttributeError, KeyError, TypeError):
        return False, frozenset()


class _Conversations:
    """Titles and places by conversation, in a temporary file of SQLite's: memory does not grow with the corpus."""

    def __init__(self, folder: Path, tally: Tally, digest: hashlib._Hash) -> None:
        self._sql = sqlite3.connect("")
        self._sql.execute("create table about(id text primary key, title text, place text) without rowid")
        file = Source(folder / "conversations.json", allow_truncated=True)
        if file.path.is_file():
            found = ((e.key or "", decoded(e, file, tally)) for e in elements(file, tally, inside="{"))
            values = ((id, *_about(value)) for id, value in found if value is not None)
            self._sql.executemany("insert or replace into about values (?, ?, ?)", values)
            digest.update(file.sha256.encode())

    def of(self, id: str) -> tuple[str, str]:
        """(title, place), "" for what is not known."""
        found = self._sql.execute("select title, place from about where id = ?", (id,)).fetchone()
        return found or ("", "")


def _about(value: dict[str, Any]) -> tuple[str, str]:
    meta = value["meta"] if isinstance(value.get("meta"), dict) else value
    return tuple(v if isinstance(v := meta.get(name), str) else "" for name in ("title", "subreddit"))  # type: ignore[return-value]
