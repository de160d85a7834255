import os
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import tokens
from memory.tokens import clip_tokens, count

WORDS = "The bicycle is older than the road it stands on, isn't it? "


def test_counts_are_those_of_o200k_base() -> None:
    assert count("") == 0
    assert count("hello world") == 2
    assert count("antidisestablishmentarianism") == 6
    assert count("漢字") == 2


def test_special_tokens_are_only_text() -> None:
    text = "<|endoftext|> and <|endofprompt|>"
    assert count(text) > 4
    assert clip_tokens(text, 100) == text
    assert clip_tokens(text * 50, 9).startswith("<|")


def test_a_text_that_fits_comes_back_unchanged() -> None:
    assert clip_tokens(WORDS, count(WORDS)) == WORDS
    assert clip_tokens(WORDS, count(WORDS), "end") == WORDS


def test_start_and_end_are_kept_as_asked() -> None:
    text = WORDS * 20
    head, tail = clip_tokens(text, 30), clip_tokens(text, 30, "end")
    assert text.startswith(head) and text.endswith(tail)
    assert count(head) == 30 and count(tail) == 30


def test_nothing_is_left_of_a_limit_of_zero() -> None:
    assert clip_tokens(WORDS, 0) == "" and clip_tokens(WORDS, -3, "end") == ""


def test_no_character_is_cut_in_two() -> None:
    text = "👩‍👩‍👧‍👦🏳️‍🌈漢字と仮名𓀀𓀁" * 30
    for limit in range(1, 25):
        assert text.startswith(clip_tokens(text, limit))
        assert text.endswith(clip_tokens(text, limit, "end"))


def test_lone_surrogates_are_counted_and_come_back_sendable() -> None:
    broken = "half an emoji \ud83d here"
    assert count(broken) == count("half an emoji \ufffd here")
    assert clip_tokens(broken, 50) == "half an emoji \ufffd here"
    clip_tokens("\udc00" * 100, 7).encode()


def test_a_run_of_spaces_too_long_for_the_regex_is_counted() -> None:
    assert 5_000 < count(" " * 1_000_000) < 20_000
    assert clip_tokens(" " * 1_000_000, 3, "end").isspace()


def test_counting_in_pieces_changes_nothing_between_words() -> None:
    text = WORDS * (3 * tokens.PIECE // len(WORDS))
    assert count(text) == len(tokens._encoding().encode_ordinary(text))


@pytest.mark.parametrize("keep", ["start", "end"])
def test_a_long_text_costs_no_more_than_what_is_kept(keep: str) -> None:
    text = WORDS * 20_000  # 1.2 MB: encoding all of it takes 100 ms and more
    count("warm")
    start = time.process_time()
    for _ in range(20):
        clip_tokens(text, 50, keep)  # type: ignore[arg-type]
    assert time.process_time() - start < 1.0


def test_many_threads_share_one_table_and_leave_the_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "mine")
    tokens._load.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(count, ["hello world"] * 64)) == {2}
    assert tokens._load.cache_info().misses == 1
    assert os.environ["TIKTOKEN_CACHE_DIR"] == "mine"


@settings(deadline=None, max_examples=150)
@given(st.text(), st.integers(0, 40), st.sampled_from(["start", "end"]))
def test_a_cut_is_within_its_limit_and_of_the_text(text: str, limit: int, keep: str) -> None:
    cut = clip_tokens(text, limit, keep)  # type: ignore[arg-type]
    assert count(cut) <= limit
    assert text.startswith(cut) if keep == "start" else text.endswith(cut)
