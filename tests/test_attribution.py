"""Identity: a planted perfect imitator reaches the ceiling, a single voice falls to chance, copies are no style."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from replies import label, reply
from small_world import SmallCorpus, SmallStore, said

from evaluation.analysis.attribution import attribution, ranking
from evaluation.analysis.gain import gain
from evaluation.analysis.habits import copied, copying
from evaluation.analysis.separability import separability
from evaluation.analysis.stylometry import features, stylometry
from evaluation.rows import Scored
from evaluation.sheet import Sheet
from evaluation.stats import Interval
from memory.message import Thread

PEOPLE = [f"u{n}" for n in range(8)]
PET = {user: [f"{user}word{k}" for k in range(4)] for user in PEOPLE}  # words that nobody else uses
COMMON = ["well", "it", "is", "so", "and", "then", "some", "more", "again", "of", "that", "bicycle"]


def text(user: str | None, dice: Random, n: int = 15) -> str:
    own = PET[user] if user else COMMON
    return " ".join(dice.choice(own) if dice.random() < 0.3 else dice.choice(COMMON) for _ in range(n))


def world() -> SmallStore:
    dice = Random(1)
    past = [
        said(f"t1_{user}_{n}", "t3_past", "t3_past", user, 10 + n, text(user, dice), 1)
        for user in PEOPLE
        for n in range(5)
    ]
    return SmallStore(SmallCorpus(Thread.of("t3_past", [said("t3_past", "t3_past", None, "dan", 1, "post", 1), *past])))


def run(voice: str) -> list[Scored]:
    """Four replies of everybody: "same" repeats the real words, "like" imitates them, "one" is nobody's voice."""
    dice, found = Random(2), []
    for n in range(32):
        user = PEOPLE[n % 8]
        true = text(user, dice)
        words = {"same": true, "like": text(user, dice), "one": text(None, dice) + "!"}[voice]
        found.append(reply(user, words, true, n + 1))
    return found


def lines(sheet: Sheet) -> list[dict[str, object]]:
    return [dict(zip([c.name for c in sheet.columns], row, strict=True)) for row in sheet.rows]


def mean(value: object) -> float:
    assert isinstance(value, Interval)
    return value.mean


def test_the_real_words_said_again_reach_the_ceiling_exactly() -> None:
    real, pooled, simulated, all_simulated = lines(attribution(run("same"), world()))
    assert {**real, "texts": ""} == {**simulated, "texts": ""} and {**pooled, "texts": ""} == {
        **all_simulated,
        "texts": "",
    }
    assert mean(real["top1"]) > 0.9 and real["candidates"] == 8 and real["chance"] == pytest.approx(1 / 8)


def test_a_perfect_imitator_reaches_the_ceiling_and_a_single_voice_falls_to_chance() -> None:
    real, _, simulated, _ = lines(attribution(run("like"), world()))
    assert mean(simulated["top1"]) > 0.9 * mean(real["top1"])
    _, _, one, pooled = lines(attribution(run("one"), world()))
    assert mean(one["top1"]) < 0.4 and mean(one["mrr"]) < 0.6 and pooled["judged"] == 8


def test_ties_share_the_first_rank() -> None:
    rank = ranking({"a": "same words", "b": "same words", "c": "other things"}, {"p": ["a", "b", "c"]}, seed=0)
    from evaluation.analysis.attribution import Query

    [found] = rank([Query("a", "p", "same words")])
    assert (found.hit, found.rank, found.candidates) == (0.5, 1.5, 3)


def test_names_and_addresses_do_not_give_anybody_away() -> None:
    from evaluation.analysis.attribution import bare

    assert bare("see https://a.example/u1 or /u/ann and @bob there").split() == ["see", "or", "and", "there"]


def test_the_past_is_cut_before_the_first_turn() -> None:
    early = [replace(row, time=5) for row in run("same")]
    assert "earlier texts" in attribution(early, world()).about


