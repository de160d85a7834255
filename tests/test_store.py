import asyncio
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dumps import START, comment, imported, post

from memory import policy, retrievers
from memory.doors import CorpusDoors
from memory.embed import Bag
from memory.errors import BadInput, Missing, UnknownName
from memory.message import Message
from memory.store import Index, MemoryStore, Past, widened

ROWS = (
    post("a", author="ann", time=0, title="Which chain oil?", selftext="for rain"),
    comment("b", "a", author="bob", time=1, body="wax the chain"),
    comment("c", "a", "t1_b", author="ann", time=2, body="wax or oil"),
    comment("d", "a", "t1_c", author="bob", time=2, body="[removed]"),
    *(comment(f"m{n:02}", "a", author="ann", time=3 + n, body=f"chain number {n} of {n * n}") for n in range(40)),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> MemoryStore:
    folder = tmp_path_factory.mktemp("store")
    imported(folder, *ROWS)
    return MemoryStore.open(folder / "corpus")


def past(store: MemoryStore, user: str = "ann", before: int = 99) -> Past:
    return store.history(user, before=START + before)


def test_a_history_is_what_one_person_wrote_strictly_before_oldest_first(store: MemoryStore) -> None:
    assert [m.id for m in past(store, before=2).messages] == ["t3_a"]
    assert [m.id for m in past(store, before=3).messages] == ["t3_a", "t1_c"]
    assert len(past(store, before=0)) == 0 and past(store, before=0).vectors.shape == (0, 384)
    assert [m.id for m in past(store, "bob").messages] == ["t1_b"]  # without words, not remembered


def test_messages_can_be_read_one_by_one_by_slice_and_all(store: MemoryStore) -> None:
    messages = past(store).messages
    everything = list(messages)
    assert len(everything) == len(messages) == 42
    assert messages[0] == everything[0] == Message(
        "t3_a", "t3_a", None, "ann", START, "for rain", 3, "bikes", "post", "Which chain oil?"
    )  # fmt: skip
    assert messages[-1] == everything[-1]
    assert messages[-3:] == tuple(everything[-3:]) and messages[::-1] == tuple(everything[::-1])
    with pytest.raises(IndexError):
        messages[42]


def test_vectors_are_of_the_words_and_of_unit_length_to_what_float16_holds(store: MemoryStore) -> None:
    history = past(store)
    assert history.vectors.dtype == np.float32
    assert np.abs(history.vectors - Bag()([m.words for m in history.messages])).max() < 1e-3
    assert np.abs(np.linalg.norm(history.vectors, axis=1) - 1).max() < 1e-3


def test_every_finite_float16_is_widened_exactly() -> None:
    every = np.arange(2**16, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)]
    assert len(finite) == 63_488 and (widened(finite) == finite.astype(np.float32)).all()
    rows = finite[:63_000].reshape(-1, 100)[3:9, ::2]  # neither whole nor contiguous
    assert (widened(rows) == rows.astype(np.float32)).all() and widened(rows[:0]).shape == (0, 50)


def test_nobody_is_answered_with_who_there_is(store: MemoryStore) -> None:
    with pytest.raises(UnknownName, match="unknown person 'zed': choose from ann, bob"):
        past(store, "zed")


def test_known_texts_are_looked_up_and_new_ones_encoded_once(store: MemoryStore) -> None:
    fresh = MemoryStore.open(store.corpus.path)
    known = asyncio.run(fresh.embed(["wax the chain", "Which chain oil?\n\nfor rain"]))
    assert fresh._model is None  # nothing had to be encoded
    new = asyncio.run(fresh.embed(["never said", "wax the chain", "never said"]))
    assert (new[1] == known[0]).all() and (new[0] == new[2]).all()
    assert np.allclose(new[0], Bag()(["never said"])[0])
    assert asyncio.run(fresh.embed([])).shape == (0, 384)


def test_the_embedder_is_the_imports_and_another_is_refused_with_what_to_do(store: MemoryStore) -> None:
    assert store.embedder == "bag-384@1"
    assert MemoryStore.open(store.corpus.path, "bag").embedder == "bag-384@1"
    with pytest.raises(Missing, match="has vectors of 'bag', not 'minilm'; import it again with --embedder minilm"):
        MemoryStore.open(store.corpus.path, "minilm")
    with pytest.raises(UnknownName, match="unknown embedder 'magic'"):
        MemoryStore.open(store.corpus.path, "magic")


@pytest.mark.parametrize("before", [1, 5, 20, 99])
@pytest.mark.parametrize("k", [0, 1, 5, 100])
def test_chromas_own_filtered_query_finds_the_same_top_k(store: MemoryStore, before: int, k: int) -> None:
    exact, native = (
        asyncio.run(policy.load(retrievers, spec)(past(store, before=before), "oil for chain number 9"))
        for spec in (f"dense:k={k}", f"dense:k={k},native=true")
    )
    assert [r.score for r in native] == pytest.approx([r.score for r in exact], abs=1e-3)
    clear = [i for i, r in enumerate(exact) if sum(abs(r.score - o.score) < 2e-3 for o in exact) == 1]
    assert [native[i].message.id for i in clear[:-1]] == [exact[i].message.id for i in clear[:-1]]


