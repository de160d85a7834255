import re
from collections.abc import Callable
from pathlib import Path

import pytest
from dumps import comment, imported, post
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.corpus import Corpus
from memory.mentions import mentions, replaced

SIGNED = re.compile(r"(?<![\w/])(/?[uU]/|@)([A-Za-z0-9_][A-Za-z0-9_-]{1,31})")
ODD = re.compile(r"(?<![\w@/.-])(?=[A-Za-z_-]*[0-9_])(?=[0-9_-]*[A-Za-z])[A-Za-z0-9_-]{5,32}(?![\w-])")


def renamed(text: str, known: Callable[[str], str | None]) -> str:
    """A text alone, with its mentions as `known` calls them: first those with a sign, then odd ones."""
    text = SIGNED.sub(lambda m: m[1] + (known(m[2]) or m[2]), text)
    return ODD.sub(lambda m: known(m[0]) or m[0], text)


def together(texts: list[str], known: Callable[[str], str | None]) -> list[str]:
    """The same of many."""
    said = [text.encode() for text in texts]
    spans: dict[int, list[tuple[int, int, bytes]]] = {n: [] for n in range(len(texts))}
    for n, start, end, name in mentions(said):
        assert said[n][start:end].decode() == name
        spans[n].append((start, end, (known(name) or name).encode()))
    return [replaced(text, spans[n]).decode() for n, text in enumerate(said)]


def test_mentions_of_authors_become_their_pseudonyms_and_ordinary_words_stay() -> None:
    known = {"bob": "u_1", "going": "u_2", "se_00012": "u_3", "a-b": "u_4"}
    text = "é u/Bob, /u/bob @BOB @stranger bob going se_00012 se_000123 x/se_00012 @a-b @going"
    [said] = together([text], lambda name: known.get(name.casefold()))
    assert said == "é u/u_1, /u/u_1 @u_1 @stranger bob going u_3 se_000123 x/se_00012 @u_4 @u_2"


@pytest.mark.parametrize(
    "text", ["tea_1", "2tea-", "-a1b2", "a" * 31 + "_", "tea_1.", "😀tea_1—", "\u0301tea_1", "'tea_1'"]
)
def test_a_name_with_a_digit_or_an_underscore_is_found_on_its_own(text: str) -> None:
    name = text.strip("'.😀—\u0301")
    start = len(text[: text.index(name)].encode())
    assert mentions([b"", text.encode()]) == [(1, start, start + len(name), name)]


@pytest.mark.parametrize(
    "text",
    [
        "te_1",
        "a" * 32 + "_",
        "going",
        "well-off",
        "12_34",
        "/tea_1",
        ".tea_1",
        "@-tea_1",
        "étea_1",
        "tea_1é",
        "tea_1𝐚",
        "𝐚tea_1",
        "tea_1٣",
    ],
)
def test_other_words_are_not(text: str) -> None:
    assert mentions([text.encode()]) == []


BITS = st.sampled_from([*"aU_9-@/u. \n", *"é٣²字😀—\u0301𝐚", "u/ab", "/U/ab", "@ab", "tea_1", "-9"])
RUNS = st.builds(
    lambda bit, size: (bit * size)[:size], st.sampled_from(["a", "9a", "_a", "-"]), st.sampled_from([3, 4, 30, 31, 32])
)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.lists(BITS | RUNS, max_size=6).map("".join), max_size=5), st.sampled_from([None, "u_abcdefg"]))
def test_names_are_found_in_many_texts_at_once_as_in_each(texts: list[str], called: str | None) -> None:
    asked: list[str] = []

    def known(name: str) -> str | None:
        asked.append(name)
        return called

    expected = [renamed(text, known) for text in texts]
    alone = sorted(asked)
    asked.clear()
    assert together(texts, known) == expected and sorted(asked) == alone


@pytest.mark.parametrize("itself", [False, True])  # answers what it should, or itself: such a thread is mended
def test_an_import_replaces_names_of_its_people_and_those_of_others_once_they_come(
    tmp_path: Path, itself: bool
) -> None:
    rows = (
        post("a", author="Tea_fan", title="tea_fan, 3rd-rate or ann-99?", selftext="ask ann-99, étea_fan"),
        comment("b", "a", "t1_b" if itself else None, author="bob", body="u/ann-99 and tea_fan: not .ann-99"),
        comment("c", "a", author="eve", body="by 1990s-style tea_1"),
        post("e", author="eve", title="gone: ann-99", selftext="[removed]"),
        comment("f", "e", "t1_f" if itself else None),
    )
    imported(tmp_path, *rows, keep_names=False, embedder="none")
    thread = Corpus.open(tmp_path / "corpus").thread("t3_a")
    tea = thread["t3_a"].author
    assert thread["t3_a"].title == f"{tea}, 3rd-rate or ann-99?" and thread["t3_a"].text == "ask ann-99, étea_fan"
    assert thread["t1_b"].text == f"u/ann-99 and {tea}: not .ann-99"
    imported(tmp_path, comment("d", "z", author="Ann-99"), keep_names=False, embedder="none")
    corpus = Corpus.open(tmp_path / "corpus")
    thread, ann = corpus.thread("t3_a"), corpus.thread("t3_z")["t1_d"].author
    assert thread["t3_a"].title == f"{tea}, 3rd-rate or {ann}?" and thread["t3_a"].text == f"ask {ann}, étea_fan"
    assert thread["t1_b"].text == f"u/{ann} and {tea}: not .ann-99"
    assert thread["t1_c"].text == "by 1990s-style tea_1"
    gone = corpus.thread("t3_e")["t3_e"]
    assert (gone.title, gone.text) == (f"gone: {ann}", None)
