"""Prompts as template files: plain text with a closed set of placeholders, which a folder of one's own may replace.

{name} stands for data that is put in once and never looked at again, so nothing that people wrote can be a placeholder.
A line whose placeholders are all empty is left out. Nothing here knows which prompts there are.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from memory.errors import BadInput, clip

LONGEST = 20_000  # bytes of a template
NAMED = "version.txt"  # in a folder of one's own: the line that names its version
_PLACE = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Wording:
    """The templates of a layer. `parts`: by name, each line cut at its placeholders, which stand at odd positions."""

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
            if not values or any(values):
                filled = list(line)
                filled[1::2] = values
                lines.append("".join(filled))
        return "\n".join(lines).strip("\n")


def worded(version: str, texts: Mapping[str, str]) -> Wording:
    """Templates by name as a Wording."""
    content = "\x1e".join(f"{name}\x1f{texts[name]}" for name in sorted(texts))
    parts = {name: tuple(tuple(_PLACE.split(line)) for line in text.split("\n")) for name, text in texts.items()}
    return Wording(version, sha256(content.encode()).hexdigest()[:12], parts)


def version(folder: Path | None, packaged: str) -> str:
    """`packaged` without a folder of one's own; else the line in its version.txt, or "own"."""
    if folder is None:
        return packaged
    file = folder / NAMED
    return (clip(_read(file).strip(), 40) if file.exists() else "") or "own"


def templates(
    home: Path, holds: Mapping[str, tuple[str, ...]] | None, folder: Path | None, beside: tuple[str, ...] = ()
) -> dict[str, str]:
    """Name -> text for the names of `holds`: of `folder` where it has the file, else of `home`. A placeholder that ends
    in "?" may be left out. `holds` None: whatever lies in `home`, each with the placeholders that it has there.
    `beside`: other files that may be in `folder`.

    Raises:
        BadInput: an unknown file or placeholder, one that is lacking, or what is no text; each with file and line.
    """
    texts = {file.stem: _read(file) for file in ((home / f"{name}.txt") for name in holds or _names(home))}
    holds = holds or {name: tuple(dict.fromkeys(_PLACE.findall(text))) for name, text in texts.items()}
    known = sorted({f"{name}.txt" for name in holds} | {*beside})
    for file in sorted(folder.glob("*.txt")) if folder else ():
        if file.name not in known:
            raise BadInput(f"{file} is no template that is used; the names are {', '.join(known)}")
        if file.name not in beside:
            texts[file.stem] = _checked(file, _read(file), holds[file.stem])
    return texts


def _names(home: Path) -> list[str]:
    return sorted(file.stem for file in home.glob("*.txt"))


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
