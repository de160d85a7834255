"""The garbage collector runs seldom while threads are played, and as before afterwards."""

from __future__ import annotations

import gc

import pytest

from simulator.collecting import SELDOM, seldom


def test_collecting_is_seldom_inside_and_as_it_was_after_an_error_too() -> None:
    before = gc.get_threshold()
    with pytest.raises(KeyError), seldom():
        assert gc.get_threshold() == SELDOM != before
        raise KeyError
    assert gc.get_threshold() == before


def test_collecting_that_is_off_stays_off() -> None:
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with seldom():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
