"""Voices: planted worlds in which everybody keeps to themselves, all speak as one, or somebody repeats themselves."""

from random import Random

import pytest
from replies import reply
from small_world import SmallCorpus, SmallStore, said

from evaluation.analysis.habits import consistency, repetition
from evaluation.analysis.merging import merging, spread, variance_ratio
from evaluation.analysis.voice import style
from evaluation.likeness import threes
from evaluation.rows import Scored
from evaluation.sheet import Sheet
from evaluation.stats import Interval
from memory.message import Thread

OWN = {"ann": "abc", "bob": "hij", "cat": "opq"}  # letters that nobody else uses


def text(letters: str, dice: Random, words: int = 12) -> str:
    return " ".join("".join(dice.choices(letters, k=3)) for _ in range(words))


def world() -> SmallStore:
    dice = Random(3)
    past = [
        said(f"t1_{user}{n}", "t3_past", "t3_past", user, 10 + n, text(letters, dice), 1)
        for user, letters in OWN.items()
        for n in range(6)
    ]
    return SmallStore(SmallCorpus(Thread.of("t3_past", [said("t3_past", "t3_past", None, "dan", 1, "post", 1), *past])))


def talk(voice: dict[str, str], turns: int = 24, **more: object) -> list[Scored]:
    """A thread in which people write with their own letters, and are simulated with those of `voice`."""
    dice, names = Random(5), list(OWN)
    return [
        reply(names[n % 3], text(voice[names[n % 3]], dice), text(OWN[names[n % 3]], dice), n + 1, **more)
        for n in range(turns)
    ]


def column(sheet: Sheet, name: str) -> list[float]:
    at = [c.name for c in sheet.columns].index(name)
    return [v.mean for row in sheet.rows if isinstance(v := row[at], Interval)]


def test_who_keeps_their_letters_is_as_near_to_their_past_as_the_real_person() -> None:
    own, others = style(talk(OWN), world())
    assert max(map(abs, column(own, "gap"))) < 0.2 and max(map(abs, column(others, "gap"))) < 0.2
    assert min(column(others, "said")) > 0.9


def test_who_speaks_with_one_voice_is_far_from_their_past_and_near_to_the_others() -> None:
    own, others = style(talk(dict.fromkeys(OWN, "vwx")), world())
    assert min(column(own, "gap")) > 0.5 and max(column(others, "gap")) < -0.5


def test_somebody_without_a_past_is_counted_but_not_measured() -> None:
    own, _ = style([reply("new", "some words of mine", "what was written", 1)], world())
    assert own.rows == () and "no reply can be compared" in own.about


def test_a_world_of_a_single_voice_has_a_variance_ratio_near_1() -> None:
    one = merging(many(dict.fromkeys(OWN, "abchijopq")))
    [simulated], [real] = column(one, "said"), column(one, "true")
    assert 0.9 < simulated < 1.1 and real > 3
    [kept], [real] = column(merging(many(OWN)), "said"), column(merging(many(OWN)), "true")
    assert kept == pytest.approx(real, rel=0.2)


def many(voice: dict[str, str], threads: int = 12) -> list[Scored]:
    dice, names = Random(11), list(OWN)
    return [
        reply(names[n % 3], text(voice[names[n % 3]], dice), text(OWN[names[n % 3]], dice), n + 1, thread=f"t3_{t}")
        for t in range(threads)
        for n in range(8)
    ]


def test_the_interval_of_merging_is_the_same_for_a_seed() -> None:
    rows = many(OWN, 4)
    assert merging(rows, seed=4) == merging(rows, seed=4) != merging(rows, seed=5)


def test_the_ratio_by_hand() -> None:
    # Two speakers at 0 and 2 with messages -1 1 and 1 3: between 4 on 1, within 4 on 2.
    points = [threes("x") * 0 + value for value in (-1.0, 1.0, 1.0, 3.0)]
    one = spread([p[:1] for p in points], ["a", "a", "b", "b"])
    assert (one.between, one.among, one.within, one.left) == (4, 1, 4, 2)
    assert variance_ratio([one]) == 2 and variance_ratio([one, one]) == 2
    assert variance_ratio([spread([p[:1] for p in points], list("abcd"))]) != variance_ratio([one])  # nan: none twice


def test_repetition_is_the_share_of_known_runs_of_words() -> None:
    first, second = "one two three four five", "one two three four six"
    bob = reply("bob", first, "a b c d e", 2)
    rows = [reply("ann", first, "a b c d", 1), bob, reply("ann", second, "a b c d e", 3)]
    sheet = repetition(rows)
    assert column(sheet, "said") == [0, 0, 0.5] and column(sheet, "true") == [0, 0, 0.5]
    assert repetition([reply("ann", "so it is", "well", 1)]).rows == ()


def test_lines_nearer_to_their_own_memories_are_consistent() -> None:
    def shown(rows: list[Scored]) -> list[Scored]:
        from dataclasses import replace

        return [replace(row, recalled=tuple(f"t1_{row.user}{n}" for n in range(3))) for row in rows]

    kept = consistency(shown(talk(OWN)), world())
    lost = consistency(shown(talk({"ann": OWN["bob"], "bob": OWN["cat"], "cat": OWN["ann"]})), world())
    assert min(column(kept, "said")) == 1 and column(kept, "gap") == [0] * 6
    assert max(column(lost, "said")) <= 0.5 and min(column(lost, "true")) == 1
    assert consistency(talk(OWN), world()).rows == ()


def test_what_was_not_earlier_is_no_memory() -> None:
    late = talk(OWN, time=5, recalled=("t1_ann0", "t1_bob0"))
    assert consistency(late, world()).rows == ()
