"""A model file cut to its first layers: the same tokens and the same server, a fraction of the arithmetic.

For measurements that count tokens: its words are worth nothing. Reads GGUF, version 2 and 3.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

TEXT, LIST = 8, 9  # kinds of values; the others have so many bytes:
BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


class Reading:
    """A place in the bytes of a file."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def number(self, form: str) -> Any:
        [found] = struct.unpack_from(f"<{form}", self.data, self.at)
        self.at += struct.calcsize(f"<{form}")
        return found

    def text(self) -> bytes:
        size = self.number("Q")
        self.at += size
        return self.data[self.at - size : self.at]

    def skip(self, kind: int) -> None:
        if kind == TEXT:
            self.text()
        elif kind == LIST:
            of, size = self.number("I"), self.number("Q")
            for _ in range(size):
                self.skip(of)
        else:
            self.at += BYTES[kind]


def shallow(source: Path, target: Path, layers: int = 1) -> None:
    """Writes to `target` what `source` has, without the layers after the first `layers`."""
    found = Reading(source.read_bytes())
    magic, version, tensors, fields = (found.number(form) for form in "IIQQ")
    about, align = [], 32
    for _ in range(fields):
        start, key, kind = found.at, found.text(), found.number("I")
        value = found.at
        found.skip(kind)
        if key == b"general.alignment":
            align = int.from_bytes(found.data[value : found.at], "little")
        deep = key.endswith(b".block_count")
        about.append(found.data[start:value] + (struct.pack("<I", layers) if deep else found.data[value : found.at]))
    infos = []
    for _ in range(tensors):
        start, name, dimensions = found.at, found.text(), found.number("I")
        found.at += 8 * dimensions + 4  # and the type
        info = found.data[start : found.at]
        infos.append((found.number("Q"), name, info))
    base = found.at + -found.at % align
    infos.sort()
    ends = [at for at, *_ in infos[1:]] + [len(found.data) - base]
    kept, size, content = [], 0, []
    for (at, name, info), end in zip(infos, ends, strict=True):
        if name.startswith(b"blk.") and int(name.split(b".")[1]) >= layers:
            continue
        part = found.data[base + at : base + end]
        kept.append(info + struct.pack("<Q", size))
        content.append(part + bytes(-len(part) % align))
        size += len(content[-1])
    head = struct.pack("<IIQQ", magic, version, len(kept), fields) + b"".join((*about, *kept))
    target.write_bytes(head + bytes(-len(head) % align) + b"".join(content))
