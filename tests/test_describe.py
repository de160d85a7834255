import json
from pathlib import Path

import pytest
from dumps import START, comment, imported, post
from hypothesis import given
from hypothesis import strategies as st

from evaluation.cli import main
from evaluation.description import bars
from memory import sample
from memory.corpus import Corpus
from memory.describe import Community, describe, grouped, limits
from memory.errors import BadInput
from memory.importing import import_corpus

ROWS = (
    post("a", time=0),
    comment("b", "a", time=1),
    comment("c", "a", "t1_b", author="ann", time=2, score=None),
    comment("d", "a", "t1_c", author="[deleted]", body="[removed]", time=3),
    comment("e", "gone", author="bob", time=9, subreddit="cars"),
    comment("f", "a", author="AutoModerator", time=1),
)


def test_everything_is_counted_by_hand(tmp_path: Path) -> None:
    imported(tmp_path, *ROWS)
    found = describe(Corpus.open(tmp_path / "corpus"), [(1, 1), (2, 1), (2, 2)])
    assert (found.messages, found.posts, found.comments, found.stand_ins) == (7, 2, 5, 1)
    assert (found.with_words, found.without_author, found.without_score) == (5, 2, 2)
    assert (found.people, found.bots, found.threads, found.communities) == (2, 1, 2, 2)
    assert (found.first, found.last) == (START, START + 9)
    assert found.largest == [Community("bikes", 5, 2, 1), Community("cars", 2, 1, 1)]
    assert found.histories == [("2", 2)]
    assert found.depths == [("0", 2), ("1", 3), ("2", 1), ("3", 1)]
    assert found.sizes == [("2", 1), ("3-4", 0), ("5-9", 1)]
    assert found.enough == [(1, 1, 2), (2, 1, 2), (2, 2, 1)]


def test_replies_of_the_same_second_as_their_parent_are_deeper(tmp_path: Path) -> None:
    imported(tmp_path, post("a"), comment("z", "a", time=5), comment("b", "a", "t1_z", time=5))
    assert describe(Corpus.open(tmp_path / "corpus")).depths == [("0", 1), ("1", 1), ("2", 1)]


def test_the_sample_has_what_its_description_says(tmp_path: Path) -> None:
    import_corpus(sample.paths(), tmp_path / "c", embedder="bag", keep_names=True)
    found = describe(Corpus.open(tmp_path / "c"))
    assert (found.messages, found.people, found.threads, found.communities) == (5189, 540, 642, 3)
    assert found.depths == [
        ("0", 642), ("1", 2278), ("2", 1886), ("3", 309), ("4", 49), ("5-6", 22), ("7-9", 3),
    ]  # fmt: skip
    assert (10, 3, 86) in found.enough
    assert sum(n for _, n in found.histories) == 540


def test_an_empty_corpus_is_described_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imported(tmp_path, b"{}")
    assert main(["describe", str(tmp_path / "corpus")]) == 0
    assert "messages" in capsys.readouterr().out


def test_the_command_prints_tables_with_bars_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imported(tmp_path, *ROWS)
    assert main(["describe", str(tmp_path / "corpus"), "--enough", "2:2"]) == 0
    shown = capsys.readouterr().out
    for part in (
        "bikes",
        "2020-09-13 12:26 UTC",
        "How deep messages stand",
        "at least 2 messages in at least 2 threads",
    ):
        assert part in shown
    assert "█" in shown or "#" in shown
    assert main(["describe", str(tmp_path / "corpus"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["threads"] == 2 and found["enough"] == [[5, 1, 0], [10, 3, 0]] and found["data_hash"]


def test_amounts_of_history_are_read_or_refused() -> None:
    assert limits(["10:3", "7"]) == [(10, 3), (7, 1)]
    for wrong in ("", "x", "3:x", "-1"):
        with pytest.raises(BadInput, match="such as 10:3"):
            limits([wrong])


def test_bars_are_to_scale_and_nothing_that_is_there_vanishes() -> None:
    assert bars([("1", 400), ("2", 100), ("3", 1), ("4", 0)], True) == [
        ("1", 400, "#" * 40),
        ("2", 100, "#" * 10),
        ("3", 1, "#"),
        ("4", 0, ""),
    ]


@given(st.lists(st.integers(0, 1000)))
def test_every_value_is_in_one_group(values: list[int]) -> None:
    assert sum(n for _, n in grouped(values, (0, 1, 2, 5, 10))) == len(values)