@pytest.mark.parametrize("spec", policy.names(retrievers))
def test_every_nearness_that_a_policy_tells_is_the_one_that_chroma_measures(store: MemoryStore, spec: str) -> None:
    made, query = policy.load(retrievers, spec), "oil for chain number 9"
    if getattr(made, "needs", ()):
        return
    history = past(store)
    measured = dict(history.native(asyncio.run(history.embed([query]))[0], 100))
    told = {r.message.id: r.terms for r in asyncio.run(made(history, query)) if "dense" in r.terms}
    for id, terms in told.items():
        assert terms["dense"] == pytest.approx(measured[id], abs=1e-3)
        above = sum(near > measured[id] + 2e-3 for near in measured.values())
        assert above < terms["dense_rank"] <= sum(near > measured[id] - 2e-3 for near in measured.values())
    assert told or spec not in ("dense", "mmr", "hybrid_rrf", "decay_half_life")


@pytest.mark.parametrize("spec", policy.names(retrievers))
def test_over_the_vectors_that_chroma_holds_every_policy_recalls_the_same(store: MemoryStore, spec: str) -> None:
    async def ask(prompt: str) -> str:
        return "1. wax the chain\n2. oil for rain"

    made, history = policy.load(retrievers, spec), past(store, before=30)
    with closing(Index(store.corpus.path, store.embedder)) as index:
        held = index.vectors([m.id for m in history.messages]).astype(np.float16)
    both = [
        asyncio.run(CorpusDoors(store, ask).recall(made, asked, "oil for chain number 9"))
        for asked in (history, replace(history, _narrow=lambda: held))
    ]
    assert both[0] == both[1]
    assert both[0] or spec in ("none", "oracle")


def test_chroma_finds_only_the_persons_own_earlier_messages(store: MemoryStore) -> None:
    history = past(store, before=9)
    found = history.native(history.vectors[0], 100)
    assert sorted(id for id, _ in found) == sorted(m.id for m in history.messages)
    assert found[0] == ("t3_a", pytest.approx(1, abs=1e-3))


def test_native_recall_needs_an_imported_corpus() -> None:
    from dataclasses import dataclass, field

    @dataclass
    class Other:
        user: str = "ann"
        before: int = START
        messages: tuple[Message, ...] = (Message("a", "a", None, "ann", 1, "x"),)
        vectors: np.ndarray = field(default_factory=lambda: Bag()(["x"]))

        def __len__(self) -> int:
            return 1

        async def embed(self, texts: list[str]) -> np.ndarray:
            return Bag()(texts)

    with pytest.raises(BadInput, match="needs the history of an imported corpus"):
        asyncio.run(policy.load(retrievers, "dense:native=true")(Other(), "x"))


def test_a_batch_over_chromas_limit_goes_in_by_parts(tmp_path: Path) -> None:
    index = Index(tmp_path, "bag-384@1")
    index.batch = 7
    ids = [str(n) for n in range(20)]
    vectors = Bag()([f"word{n}" for n in range(20)])
    index.upsert(ids, vectors, [{"hash": "", "author": "a", "time": n} for n in range(20)])
    assert np.allclose(index.vectors(ids[::-1]), vectors[::-1], atol=1e-6)
    index.remove(ids[:5])
    assert set(index.facts(ids)) == set(ids[5:])
    index.close()


def test_reading_a_past_imports_neither_chroma_nor_a_model_runtime(store: MemoryStore) -> None:
    code = f"""
import asyncio, sys
from pathlib import Path
import memory
store = memory.MemoryStore.open(Path({str(store.corpus.path)!r}))
past = store.history("ann", before={START + 99})
found = asyncio.run(memory.load(memory.retrievers, "dense")(past, "wax or oil"))
assert found[0].message.text == "wax or oil"
heavy = {{"chromadb", "onnxruntime", "torch", "sentence_transformers", "langchain_core", "langgraph", "msgspec"}}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_reads_leave_every_file_of_the_corpus_as_it_was(store: MemoryStore) -> None:
    def files() -> dict[str, bytes]:
        folder = store.corpus.path
        return {str(f): f.read_bytes() for f in folder.rglob("*") if f.is_file() and "chroma" not in f.parts}

    before = files()
    for name in policy.names(retrievers):
        made = policy.load(retrievers, name)
        if not getattr(made, "needs", ()):
            asyncio.run(made(past(store), "chain"))
    store.corpus.scores(before=START + 9)
    store.corpus.thread("t3_a")
    assert files() == before
