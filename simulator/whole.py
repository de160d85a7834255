"""Files of lines that a kill or a full disk leaves whole: a line is added as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def add(fd: int, line: bytes, kept: str, file: str) -> int:
    """Appends `line` to `fd`, of `file`; returns the byte where it begins. Where processes share the file, the caller
    holds a lock on it. Raises OSError for a full disk, which says that all `kept` before are kept."""
    start = os.fstat(fd).st_size
    try:
        written = os.write(fd, line)
        while written < len(line):  # a disk that is full takes a part, then says so
            written += os.write(fd, line[written:])
    except OSError as error:
        os.ftruncate(fd, start)
        raise OSError(error.errno, f"{error.strerror}; all {kept} before are kept", file) from None
    return start


def note(file: Path, line: bytes, kept: str) -> None:
    """The same, for a file that is opened for this line alone and made if need be."""
    fd = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        add(fd, line, kept, str(file))
    finally:
        os.close(fd)


def lines(file: Path) -> list[bytes]:
    """Those that are whole; half of one at the end is left out. [] where there is no such file."""
    return file.read_bytes().split(b"\n")[:-1] if file.exists() else []


def cut(file: Path) -> None:
    """Takes away what a kill left of the last line; nothing where there is no such file."""
    if file.exists():
        os.truncate(file, file.read_bytes().rfind(b"\n") + 1)
