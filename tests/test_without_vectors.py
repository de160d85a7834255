"""A corpus without vectors is made fast, serves what needs none, says what to do for the rest, and gets them later."""

import asyncio
from contextlib import closing
from pathlib import Path

import pytest
from dumps import START, comment, imported, post

from memory import policy, retrievers
from memory.corpus import Corpus
from memory.errors import BadInput, Missing
from memory.forget import forget
from memory.store import MemoryStore

ROWS = [post("a"), *(comment(f"c{n}", "a", time=n + 1, body=f"about chain number {n}") for n in range(9))]


def test_an_import_without_vectors_keeps_no_index_and_serves_policies_that_need_none(tmp_path: Path) -> None:
    assert imported(tmp_path, *ROWS, embedder="none").encoded == 0
    assert not (tmp_path / "corpus" / "chroma").exists()
    past = MemoryStore.open(tmp_path / "corpus").history("bob", before=START + 99)
    found = asyncio.run(policy.load(retrievers, "bm25:k=1")(past, "number 3"))
    assert [item.message.text for item in found] == ["about chain number 3"]


@pytest.mark.parametrize("name", ["dense", "mmr", "hybrid_rrf", "generative_agents", "decay_half_life"])
def test_a_policy_that_needs_vectors_says_in_one_sentence_what_to_do(tmp_path: Path, name: str) -> None:
    imported(tmp_path, *ROWS, embedder="none")
    past = MemoryStore.open(tmp_path / "corpus").history("bob", before=START + 99)
    with pytest.raises(Missing, match=r"without vectors.*again with --embedder minilm"):
        asyncio.run(policy.load(retrievers, name)(past, "a question"))


def test_the_same_import_with_an_embedder_adds_them_as_if_they_had_been_there_at_once(tmp_path: Path) -> None:
    imported(tmp_path, *ROWS, embedder="none")
    assert imported(tmp_path, *ROWS, embedder="none").encoded == 0
    assert imported(tmp_path, *ROWS, embedder="bag").encoded == 10
    (tmp_path / "once").mkdir()
    imported(tmp_path / "once", *ROWS, embedder="bag")
    later, once = (Corpus.open(folder / "corpus") for folder in (tmp_path, tmp_path / "once"))
    assert later.data_hash == once.data_hash
    pasts = [MemoryStore(corpus).history("bob", before=START + 99) for corpus in (later, once)]
    assert (pasts[0].vectors == pasts[1].vectors).all() and pasts[0].vectors.shape == (9, 384)


def test_vectors_that_are_there_are_not_thrown_away_by_an_import_without(tmp_path: Path) -> None:
    imported(tmp_path, *ROWS, embedder="bag")
    with pytest.raises(BadInput, match="has vectors of 'bag'; import with --embedder bag"):
        imported(tmp_path, *ROWS, embedder="none")
    assert imported(tmp_path, *ROWS, embedder="bag").encoded == 0


def test_somebody_is_forgotten_in_a_corpus_without_vectors(tmp_path: Path) -> None:
    imported(tmp_path, *ROWS, embedder="none")
    corpus = tmp_path / "corpus"
    with closing(Corpus.open(corpus)) as opened:
        person = next(iter(opened.people()))
        texts = [m.text for id in opened.thread_ids() for m in opened.thread(id).messages if m.author == person]
    assert forget(corpus, person).messages == len(texts)
    held = b"".join(file.read_bytes() for file in corpus.rglob("*") if file.is_file())
    assert not any(text and text.encode() in held for text in texts)
    with closing(Corpus.open(corpus)) as opened:
        assert person not in opened.people()
