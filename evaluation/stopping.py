"""Ctrl-C and SIGTERM stop a sitting in good order; a second one ends it at once, because a run stands being killed."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

STOPPED = 130  # the exit status after Ctrl-C, as shells have it
FAREWELL = "stopped; all that was finished is kept: the same command goes on from here"


@contextmanager
def stoppable() -> Iterator[None]:
    """Inside an event loop's main task: the first signal of either kind cancels it, the second ends the process."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    inner = signal.getsignal(signal.SIGINT)
    signals = {signal.SIGTERM: signal.getsignal(signal.SIGTERM), signal.SIGINT: inner}
    asked = False

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            os.write(2, f"{FAREWELL}\n".encode())
            os._exit(STOPPED)
        asked = True
        if callable(inner):
            inner(signal.SIGINT, frame)

    if callable(inner):  # not where it is ignored, as in a job in the background
        for number in signals:
            signal.signal(number, stop)
    try:
        yield
    finally:
        if not asked:
            for number, before in signals.items():
                signal.signal(number, before)
