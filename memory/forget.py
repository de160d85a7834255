"""forget: a person's words, names and vectors out of a corpus folder, for good.

Their messages stay as nodes of the tree, without text, title or author; mentions of their names become a mark. The
folder is written anew without them, Chroma's part too, since a database keeps deleted text in its files. What stays:
words of theirs that somebody else quoted, run folders and exports made before, and the sources themselves.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from memory import lock, pseudonym, unsettled
from memory.embed import Embedder, open_embedder
from memory.encoding import encode
from memory.errors import Missing, UnknownName
from memory.recall import Vectors
from memory.record import STAGING, Record
from memory.segment import opened
from memory.state import new_folder, publish, read_manifest, sweep, swept
from memory.store import FOLDER, Index
from memory.wiping import wiped
from memory.writing import write

_NEW, _OLD = f"{FOLDER}.new", f"{FOLDER}.old"


@dataclass(frozen=True)
class Farewell:
    """What was removed: `messages` of theirs that lost their words, `mentions` in texts of others. Nobody is named."""

    messages: int
    mentions: int
    already: bool = False


def forget(path: Path, user: str, progress: Callable[[str, int, int | None], None] | None = None) -> Farewell:
    """Removes `user`, given as the corpus calls them or, with the key beside the folder, by the real name.

    Raises:
        UnknownName: no author of that name. Missing: no corpus, or the model for texts that change. Busy: in use.
    """
    read_manifest(path)
    with lock.held(path, "personaconv forget"), swept(path):
        old = read_manifest(path)
        settle(path)
        sweep(path, old["segments"])
        return _Forgetting(path, old, progress or (lambda what, done, total: None)).run(user)


def key_file(corpus: Path) -> Path:
    """Where the key of `corpus` is kept: beside it, never in it."""
    return corpus.with_name(corpus.name + ".key")


def settle(corpus: Path) -> None:
    """Puts right what a forgetting that was killed has left of the vectors."""
    shutil.rmtree(corpus / _NEW, ignore_errors=True)
    if (corpus / _OLD).exists() and not (corpus / FOLDER).exists():
        (corpus / _OLD).rename(corpus / FOLDER)
    shutil.rmtree(corpus / _OLD, ignore_errors=True)


class _Forgetting:
    def __init__(self, path: Path, old: dict[str, Any], progress: Callable[[str, int, int | None], None]) -> None:
        self.path, self.old, self.progress = path, old, progress
        self.segments = opened(path, old["segments"])
        self.folder = new_folder(path, old["segments"])
        file = key_file(path)
        self.key = pseudonym.key(file) if file.exists() else None

    def run(self, user: str) -> Farewell:
        record = self._record()
        try:
            found = self._find(record, user)
            if found is None:
                shutil.rmtree(self.folder)
                return Farewell(0, 0, already=True)
            if self.key is None and self.old["keep_names"]:
                # Names that were kept have no key yet; one is made now, for the hashes that later imports look up.
                self.key = pseudonym.key(key_file(self.path))
                record.close()
                (self.folder / STAGING).unlink()
                record = self._record()
            done = self._remove(record, *found)
            contents = self._rebuild(record)
            manifest = {**self.old, **contents, "segments": [self.folder.name]}
            manifest = {**record.forgotten.cleaned_all(manifest), "forgotten": self.old.get("forgotten", 0) + 1}
        finally:
            record.close()
        (self.folder / STAGING).unlink()
        self._swap()
        publish(self.path, manifest, [self.folder])
        unsettled.clear(self.path)
        return done

    def _record(self) -> Record:
        names = None if self.old["keep_names"] else self.key or b""
        return Record(self.folder / STAGING, names, self.key, self.segments)

    def _find(self, record: Record, user: str) -> tuple[str, str] | None:
        """(what the corpus calls them, how they were asked for); None for who was forgotten already."""
        query = "select name from every_authors where name = ?1 or identity = ?2"
        identity = user.casefold().encode(errors="replace")
        if not self.old["keep_names"]:
            identity = pseudonym.digest(self.key, user) if self.key else b""
        found = record.sql.execute(query, (user, identity)).fetchone()
        if found is not None:
            return found[0], user
        if user in record.forgotten:
            return None
        known = [name for (name,) in record.sql.execute("select name from every_authors")]
        record.close()
        shutil.rmtree(self.folder)
        lost = not self.old["keep_names"] and self.key is None
        hint = f" (a real name is known only with the key, and {key_file(self.path)} is not there)" if lost else ""
        raise UnknownName(f"person{hint}", user, known)

    def _remove(self, record: Record, name: str, asked: str) -> Farewell:
        record.load(self.segments)
        sql = record.sql.execute
        for table in ("places", "threads"):  # numbered anew: a place can have a name in it
            sql(f"delete from {table}")
        [identity] = sql("select identity from authors where name = ?", (name,)).fetchone()
        sql("insert or ignore into forgotten_messages select id from messages where author = ?", (name,))
        words = "update messages set author = null, text = null, title = '' where author = ?"
        messages = sql(words, (name,)).rowcount
        sql("delete from authors where name = ?", (name,))
        if not self.old["keep_names"]:
            record.forgotten.add(identity, asked if asked != name else None)
        if self.key is not None:
            record.forgotten.add(pseudonym.digest(self.key, name), name)
        return Farewell(messages, record.clean(name))

    def _rebuild(self, record: Record) -> dict[str, Any]:
        """A segment of all that is left, and its vectors in a new folder."""
        model = _Late(**self.old["embedder"], path=self.path)
        written = write(self.folder, record, {}, lambda n, of: self.progress("write", n, of))
        known = [s.known for s in self.segments]
        if not model.dim:  # imported without vectors: Chroma has nothing of it
            encode(written, model, known, None, lambda n, of: None)
            return written.contents
        with wiped(), closing(Index(self.path / _NEW, model.stamp)) as index:
            encode(written, model, known, index, lambda n, of: self.progress("encode", n, of))
        unsettled.note(self.path, model.stamp, written.ids())
        return written.contents

    def _swap(self) -> None:
        if (self.path / _NEW).exists():
            (self.path / FOLDER).rename(self.path / _OLD)
            (self.path / _NEW / FOLDER).rename(self.path / FOLDER)
        settle(self.path)


@dataclass(frozen=True)
class _Late:
    """A model that is opened for the first text: most of those who are forgotten are mentioned by nobody."""

    name: str
    stamp: str
    dim: int
    path: Path

    @cached_property
    def _model(self) -> Embedder:
        model = open_embedder(self.name)
        if model.name != self.stamp:
            raise Missing(
                f"{self.path} has vectors of {self.stamp}, but the model here is {model.name}; install that one"
            )
        return model

    def __call__(self, texts: list[str]) -> Vectors:
        return self._model(texts)
