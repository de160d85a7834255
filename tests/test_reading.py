import hashlib
from pathlib import Path

import pytest
import zstandard

from memory.errors import BadInput
from memory.reading import CHUNK, PLAIN, Source, Tally


def lines(file: Path, **options: bool) -> tuple[list[bytes], Tally]:
    tally = Tally()
    return [line for _, line, _ in Source(file, **options).lines(tally)], tally


def frame(data: bytes) -> bytes:
    """As the real dumps: a window of 2^31, no content size."""
    settings = zstandard.ZstdCompressionParameters.from_level(1, window_log=31, write_checksum=True)
    packer = zstandard.ZstdCompressor(compression_params=settings).compressobj()
    return packer.compress(data) + packer.flush()


def test_lines_end_at_newlines_alone_and_are_numbered_from_one(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes("a\u2028b\r\n\nc\x0bd\u0085".encode())
    assert list(Source(file).lines(Tally())) == [
        (1, "a\u2028b\r".encode(), True),
        (2, b"", True),
        (3, "c\x0bd\u0085".encode(), False),
    ]


def test_no_character_is_harmed_at_the_edge_of_a_chunk(tmp_path: Path) -> None:
    for name, step in (("plain", PLAIN), ("packed", CHUNK)):
        text = ("x" * (step - 1) + "é" + "y" * 10 + "\n") * 3
        (tmp_path / name).write_bytes(text.encode() if name == "plain" else frame(text.encode()))
        assert b"\n".join(lines(tmp_path / name)[0]).decode() == text.rstrip("\n")


def test_frames_behind_each_other_are_read_to_the_last_by_their_first_bytes_not_the_name(tmp_path: Path) -> None:
    file = tmp_path / "dump.json"
    file.write_bytes(frame(b"a\nb") + frame(b"c\n") + frame(b"d\n"))
    assert lines(file)[0] == [b"a", b"bc", b"d"]


def test_a_cut_archive_gives_its_whole_lines_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "cut.zst"
    file.write_bytes(frame(b"first\n") + frame(b"".join(b"%064d\n" % hash(str(i)) for i in range(9000)))[:-2000])
    found, tally = lines(file)
    assert found[0] == b"first"
    assert "ends in the middle" in tally.problems[0] and "allow_truncated" in tally.problems[0]
    found, tally = lines(file, allow_truncated=True)
    assert not tally.problems and tally.total("dropped") == 1


def test_a_damaged_archive_gives_what_was_before_the_damage_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "bad.zst"
    file.write_bytes(frame(b"first\n") + b"this is no frame")
    found, tally = lines(file)
    assert found == [b"first"]
    assert "is damaged" in tally.problems[0]


def test_the_hash_is_of_the_file_itself(tmp_path: Path) -> None:
    file = tmp_path / "a.zst"
    file.write_bytes(frame(b"a\n"))
    source = Source(file)
    list(source.lines(Tally()))
    assert source.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert source.done == file.stat().st_size


def test_a_file_that_is_one_endless_line_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a"
    with file.open("wb") as sparse:
        sparse.truncate(1 << 27)
    with pytest.raises(BadInput, match=r"before byte 68157440 is longer than 64 MB"):
        lines(file)
