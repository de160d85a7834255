"""One writer at a time: a lock on a folder that fails at once and names who holds it. It ends with its process."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory.errors import BadInput, Busy, clip

FILE = ".lock"


@contextmanager
def held(folder: Path, command: str) -> Iterator[None]:
    """Holds `folder` (made if need be) for `command` until the block ends or the process dies, kill -9 included.

    Raises:
        BadInput: it is a file.
        Busy: another process, or another block of this one, holds it; names its command, pid and since when.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise BadInput(f"{folder} is a file, or lies under one; name a folder") from None
    with (folder / FILE).open("a+", encoding="utf-8") as file:
        _lock(file.fileno(), folder)
        since = time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())
        file.truncate(0)
        file.write(json.dumps({"command": command, "pid": os.getpid(), "since": since}))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def free(folder: Path) -> None:
    """Raises Busy where somebody holds `folder`; whoever asks does not hold it, and makes nothing."""
    try:
        file = (folder / FILE).open("r+", encoding="utf-8")
    except FileNotFoundError:
        return
    with file:
        _lock(file.fileno(), folder)


def _lock(fd: int, folder: Path) -> None:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Busy(f"{folder} is in use by {_holder(folder)}; wait until it ends, or stop it") from None


def _holder(folder: Path) -> str:
    try:
        who = json.loads((folder / FILE).read_text(encoding="utf-8"))
        return f"{clip(str(who['command']))!r}, process {who['pid']}, since {who['since']} UTC"
    except (ValueError, TypeError, KeyError):  # it has the lock and is just writing its name
        return "another process"
