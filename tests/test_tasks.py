"""Tasks: asks that judge or speak, answers read strictly, truths that may be unknown."""

import math
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation import tasks
from evaluation.tasks import generation, impact, sentiment
from memory.errors import BadInput, UnknownName
from memory.message import Message
from simulator.llm import Completion
from simulator.records import Slot, Turn

SLOT = Slot("t3_a", "t1_x", "ann", "t3_a", 100)


def turn(ask: str, completion: Completion | None) -> Turn:
    failure = None if completion else "transport"
    return Turn("r", "replay", SLOT, ask, 0, "fake", "none", 0, "h", (), 3, 1, None, completion, failure)


def message(score: int | None = None, text: str | None = "words") -> Message:
    return Message("t1_x", "t3_a", "t3_a", "ann", 100, text, score)


@pytest.mark.parametrize("name", tasks.names())
def test_a_task_in_the_folder_asks_reads_and_knows_the_truth(name: str) -> None:
    task = tasks.load(name)
    ask = tasks.ask(name)
    assert ask.max_tokens > 0 and "{author}" in ask.question and task.QUESTION.endswith("?")
    assert ask == replace(task.ASK, question=ask.question, examples=ask.examples) and ask.judges == bool(ask.examples)
    assert task.KIND in ("label", "number", "text") and bool(task.ASK.labels) == (task.KIND == "label")
    assert task.read(turn(task.ASK.name, None)) is None
    assert task.detail(turn(task.ASK.name, None)) == {}
    assert task.truth(message(None, None)) is None


def test_an_unknown_task_lists_the_folder() -> None:
    with pytest.raises(UnknownName, match=r"unknown task 'mood'.*generation, impact, sentiment"):
        tasks.load("mood")


def test_examples_of_a_label_task_are_answered_by_its_labels_and_those_of_a_number_by_one() -> None:
    assert [answer for _, answer in tasks.ask("sentiment").examples] == ["negative", "positive"]
    assert [impact.parse(answer) for _, answer in tasks.ask("impact").examples] == [2.0]


def test_a_folder_of_ones_own_words_the_asks_it_has_and_leaves_the_others(tmp_path: Path) -> None:
    (tmp_path / "asks").mkdir()
    (tmp_path / "asks" / "impact.txt").write_text("A liked one,\nits score?\n=> 9\nAnd of what {author} says?\n")
    own = tasks.ask("impact", tmp_path)
    assert own.examples == (("A liked one,\nits score?", "9"),) and own.question == "And of what {author} says?"
    assert tasks.ask("sentiment", tmp_path) == tasks.ask("sentiment")


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("mood.txt", "?", r"mood.txt is no template that is used; the names are generation.txt, impact.txt, sent"),
        ("impact.txt", "A score?\n=> 3\n", r"impact.txt asks nothing after its last example; end it with the"),
        ("impact.txt", "{text}?", r"impact.txt line 1: \{text\} is no placeholder of this template; it has \{author"),
    ],
)
def test_words_of_an_ask_that_cannot_serve_are_refused(tmp_path: Path, file: str, text: str, said: str) -> None:
    (tmp_path / "asks").mkdir()
    (tmp_path / "asks" / file).write_text(text)
    with pytest.raises(BadInput, match=said):
        tasks.ask("impact", tmp_path)


def test_truth_is_the_sign_the_number_and_the_text() -> None:
    assert [sentiment.truth(message(s)) for s in (3, 1, 0, -2)] == ["positive", "positive", "negative", "negative"]
    assert impact.truth(message(-4)) == -4.0
    assert generation.truth(message(text=" hi \n")) == "hi"
    assert generation.truth(message(text=" \n")) is None


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("positive", "positive"),
        (" Negative.", "negative"),
        ("**POSITIVE**", "positive"),
        ("_positive_", "positive"),
        ("'negative'\n\nBecause", "negative"),
        ("Answer: positive", "positive"),
        ("positive, positive", "positive"),
        ("", None),
        ("yes", None),
        ("correct", None),
        ("incorrect", None),
        ("not positive", None),
        ("nonpositive", None),
        ("non-positive", None),
        ("positive-ish", None),
        ("positively", None),
        ("positive or negative", None),
        ("positive/negative", None),
        ("negative, no, positive", None),
        ("positive? No.", None),
        ("positive isn't right", None),
        ("positive isnt right", None),
        ("positive is not right", None),
        ("The answer is positive", None),
        ("<think>positive</think> negative", None),
        ("pоsitive", None),  # Cyrillic o
        ("posi\u200btive", None),
        ("positive " + "word " * 5_000 + "negative", None),
    ],
)
def test_the_label_is_read_only_where_it_opens_the_answer_undenied(text: str, label: str | None) -> None:
    assert sentiment.parse(text) == label


