"""The orders of a segment's rows: by id, by thread, and everybody's by time."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from memory.segment import ALL
from memory.shares import MOST, Filed, eights, ordered, shares, taken, text_order
from memory.stored import POST, Array


def head(file: BinaryIO, kind: np.dtype[Any], length: int) -> None:
    """The beginning of a .npy file; the numbers follow as they are."""
    npy.write_array_header_1_0(file, {"descr": npy.dtype_to_descr(kind), "fortran_order": False, "shape": (length,)})


def arrange(folder: Path, heard: int, most: int = MOST) -> None:
    """Writes by_id, by_thread, threads and all_* of the rows in `folder`, of which the first `heard` are people's
    words; `most` of them are sorted together, see shares()."""
    held = np.load(folder / "rows.npy", mmap_mode="r")
    rows, scratch = np.asarray(held), folder / "sorting"

    def release() -> None:
        held._mmap.madvise(mmap.MADV_DONTNEED)

    def ids(at: Array) -> Callable[[Array], Array]:
        return lambda some: taken(rows["id"], at[some], release)

    with (folder / "by_id.npy").open("wb") as file:
        head(file, np.dtype(np.int32), len(rows))
        with closing(Filed.of(rows["id"], scratch, release, lambda some: eights(some)[:, 0])) as begins:
            for at in shares(begins, most):
                file.write(at[text_order(taken(rows["id"], at, release))].astype(np.int32).tobytes())
    with (folder / "by_thread.npy").open("wb") as file, (folder / "threads.npy").open("wb") as codes:
        head(file, np.dtype(np.int32), len(rows))
        head(codes, np.dtype(np.int32), len(rows))
        with closing(Filed.of(rows["thread"], scratch, release)) as threads:
            for at in shares(threads, most):
                order = ordered(ids(at), threads.all[at], taken(rows["time"], at, release))
                file.write(at[order].astype(np.int32).tobytes())
                codes.write(threads.all[at[order]].astype(np.int32).tobytes())
    with ExitStack() as stack:
        times = stack.enter_context(closing(Filed.of(rows["time"], scratch, release)))
        files = {name: stack.enter_context((folder / f"all_{name}.npy").open("wb")) for name in ALL}
        for name, kind in ALL.items():
            head(files[name], np.dtype(kind), len(rows))
        for share in shares(times, most):
            found = taken(rows, share, release)
            order = ordered(found["id"].__getitem__, found["time"])
            found, at = found.take(order), share[order]
            made = {name: found[name] for name in ALL if name not in ("row", "speaks", "post")}
            made |= {"row": at, "speaks": at < heard, "post": found["flags"] & POST != 0}
            for name, kind in ALL.items():
                files[name].write(made[name].astype(kind).tobytes())
