"""An import that is killed, and threads of a shape that breaks what recurses or is quadratic."""

import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import msgspec
import pytest
from dumps import comment, imported, post, write

from memory.corpus import Corpus
from memory.errors import Missing
from memory.importing import import_corpus


def test_an_import_that_is_killed_while_encoding_goes_on_where_it_was(tmp_path: Path) -> None:
    rows = [post("a"), *(comment(str(n), "a", body=f"text number {n}") for n in range(2000))]
    source = write(tmp_path / "d.ndjson", *rows)
    again = partial(import_corpus, [source], embedder="bag", keep_names=True)
    code = f"""
import os, signal
from pathlib import Path
from memory.importing import import_corpus
def stop(what, done, total):
    if what == "encode" and 0 < done < total:
        os.kill(os.getpid(), signal.SIGKILL)
import_corpus([Path({str(source)!r})], Path({str(tmp_path / "c")!r}), embedder="bag", keep_names=True, progress=stop)
"""
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with pytest.raises(Missing, match="an import that was not finished"):
        Corpus.open(tmp_path / "c")
    report = again(tmp_path / "c")
    assert report.ok and report.encoded < 2001
    again(tmp_path / "other")
    assert Corpus.open(tmp_path / "c").data_hash == Corpus.open(tmp_path / "other").data_hash
    assert len(list((tmp_path / "c").glob("segment-*"))) == 1


def test_a_thread_of_three_thousand_nested_replies_and_one_of_five_thousand_messages_come_in(tmp_path: Path) -> None:
    deep = [comment(f"d{n}", "deep", f"t1_d{n - 1}" if n else None, time=n + 1) for n in range(3000)]
    wide = [comment(f"w{n}", "wide", f"t1_w{n // 2}" if n > 1 else None, time=n + 1) for n in range(5000)]
    report = imported(tmp_path, post("deep"), post("wide"), *reversed(deep), *wide)
    assert report.ok and not report.changes
    corpus = Corpus.open(tmp_path / "corpus")
    assert len(corpus.thread("t3_deep").path("t1_d2999")) == 3001
    assert len(corpus.thread("t3_wide").messages) == 5001


def test_memory_of_an_import_without_vectors_does_not_grow_with_its_sources(tmp_path: Path) -> None:
    words = "some words of a text that is too long to be kept " * 24
    code = """
import sys
from pathlib import Path
from memory.importing import import_corpus
import_corpus([Path(sys.argv[1])], Path(sys.argv[2]), embedder="none")
[line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(int(line.split()[1]) // 1024)
"""
    peaks = []
    for count in (8_000, 32_000):
        source = tmp_path / f"{count}.ndjson"
        with source.open("wb") as file:
            for n in range(count):
                row = comment(f"{n}", f"{n // 20}", author=f"p{n % 50}", time=n + 1, body=f"{n} @p{n % 7} {words}")
                file.write(msgspec.json.encode(row) + b"\n")
        command = [sys.executable, "-c", code, source, tmp_path / str(count)]
        peaks.append(int(subprocess.run(command, capture_output=True, text=True, check=True).stdout))
    assert peaks[1] < peaks[0] + 14, "28 MB more of texts, all with names that give way"
    assert peaks[1] < 100
