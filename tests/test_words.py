from hypothesis import given
from hypothesis import strategies as st

from memory.words import Words, together

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=6)


@given(TEXTS)
def test_words_are_the_texts_without_their_nuls(texts: list[str]) -> None:
    words, clean = Words.of(texts), [text.replace("\0", "") for text in texts]
    assert [words.split(n, 0) for n in range(len(words))] == [("", text) for text in clean]
    assert words.sizes.tolist() == [len(text.encode()) for text in clean]
    assert words.utf8 == "".join(text + "\0" for text in clean).encode()


@given(TEXTS, TEXTS)
def test_some_texts_give_way_to_others(texts: list[str], new: list[str]) -> None:
    texts, new = ([text.replace("\0", "") for text in some] for some in (texts, new))
    changes = {n: text for n, text in enumerate(new) if n < len(texts) and n != 1}
    found = Words.of(texts).changed(changes)
    expected = Words.of([changes.get(n, text) for n, text in enumerate(texts)])
    assert (found.utf8, found.ends.tolist()) == (expected.utf8, expected.ends.tolist())


@given(TEXTS)
def test_bytes_are_told_which_text_they_are_in(texts: list[str]) -> None:
    words = Words.of(texts)
    letters = words.places(b"a")
    assert letters.tolist() == [at for at, byte in enumerate(words.utf8) if byte == ord("a")]
    assert words.holding(letters).tolist() == [b"a" in words.at(n) for n in range(len(words))]


def test_titles_stand_before_their_texts() -> None:
    words, heads, gone = together(["é\0", "", "t"], ["x\0", None, None])
    assert [words.split(n, head) for n, head in enumerate(heads.tolist())] == [("é", "x"), ("", ""), ("t", "")]
    assert gone.tolist() == [False, True, True]
