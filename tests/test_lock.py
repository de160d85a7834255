import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory.errors import BadInput, Busy
from memory.lock import held


def test_a_second_holder_is_told_at_once_who_has_the_folder(tmp_path: Path) -> None:
    with held(tmp_path, "first"), pytest.raises(Busy, match=rf"'first', process {os.getpid()}, since 20.* UTC"):  # noqa: SIM117
        with held(tmp_path, "second"):
            pass


def test_a_folder_is_free_again_after_its_holder_has_ended_or_failed(tmp_path: Path) -> None:
    with pytest.raises(ValueError), held(tmp_path / "new", "first"):
        raise ValueError
    with held(tmp_path / "new", "second"):
        pass


def test_a_killed_holder_leaves_nothing_that_has_to_be_cleared_away(tmp_path: Path) -> None:
    code = (
        "import os\nfrom pathlib import Path\nfrom memory.lock import held\n"
        f"with held(Path({str(tmp_path)!r}), 'x'):\n os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    with held(tmp_path, "second"):
        pass


def test_a_holder_that_has_not_written_its_name_yet_is_still_a_holder(tmp_path: Path) -> None:
    with held(tmp_path, "first"):
        (tmp_path / ".lock").write_text("")
        with pytest.raises(Busy, match="in use by another process"), held(tmp_path, "second"):
            pass


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="is a file"), held(tmp_path / "file", "x"):
        pass
