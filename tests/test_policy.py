"""A policy is found by its file's name, built from text, and a foreign one by package.module:Class."""

from dataclasses import dataclass

import pytest

import memory.retrievers
from memory import policy
from memory.errors import BadInput, UnknownName

FOLDER = memory.retrievers


def test_a_name_gives_the_policy_of_that_file_with_its_defaults() -> None:
    assert policy.load(FOLDER, "recency") == policy.load(FOLDER, "recency:k=5")


def test_options_are_read_by_the_type_of_their_default() -> None:
    made = policy.load(FOLDER, "bm25:k=8,b=0.5")
    assert (made.k, made.b, type(made.k)) == (8, 0.5, int)


def test_options_given_in_python_win() -> None:
    assert policy.load(FOLDER, "recency:k=8", k=2).k == 2


def test_a_foreign_class_is_loaded_by_its_module() -> None:
    assert repr(policy.load(FOLDER, "tests.test_policy:Mine:k=3")) == "Mine(k=3)"


def test_an_unknown_name_lists_the_folder() -> None:
    with pytest.raises(UnknownName, match=r"unknown retriever 'magic': choose from .*dense.*recency"):
        policy.load(FOLDER, "magic")


def test_an_unknown_option_lists_the_options() -> None:
    with pytest.raises(UnknownName, match="unknown option of recency 'n': choose from k"):
        policy.load(FOLDER, "recency:n=3")


def test_a_value_of_the_wrong_type_says_which_is_meant() -> None:
    with pytest.raises(BadInput, match="k='many' of 'recency:k=many' must be int like 5"):
        policy.load(FOLDER, "recency:k=many")


def test_a_module_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match=r"cannot load policy no\.such:Thing"):
        policy.load(FOLDER, "no.such:Thing")


@dataclass(frozen=True)
class Mine:
    k: int = 1
