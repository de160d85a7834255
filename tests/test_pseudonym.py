import stat
from base64 import b32encode
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import pseudonym
from memory.errors import BadInput
from memory.mentions import mentions
from memory.words import Words


def test_a_pseudonym_is_short_stable_and_blind_to_case() -> None:
    keys = b"k" * 32, b"x" * 32
    digests = [pseudonym.digest(keys[0], "Bob"), pseudonym.digest(keys[0], "bob"), pseudonym.digest(keys[1], "bob")]
    one, same, other = pseudonym.pseudonyms(digests, 8)
    assert one == same != other and one.startswith("u_") and len(one) == 10


@given(st.lists(st.binary(min_size=32, max_size=32), min_size=1, max_size=4), st.integers(1, 50))
def test_pseudonyms_are_the_digests_in_base32(digests: list[bytes], length: int) -> None:
    said = pseudonym.pseudonyms(digests, length)
    assert said == ["u_" + b32encode(digest).decode().lower()[:length] for digest in digests]


def test_a_new_key_is_readable_by_its_owner_alone_and_stays_the_same(tmp_path: Path) -> None:
    file = tmp_path / "c.key"
    assert pseudonym.key(file) == pseudonym.key(file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.write_text("not a key")
    with pytest.raises(BadInput, match="put the right file back"):
        pseudonym.key(file)


@pytest.mark.parametrize(
    "name", ["AutoModerator", "RemindMeBot", "haiku-bot", "some_BOT", "TweetBot2", "bot", "AUTOTLDR"]
)
def test_names_that_say_so_are_bots(name: str) -> None:
    assert pseudonym.is_bot(name)


@pytest.mark.parametrize("name", ["talbot", "Abbot", "robots_fan", "botany", "TALBOT", "Bottom"])
def test_names_that_only_contain_the_letters_are_people(name: str) -> None:
    assert not pseudonym.is_bot(name)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("write to ann.b+c@mail.example.org now", "write to [email] now"),
        ("call (555) 010-1234 or 555-010-1234.", "call [phone] or [phone]."),
        ("call +44 20 7946 0000", "call [phone]"),
        ("in 2019-2020, 10.5281/zenodo.4301234, 1234567, 192.168.100.1000", None),
        ("a 700x23 tyre, 26 559 wheels, 3-2-1", None),
    ],
)
def test_addresses_and_numbers_of_people_are_taken_out_and_other_numbers_stay(text: str, clean: str | None) -> None:
    assert pseudonym.scrub(text) == (text if clean is None else clean)


PIECES = st.sampled_from(
    ["@ann", "u/ann", "/U/Bob", "tea_fan_7", "ann-9", "9--a", "x-ray", "word", "5 8", "+44 20 7946 0000", "1", "u",
     "é@b.cd", "a@é.cd", "_@-.x", "@", "+", "/", "(555) 010-1234", "555-010-1234", "٠١٢-٣٤٥-٦٧٨٩", "a@b.cd", "é",
     "a+@b.cd", ".@b.cd", "+442079460000",
     "\n", " ", "", "-", "_", "2010-2012", "😀"]
)  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.lists(PIECES, max_size=4).map("".join), min_size=1, max_size=6))
def test_what_is_not_suspected_is_never_changed(texts: list[str]) -> None:
    scrubbed, named = (set(found.tolist()) for found in pseudonym.suspects(Words.of(texts)))
    for n, text in enumerate(texts):
        assert n in scrubbed or pseudonym.scrub(text) == text
        assert n in named or not mentions([text.encode()])


@pytest.mark.parametrize("text", ["a+@b.cd", ".@b.cd", "\u00e9@b.cd", "a@\u00e9.cd", "-@-.a", "+442079460000"])
def test_whatever_can_be_an_address_or_a_number_is_suspected(text: str) -> None:
    assert pseudonym.scrub(text) in ("[email]", "[phone]")
    assert pseudonym.suspects(Words.of(["", text]))[0].tolist() == [1]


def test_ordinary_words_are_not_suspected() -> None:
    texts = ["I said so in 2019, at 5 a.m.", "", "it's well-known: see (1), and/or 3.5 km"]
    assert [found.tolist() for found in pseudonym.suspects(Words.of(texts))] == [[], []]
