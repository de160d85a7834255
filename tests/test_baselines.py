"""Baselines: earlier data only, none of the target's own scores, a declared and counted fallback."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from small_world import NEW, SmallCorpus, SmallStore, said, slot, small_store

from evaluation import baselines
from evaluation.baselines import BASELINES, PHRASE, Known
from memory.message import Thread


def known(id: str = "t1_z", store: SmallStore | None = None, hindsight: bool = False) -> Known:
    store, here = store or small_store(), slot(id)
    cut = store.corpus.thread(here.thread).before(here.time, answering=here.parent)
    past = store.history(here.author, before=here.time)
    return Known(here, "place", cut if hindsight else cut.masked(), past, store.corpus, 7)


def guess(name: str, at: Known) -> tuple[object, bool]:
    [baseline] = [b for b in BASELINES if b.name == name]
    return asyncio.run(baseline.guess(at))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("majority", "positive"),  # comments: 3 0 2
        ("community_majority", "positive"),
        ("own_majority", "positive"),  # 3 2
        ("one", 1.0),
        ("median", 2.0),
        ("mean", 5 / 3),
        ("community_median", 2.0),
        ("community_mean", 5 / 3),
        ("own_median", 2.5),
        ("own_mean", 2.5),
        ("parent_copy", "says who"),
        ("last_copy", "says who"),
        ("own_last", "green tea is healthy enough"),
        ("phrase", PHRASE),
    ],
)
def test_each_guess_is_made_from_what_was_earlier(name: str, value: object) -> None:
    assert guess(name, known()) == (value, False)


def test_the_nearest_own_reply_is_the_one_most_like_the_parent() -> None:
    assert guess("own_nearest", known("t1_x")) == ("green tea is best for me", False)


def test_random_replies_come_from_the_right_person_and_repeat_with_the_seed() -> None:
    at = known()
    own, other = guess("own_random", at), guess("other_random", at)
    assert own[0] in {m.text for m in at.replies} and own == guess("own_random", at)
    assert other[0] in ("Question\n\nwhich tea is best", "no, black tea") and other == guess("other_random", at)
    assert len({guess("own_random", replace(at, seed=n)) for n in range(30)}) > 1


def test_hindsight_reads_the_parents_score_and_nobody_else_can() -> None:
    assert guess("parent_score", known(hindsight=True)) == (5.0, False)
    assert guess("parent_label", known(hindsight=True)) == ("positive", False)
    assert all(m.score is None for m in known().thread.messages)
    assert {b.name for b in BASELINES if b.hindsight} == {"parent_score", "parent_label"}


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda b: b.name)
def test_nothing_at_or_after_the_target_and_no_score_of_its_thread_changes_a_guess(baseline: object) -> None:
    store = small_store()
    later = Thread.of("t3_later", [said("t3_later", "t3_later", None, "ann", 130, "canary", 9_999)])
    other_scores = Thread.of("t3_new", [m if m.time >= 130 else replace(m, score=-999) for m in NEW.messages])
    other_scores = other_scores.plus(replace(NEW["t1_z"], text="canary", score=9_999))
    changed = SmallStore(SmallCorpus(store.corpus.threads["t3_old"], other_scores, later))
    if not baseline.hindsight:
        assert guess(baseline.name, known()) == guess(baseline.name, known(store=changed))
    assert "canary" not in str(guess(baseline.name, known(store=changed)))


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda b: b.name)
def test_with_nothing_earlier_a_guess_falls_back_and_says_so(baseline: object) -> None:
    first = Thread.of("t3_new", [said("t3_new", "t3_new", None, "cat", 100, None, None), NEW["t1_x"]])
    first = Thread.of("t3_new", [replace(m, title="") for m in first.messages])
    store = SmallStore(SmallCorpus(first))
    value, fallback = guess(baseline.name, known("t1_x", store))
    assert value == {"label": "positive", "number": 1.0, "text": PHRASE}[baseline.kind]
    assert fallback == (baseline.name not in ("one", "phrase"))


def test_a_person_without_scores_gets_the_communitys_and_it_is_counted() -> None:
    newcomer = said("t1_new", "t3_new", "t1_z", "dan", 135, "hello", 1)
    store = SmallStore(SmallCorpus(small_store().corpus.threads["t3_old"], NEW.plus(newcomer)))
    here = replace(slot("t1_z"), id="t1_new", author="dan", time=135, parent="t1_z")
    at = Known(here, "place", NEW.before(135).masked(), store.history("dan", before=135), store.corpus, 1)
    assert guess("own_mean", at) == (5 / 3, True)
    assert guess("community_mean", at) == (5 / 3, False)
    assert baselines.fill(at) == 2.0


def test_a_tie_is_positive() -> None:
    tied = Thread.of("t3_old", [said(f"t1_{n}", "t3_old", "t3_old", "bob", n, "x", n) for n in (0, 1)])
    assert guess("majority", known(store=SmallStore(SmallCorpus(tied, NEW)))) == ("positive", False)


def test_names_are_unique_and_scores_are_whole_arrays() -> None:
    assert len({b.name for b in BASELINES}) == len(BASELINES)
    assert known().own.dtype == np.int64