def test_what_is_the_same_cannot_be_told_apart_and_a_tic_can() -> None:
    same, tic = (lines(separability(run(voice)))[0] for voice in ("same", "one"))
    assert mean(same["auc"]) == pytest.approx(0.5)
    assert mean(tic["auc"]) > 0.95 and "!" in str(tic["simulated"])


def test_length_alone_is_shown_beside_the_words() -> None:
    rows = [reply(u, "word " * (20 + n), "word " * (5 + n), n) for n, u in enumerate(PEOPLE * 2)]
    by_length = lines(separability(rows))[1]
    assert mean(by_length["auc"]) > 0.95 and by_length["simulated"] == "longer"


def test_few_people_are_not_judged() -> None:
    rows = run("like")[:4]
    assert separability(rows).rows == () and stylometry(rows[:3], world())[0].rows == ()


def test_the_style_of_the_same_words_is_at_distance_0() -> None:
    [simulated, floor, stranger] = lines(stylometry(run("same"), world())[0])
    assert mean(simulated["delta"]) == 0 < mean(floor["delta"]) and mean(stranger["delta"]) > 0
    delta, one_by_one = stylometry(run("one"), world())
    assert mean(lines(delta)[0]["delta"]) > 0.3
    by_feature = {row["feature"]: row["z"] for row in lines(one_by_one)}
    assert mean(by_feature["exclamation marks"]) > 1 and "words a message" not in by_feature  # all have 15


def test_features_as_by_hand() -> None:
    from evaluation.analysis.stylometry import FEATURES

    found = dict(zip(FEATURES, features("I don't know, maybe you do? Yes!"), strict=True))
    assert found["first person"] == found["second person"] == found["contractions"] == pytest.approx(1 / 7)
    assert found["negations"] == found["hedges"] == pytest.approx(1 / 7)
    assert found["commas"] == found["question marks"] == pytest.approx(1 / 32) and found["capitals"] == 2 / 32
    assert found["new words of 50"] == 1 and found["words a sentence"] == pytest.approx(1.5040774)


@given(st.text(max_size=60))
def test_features_are_finite_for_any_text(anything: str) -> None:
    found = features(anything)
    assert all(value == value and abs(value) < 1e6 for value in found)


def test_the_longest_copy_as_by_hand() -> None:
    assert copied("abcde", ["xxbcdxx"]) == 3 / 5 and copied("ABC", ["zabcz"]) == 1 and copied("abc", ["xyz"]) == 0
    assert copied("", ["abc"]) != copied("", ["abc"])  # nan


@given(st.text("ab", min_size=1, max_size=12), st.text("ab", min_size=1, max_size=12))
def test_the_longest_copy_is_the_longest(text: str, memory: str) -> None:
    runs = [text[a:b] for a in range(len(text)) for b in range(a + 1, len(text) + 1)]
    longest = max((len(run) for run in runs if run in memory), default=0)
    assert copied(text, [memory]) == longest / len(text)


def test_copies_of_what_the_prompt_showed_are_found() -> None:
    store = world()
    shown = store.corpus.message("t1_u0_1").words
    rows = [reply("u0", shown[:20], "QQQQ", 1, recalled=("t1_u0_1",)), reply("u1", "zz", "ZZ", 2)]
    [row] = lines(copying(rows, store))[:1]
    assert mean(row["said"]) == 1 and mean(row["true"]) == 0
    assert lines(copying(rows, store))[1]["measured"] == 0


def test_the_gain_is_paired_with_the_same_slots_of_swapped_memories() -> None:
    own = [label(f"u{n % 6}", True, n, retriever="dense:k=3") for n in range(12)]
    swapped = [label(f"u{n % 6}", n % 2 == 0, n, retriever="swap_user:k=3", run="s") for n in range(12)]
    [sheet] = gain(own, [*swapped, label("u9", True, 99, retriever="swap_user", run="s")])
    accuracy = lines(sheet)[0]
    assert (mean(accuracy["own"]), mean(accuracy["swapped"]), mean(accuracy["gain"])) == (1, 0.5, 0.5)
    assert accuracy["asked"] == 12
    assert gain(own, [replace(row, mode="replay") for row in swapped]) == () == gain(swapped, own)
