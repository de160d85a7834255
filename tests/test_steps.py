import re
from pathlib import Path

import pytest
from dumps import comment, post, write

from evaluation.cli import main
from evaluation.console import Live
from evaluation.steps import Steps


def test_bytes_are_told_as_megabytes_with_rows_and_their_speed(capsys: pytest.CaptureFixture[str]) -> None:
    with Live() as live:
        steps = Steps(live)
        steps("rows", 0, None)
        steps("read", 0, 5_000_000)
        steps("rows", 7000, 7000)
        steps("read", 5_000_000, 5_000_000)
    first, last = capsys.readouterr().out.splitlines()
    assert first == "read (MB): 0 of 5 0 rows"
    assert re.fullmatch(r"read \(MB\): 5 of 5 7,000 rows, [\d,]+ rows/s", last)


def test_a_stream_without_a_size_says_its_rows(capsys: pytest.CaptureFixture[str]) -> None:
    with Live() as live:
        steps = Steps(live)
        steps("rows", 1024, None)
        steps("read", 0, None)
    assert "1,024 rows" in capsys.readouterr().out


def test_the_import_command_shows_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = write(tmp_path / "d.ndjson", post("a"), *(comment(str(n), "a") for n in range(1500)))
    assert main(["import", str(source), "-o", str(tmp_path / "c"), "--embedder", "bag"]) == 0
    shown = capsys.readouterr().out
    assert "read (MB): 1 of 1 1,501 rows" in shown and "/s" in shown.partition("encode")[2]
