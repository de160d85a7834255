"""Likeness at a glance: a person's own manner is nearer to them than another's."""

from evaluation.likeness import FEW, LATEST, likeness

THINGS = ("the new chain", "my bike", "rain", "this whole thread", "that song", "cats", "the answer above", "coffee")
SHOUTING = [f"WOW {thing} IS GREAT!!! LOVE IT!!!{' SO MUCH!!!' * (n % 3)}" for n, thing in enumerate(THINGS)]
DRY = [f"The {n} results are, on balance, consistent with the earlier hypothesis." for n in range(8)]


def test_ones_own_manner_is_usual_and_anothers_is_not() -> None:
    own = likeness("WOW the old chain IS GREAT!!! LOVE IT!!!", SHOUTING)
    other = likeness(DRY[0], SHOUTING)
    assert own is not None and other is not None
    assert other == 0.0 and own > 0.3


def test_it_lies_between_0_and_1_and_is_half_where_all_are_the_same() -> None:
    assert likeness("the same words", ["the same words"] * 9) == 0.5


def test_a_person_of_few_messages_has_no_manner() -> None:
    assert likeness("anything", SHOUTING[: FEW - 1]) is None
    assert likeness("anything", SHOUTING[:FEW]) is not None


def test_only_the_latest_messages_count() -> None:
    assert likeness(DRY[0], SHOUTING * 9 + DRY * 7) == likeness(DRY[0], (SHOUTING * 9 + DRY * 7)[-LATEST:])


def test_a_text_without_letters_has_a_likeness() -> None:
    assert likeness("", ["", "", "", "", "\ud800"]) is not None
