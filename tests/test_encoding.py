"""Vectors are made once a text, in one import and in the next; readers see a new version when they open again."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from dumps import START, comment, imported, post
from dumps import write as written_to
from msgspec.structs import replace

from memory.embed import Bag
from memory.encoding import encode
from memory.importing import import_corpus
from memory.known import Known
from memory.reading import Row, Tally
from memory.recall import Vectors
from memory.record import STAGING, Record
from memory.store import Index, MemoryStore
from memory.stored import text_hash
from memory.writing import write


def test_a_text_that_two_messages_have_is_encoded_once_and_never_again(tmp_path: Path) -> None:
    same = [comment(f"c{n}", "a", time=n + 1, body="thanks!") for n in range(5)]
    assert imported(tmp_path, post("a"), *same, comment("d", "a", body="other")).encoded == 3
    later = [post("b", time=9), comment("e", "b", time=10, body="thanks!"), comment("f", "b", time=11, body="new")]
    assert imported(tmp_path, *later).encoded == 1  # the post's title and the thanks are known
    assert imported(tmp_path, *later).encoded == 0


def test_a_text_said_again_far_later_in_one_import_is_not_encoded_again(tmp_path: Path) -> None:
    record, index = Record(tmp_path / STAGING, None), Index(tmp_path, Bag.name)
    post = Row("t3_a", "t3_a", None, "ann", 1, None, None, "", "post", "title", None, 1)
    said = [
        replace(post, id=f"t1_{n}", parent="t3_a", kind="comment", title="", text=f"said {n % 3}") for n in range(600)
    ]
    record.add([post, *said], "made")
    record.mend(Tally())
    asked: list[str] = []

    class Model(Bag):
        def __call__(self, texts: Sequence[str]) -> Vectors:
            asked.extend(texts)
            return super().__call__(texts)

    written = write(tmp_path, record, {}, lambda done, total: None)
    assert encode(written, Model(), [], index, lambda done, total: None) == 4
    assert sorted(asked) == ["said 0", "said 1", "said 2", "title"]
    found = index.vectors([row.id for row in said])
    assert np.allclose(found, Bag()([row.text or "" for row in said]), atol=1e-3)
    index.close()
    record.close()


def test_an_edited_text_is_encoded_and_the_others_are_copied(tmp_path: Path) -> None:
    rows = [post("a"), *(comment(f"c{n}", "a", time=n + 1, body=f"said {n}") for n in range(4))]
    imported(tmp_path, *rows)
    before = MemoryStore.open(tmp_path / "corpus").history("bob", before=START + 99).vectors
    assert imported(tmp_path, comment("c2", "a", time=3, body="edited")).encoded == 1
    after = MemoryStore.open(tmp_path / "corpus").history("bob", before=START + 99).vectors
    assert (after[[0, 1, 3]] == before[[0, 1, 3]]).all()
    assert np.abs(after[2] - Bag()(["edited"])[0]).max() < 1e-3


def test_a_reader_keeps_its_version_until_it_opens_again(tmp_path: Path) -> None:
    imported(tmp_path, post("a"), comment("b", "a", body="first"))
    reader = MemoryStore.open(tmp_path / "corpus")
    more = written_to(tmp_path / "more.ndjson", comment("c", "a", time=2, body="second"))
    import_corpus([more], tmp_path / "corpus", embedder="bag", keep_names=True)
    held = reader.history("bob", before=START + 9)
    assert [m.text for m in held.messages] == ["first"] and held.vectors.shape == (1, 384)
    again = MemoryStore.open(tmp_path / "corpus")
    fresh = again.history("bob", before=START + 9)
    assert [m.text for m in fresh.messages] == ["first", "second"]
    assert fresh.native(asyncio.run(again.embed(["second"]))[0], 1) == [("t1_c", pytest.approx(1, abs=1e-3))]
    reader.close()
    again.close()


def test_known_vectors_are_found_by_hash_and_the_rest_is_named() -> None:
    keys = np.sort(np.array([text_hash(t) for t in ("a", "b", "c")], "S16"))
    vectors = np.arange(6, dtype=np.float16).reshape(3, 2)
    known = Known(keys, np.array([2, 0, 1]), vectors)
    into = np.full((4, 2), -1, np.float16)
    asked = np.array([keys[2], keys[1], text_hash("z"), keys[0]], "S16")
    assert known.fill(asked, into, np.array([1, 2, 3])).tolist() == [2]
    assert into.tolist() == [[-1, -1], [0, 1], [-1, -1], [4, 5]]
    found = known.get(bytes(keys[2]))
    assert found is not None and found.tolist() == [2, 3] and known.get(text_hash("z")) is None
    nothing = Known(keys[:0], np.array([], np.int64), vectors[:0])
    assert nothing.get(text_hash("a")) is None and nothing.fill(asked, into, np.array([0, 3])).tolist() == [0, 3]
