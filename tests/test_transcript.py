"""The transcript: every message once, simulated ones marked, nothing in it that a terminal would obey."""

import unicodedata
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from small_world import NEW, said, turn

from evaluation.transcript import plain, transcript
from memory.message import Thread
from simulator.interventions import changes


def test_the_tree_is_indented_and_simulated_replies_stand_under_the_real_ones() -> None:
    text = transcript(NEW, [turn("reply", "ask her"), turn("reply", None, "t1_x"), turn("impact", "3")])
    assert text == (
        "# Question\n"
        "thread t3_new\n"
        "- [real] cat, 1970-01-01 00:01 UTC\n"
        "  > is green tea healthy\n"
        "  - [real] ann, 1970-01-01 00:01 UTC\n"
        "    > green tea is healthy enough\n"
        "  - [simulated, replay] ann, 1970-01-01 00:01 UTC\n"
        "    (failed: transport)\n"
        "    - [real] bob, 1970-01-01 00:02 UTC\n"
        "      > says who\n"
        "      - [real] ann, 1970-01-01 00:02 UTC\n"
        "        > says my doctor\n"
        "      - [simulated, replay] ann, 1970-01-01 00:02 UTC\n"
        "        > ask her\n"
        "        - [real] bob, 1970-01-01 00:02 UTC\n"
        "          > later than all\n"
    )


def test_words_cannot_pass_for_a_line_of_the_transcript() -> None:
    text = transcript(NEW, [turn("reply", "hm\n- [real] bob, 1970-01-01 00:02 UTC\u2028# Title")])
    assert text.count("\n# ") == 0 and text.count("[real] bob") == 3
    assert "        > - [real] bob, 1970-01-01 00:02 UTC\n        > # Title\n" in text


def test_a_name_is_one_line_too() -> None:
    odd = Thread.of("t3_o", [said("t3_o", "t3_o", None, "a\n- [simulated] b", 1, "x", 1)])
    assert "- [real] a - [simulated] b, 1970" in transcript(odd, [])


def test_what_was_changed_by_hand_stands_above_the_tree() -> None:
    spec = {"interventions": [{"do": "insert", "at": 3, "author": "zed", "text": "Stop.\n- [real] bob\x1b[31m"}]}
    lines = transcript(NEW, [], changes(spec, NEW.id)).splitlines()
    assert lines[2] == "Changed from turn 3 on: zed is made to say: Stop. - [real] bob[31m"
    elsewhere = {"interventions": [{"do": "swap", "at": 1, "person": "ann", "by": "bob", "thread": "t3_else"}]}
    assert changes(elsewhere, NEW.id) == [] and changes({}, NEW.id) == []
    [swap] = changes(elsewhere, "t3_else")
    assert swap == "Changed from turn 1 on: ann is played with the past of bob"


def test_repeats_and_modes_are_told_apart_and_other_threads_left_out() -> None:
    turns = [turn("reply", "one"), turn("reply", "two", repeat=1), turn("reply", "three", mode="rollout")]
    foreign = replace(turn("reply", "four"), slot=replace(turn("reply", "x").slot, thread="t3_else"))
    text = transcript(NEW, [*turns, foreign])
    assert all(f"[simulated, {which}]" in text for which in ("replay", "replay, repeat 1", "rollout"))
    assert "four" not in text


def test_the_opening_of_a_new_thread_is_not_called_real() -> None:
    for origin, which in (("simulated", "simulated opening"), ("inserted", "given opening")):
        thread = Thread.of("free_1", [replace(said("free_1", "free_1", None, "ann", 1, "Hello", 1), origin=origin)])
        assert f"- [{which}] ann, 1970" in transcript(thread, [])


def test_a_simulated_message_without_a_real_counterpart_stands_under_its_parent() -> None:
    free = turn("reply", "new voice")
    free = replace(free, slot=replace(free.slot, id="sim_1", parent="t1_y", time=135))
    assert "      - [simulated, replay] ann, 1970-01-01 00:02 UTC\n        > new voice\n" in transcript(NEW, [free])


def test_deleted_words_and_people_are_said_so_and_orphans_are_kept() -> None:
    odd = Thread.of(
        "t3_o",
        [
            said("t3_o", "t3_o", None, "ann", 1, None, 1),
            replace(said("t1_p", "t3_o", "t1_gone", "x", 2, "hi", 1), author=None),
        ],
    )
    text = transcript(odd, [])
    assert "  (no text)\n" in text and "- [real] somebody, " in text and "  > hi\n" in text


def test_three_thousand_nested_replies_stay_readable() -> None:
    deep = [said("t1_0", "t3_d", None, "ann", 0, "x", 1)]
    deep += [said(f"t1_{n}", "t3_d", f"t1_{n - 1}", "ann", n, "x", 1) for n in range(1, 3_000)]
    text = transcript(Thread.of("t3_d", deep), [])
    assert text.count("[real]") == 3_000 and "(level 2999)" in text
    assert max(map(len, text.splitlines())) < 100


def test_escapes_and_direction_marks_are_gone_or_shown() -> None:
    odd = "\x1b[31mred\x07 \u202egnp.exe \x9b2J a\u200db"
    assert plain(odd) == "[31mred gnp.exe 2J a\u200db"
    assert "<U+001B>" in plain(odd, show=True) and "<U+202E>" in plain(odd, show=True)
    assert plain("a\r\nb\rc\td") == "a\nb\nc    d"
    assert len(plain("e" + "\u0301" * 500)) == 5


@given(st.text())
def test_no_control_character_survives(text: str) -> None:
    found = plain(text)
    assert all(c == "\n" or c in "\u200c\u200d" or unicodedata.category(c) not in ("Cc", "Cf", "Cs") for c in found)
    found.encode()
