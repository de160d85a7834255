"""The state of a corpus: a manifest that names its segments, replaced in one step."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memory.errors import BadInput, Missing

MANIFEST = "manifest.json"
FORMAT = 4


def read_manifest(corpus: Path) -> dict[str, Any]:
    """
    Raises:
        Missing: no corpus there. BadInput: one of another format, or a broken one.
    """
    file = corpus / MANIFEST
    if not file.is_file():
        what = "an import that was not finished" if corpus.is_dir() and any(corpus.iterdir()) else "no imported corpus"
        raise Missing(f"{corpus} holds {what}; make one with: personaconv import SOURCE... -o {corpus}")
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        version = manifest["format"]
    except (ValueError, TypeError, KeyError):
        raise BadInput(f"{file} cannot be read; import the corpus again into a new folder") from None
    if version != FORMAT:
        raise BadInput(f"{corpus} has format {version}, this version reads {FORMAT}; import it again into a new folder")
    return dict(manifest)


def new_folder(corpus: Path, names: Sequence[str]) -> Path:
    """The folder of a segment after these."""
    number = max((int(name.rpartition("-")[2]) for name in names), default=0) + 1
    folder = corpus / f"segment-{number:06d}"
    folder.mkdir()
    return folder


def publish(corpus: Path, manifest: dict[str, Any], written: Sequence[Path]) -> None:
    """Makes `manifest` the corpus' state, in one step, once what was `written` for it is on disk. Folders that it does
    not name are removed, but stay readable to who has them open."""
    with ThreadPoolExecutor() as together:
        list(together.map(_settle, (file for folder in written for file in folder.iterdir())))
    new = corpus / f"{MANIFEST}.new"
    with new.open("w", encoding="utf-8") as file_:
        json.dump({"format": FORMAT, **manifest}, file_, indent=1)
        file_.flush()
        os.fsync(file_.fileno())
    new.replace(corpus / MANIFEST)
    sweep(corpus, manifest["segments"])


def _settle(file: Path) -> None:
    with file.open("rb") as here:
        os.fsync(here.fileno())


@contextmanager
def swept(corpus: Path) -> Iterator[None]:
    """In the end no segment is there that the state does not name, also where what made it was stopped."""
    try:
        yield
    finally:
        sweep(corpus, read_manifest(corpus)["segments"] if (corpus / MANIFEST).is_file() else [])


def sweep(corpus: Path, keep: Sequence[str]) -> None:
    """Removes all segments but these: older ones, and those of imports that were killed."""
    for folder in corpus.glob("segment-*"):
        if folder.name not in keep:
            shutil.rmtree(folder)
