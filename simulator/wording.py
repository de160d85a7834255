"""The words of a prompt: template files with a closed set of placeholders, which a folder of one's own may replace.

A template is plain text. {name} stands for data that is put in once and never looked at again, so nothing that people
wrote can be a placeholder. A line whose placeholders are all empty is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from memory.errors import BadInput, Missing, clip

VERSION = "6"  # of the packaged templates: raised whenever their words change (a test holds it)
LONGEST = 20_000  # bytes of a template
BESIDE = ("asks", "bench")  # folders in one's own, whose templates are read by other layers

HOLDS = {  # template -> the placeholders that it must hold, each; others are not known
    "system": (),
    "scene": ("thread", "persona", "memory"),
    "thread": ("community", "messages"),
    "opening": ("speaker", "words"),
    "reply": ("speaker", "answered", "words"),
    "persona": ("author", "card"),
    "about": ("about",),
    "notes": ("items",),
    "own": ("items",),
    "others": ("items",),
    "item": ("date", "words"),
    "judged": ("author", "words"),
    "post": ("author", "place", "topic"),
}
_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Wording:
    """The templates of a run. `parts`: by name, each line cut at its placeholders, which stand at odd positions."""

    version: str
    hash: str
    parts: Mapping[str, tuple[tuple[str, ...], ...]]

    @property
    def stamp(self) -> str:
        """What names the wording in a prompt's hash."""
        return f"{self.version}:{self.hash}"

    def put(self, name: str, **data: str) -> str:
        """Template `name` with `data` in its places."""
        lines = []
        for line in self.parts[name]:
            values = [data[part] for part in line[1::2]]
            if values and not any(values):
                continue
            lines.append("".join(data[part] if at % 2 else part for at, part in enumerate(line)))
        return "\n".join(lines).strip("\n")


@lru_cache(maxsize=8)
def wording(folder: Path | None = None) -> Wording:
    """The packaged templates; those in `folder` (scene.txt, own.txt ...) in place of the packaged ones of that name.

    The version of one's own is the line in its version.txt, or "own".

    Raises:
        Missing: no such folder, or no template in it. BadInput: an unknown file or placeholder, one that is lacking, or
        what is no text; each with file and line.
    """
    home, version = Path(__file__).with_name("templates"), VERSION
    if folder is not None:
        if not any(folder.glob("*.txt")) and not any(folder.glob("*/*.txt")):
            raise Missing(f"{folder} has no templates; copy some of {home} there and change them")
        for other in sorted(file.parent.name for file in folder.glob("*/*.txt") if file.parent.name not in BESIDE):
            raise BadInput(f"{folder / other} is no folder of templates that is read; those are {', '.join(BESIDE)}")
        own = folder / "version.txt"
        version = (clip(_read(own).strip(), 40) if own.exists() else "") or "own"
    return worded(version, templates(home, HOLDS, folder, ("version.txt",)))


def worded(version: str, texts: Mapping[str, str]) -> Wording:
    """Templates by name as a Wording."""
    content = "\x1e".join(f"{name}\x1f{texts[name]}" for name in sorted(texts))
    parts = {name: tuple(tuple(_PLACE.split(line)) for line in text.split("\n")) for name, text in texts.items()}
    return Wording(version, sha256(content.encode()).hexdigest()[:12], parts)


def templates(
    home: Path, holds: Mapping[str, tuple[str, ...]], folder: Path | None, beside: tuple[str, ...] = ()
) -> dict[str, str]:
    """Name -> text for the names of `holds`: of `folder` where it has the file, else of `home`. A placeholder that ends
    in "?" may be left out. `beside`: other files that may be in `folder`.

    Raises: BadInput, as wording does.
    """
    texts = {name: _read(home / f"{name}.txt") for name in holds}
    known = sorted({f"{name}.txt" for name in holds} | {*beside})
    for file in sorted(folder.glob("*.txt")) if folder else ():
        if file.name not in known:
            raise BadInput(f"{file} is no template that is used; the names are {', '.join(known)}")
        if file.name not in beside:
            texts[file.stem] = _checked(file, _read(file), holds[file.stem])
    return texts


def _read(file: Path) -> str:
    raw = file.read_bytes()
    if len(raw) > LONGEST:
        raise BadInput(f"{file} has {len(raw):,} bytes; a template has at most {LONGEST:,}")
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n").strip("\n")
    except UnicodeDecodeError as error:
        raise BadInput(f"{file} byte {error.start} is not UTF-8; save it as UTF-8 text") from None


def _checked(file: Path, text: str, holds: tuple[str, ...]) -> str:
    names = [name.removesuffix("?") for name in holds]
    listed = ", ".join(f"{{{name}}}" for name in names) or "none"
    for number, line in enumerate(text.split("\n"), 1):
        for name in _PLACE.findall(line):
            if name not in names:
                raise BadInput(f"{file} line {number}: {{{name}}} is no placeholder of this template; it has {listed}")
    lacking = [name for name in holds if not name.endswith("?") and f"{{{name}}}" not in text]
    if lacking:
        raise BadInput(f"{file} lacks {{{lacking[0]}}}: a prompt would leave it out in silence; it needs {listed}")
    return text