def test_probabilities_sum_case_and_space_variants_and_keep_the_mass() -> None:
    p, mass = sentiment.probability({" positive": math.log(0.5), "Positive": math.log(0.1), "negative": math.log(0.2)})
    assert (p, mass) == (pytest.approx(0.75), pytest.approx(0.8))


def test_first_pieces_of_a_label_count_and_shorter_or_other_words_do_not() -> None:
    found = {"Ġpos": math.log(0.3), "▁Neg": math.log(0.1), "ne": math.log(0.2), "positively": math.log(0.2), "": -1.0}
    p, mass = sentiment.probability(found)
    assert (p, mass) == (pytest.approx(0.75), pytest.approx(0.4))


def test_logprobs_decide_over_the_text_where_the_labels_have_mass() -> None:
    answer = turn("sentiment", Completion("positive", logprobs={"negative": math.log(0.6), "positive": math.log(0.2)}))
    assert sentiment.read(answer) == "negative"
    assert sentiment.detail(answer) == {"path": "logprobs", "p": pytest.approx(0.25), "mass": pytest.approx(0.8)}


def test_below_the_floor_the_text_decides_and_the_mass_is_kept() -> None:
    answer = turn("sentiment", Completion("negative", logprobs={"positive": math.log(0.01), "The": math.log(0.9)}))
    assert sentiment.read(answer) == "negative"
    assert sentiment.detail(answer) == {"path": "text", "p": 1.0, "mass": pytest.approx(0.01)}


def test_without_any_label_in_the_list_there_is_mass_zero_and_no_p() -> None:
    answer = turn("sentiment", Completion("The", logprobs={"The": math.log(0.9)}))
    assert sentiment.read(answer) is None
    assert sentiment.detail(answer) == {"path": "text", "mass": 0.0}


def test_nonsense_log_probabilities_are_no_mass() -> None:
    found = sentiment.probability({"positive": math.inf, "negative": math.nan, " positive": 3.0, "pos": -math.inf})
    assert math.isnan(found[0]) and found[1] == 0.0


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5.0),
        ("-3 points", -3.0),
        ("−2", -2.0),
        ("+7.", 7.0),
        ("I guess 12, maybe 20", 12.0),
        ("1,234", 1234.0),
        ("Score: 2.5", 2.5),
        ("0012", 12.0),
        ("(4)", 4.0),
        ("3-5", 3.0),
        ("user99 gets 4", 4.0),
        ("", None),
        ("nan", None),
        ("inf", None),
        ("-Infinity", None),
        ("ten", None),
        ("1e5", None),
        ("1e999", None),
        ("3rd", None),
        ("50%", None),
        ("7/10", None),
        ("1.2.3", None),
        ("1,2345", None),
        ("10000001", None),
        ("9" * 5_000, None),
        ("٣", None),
    ],
)
def test_the_first_number_of_an_answer_is_the_score_or_nothing(text: str, number: float | None) -> None:
    assert impact.parse(text) == number


def test_a_number_that_the_token_limit_may_have_cut_is_not_read() -> None:
    assert impact.read(turn("impact", Completion("about 12", finish="length"))) is None
    assert impact.read(turn("impact", Completion("12 points", finish="length"))) == 12.0
    assert impact.read(turn("impact", Completion("12", finish="stop"))) == 12.0


def test_a_reply_of_blanks_is_no_reply() -> None:
    assert generation.read(turn("reply", Completion(" \n"))) is None
    assert generation.read(turn("reply", Completion(" hi "))) == "hi"
