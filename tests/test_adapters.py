"""A memory as a LangChain retriever and as a LangGraph store, and a foreign retriever under a policy: the cut holds."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dumps import START, comment, imported, post
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp

from memory import policy, retrievers
from memory.adapters.langchain import Foreign, document, documents, recaller
from memory.adapters.langgraph import Memories
from memory.errors import BadInput, UnknownName
from memory.store import MemoryStore, Past

ANN = ("people", "ann")
ROWS = (
    post("a", author="ann", time=0, title="Which chain oil?", selftext="for rain"),
    comment("b", "a", author="bob", time=1, body="wax the chain"),
    comment("c", "a", "t1_b", author="ann", time=2, body="wax or oil"),
    comment("d", "a", "t1_c", author="ann", time=3, body="[removed]"),
    comment("e", "a", author="ann", time=4, body="my brakes squeal in rain"),
    comment("bot", "a", author="AutoModerator", time=5, body="read the rules"),
    comment("late", "a", author="ann", time=50, body="CANARY wax or oil wax or oil"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> MemoryStore:
    folder = tmp_path_factory.mktemp("adapters")
    imported(folder, *ROWS)
    return MemoryStore.open(folder / "corpus")


def past(store: MemoryStore, before: int = 10) -> Past:
    return store.history("ann", before=START + before)


def memories(store: MemoryStore, before: int = 10) -> Memories:
    return Memories(store, before=START + before)


# -- LangChain


def test_a_past_and_a_policy_are_a_langchain_retriever(store: MemoryStore) -> None:
    found = recaller(past(store), "dense:k=2").invoke("wax or oil")
    own = asyncio.run(policy.load(retrievers, "dense:k=2")(past(store), "wax or oil"))
    assert [(d.id, d.page_content, d.metadata["score"]) for d in found] == [
        (r.message.id, r.message.words, r.score) for r in own
    ]
    first = found[0].metadata
    assert (first["id"], first["time"], first["author"], first["policy"]) == ("t1_c", START + 2, "ann", "dense:k=2")
    assert first["terms"] == own[0].terms and first["thread"] == "t3_a" and first["origin"] == "real"


def test_it_answers_the_same_inside_a_running_loop(store: MemoryStore) -> None:
    made = recaller(past(store), policy.load(retrievers, "bm25"))

    async def both() -> tuple[list[Document], list[Document]]:
        return made.invoke("brakes"), await made.ainvoke("brakes")

    sync, waited = asyncio.run(both())
    assert [d.id for d in sync] == [d.id for d in waited] == ["t1_e"]
    with pytest.raises(UnknownName, match="unknown retriever 'magic'"):
        recaller(past(store), "magic")


class Everything(BaseRetriever):
    """Finds whatever it was made of, newest first, and a document that nobody knows."""

    held: list[Document]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [Document(page_content="CANARY who knows"), *self.held[::-1], *self.held]


def everything(store: MemoryStore) -> Everything:
    return Everything(held=[document(store.corpus.message(id)) for id in ("t3_a", "t1_b", "t1_c", "t1_e", "t1_late")])


def test_of_what_a_foreign_retriever_finds_only_the_persons_earlier_words_are_kept(store: MemoryStore) -> None:
    found = asyncio.run(Foreign(everything(store))(past(store), "wax"))
    assert [(r.message.id, r.terms) for r in found] == [
        ("t1_e", {"foreign_rank": 1.0}),
        ("t1_c", {"foreign_rank": 2.0}),
        ("t3_a", {"foreign_rank": 3.0}),
    ]
    assert [r.score for r in found] == [1, 1 / 2, 1 / 3]
    assert len(asyncio.run(Foreign(everything(store), k=1)(past(store), "wax"))) == 1
    assert asyncio.run(Foreign(everything(store))(past(store, 0), "wax")) == []
    with pytest.raises(BadInput, match="k=-1"):
        asyncio.run(Foreign(everything(store), k=-1)(past(store), "wax"))


def test_a_policy_orders_what_a_foreign_retriever_found(store: MemoryStore) -> None:
    then = policy.load(retrievers, "dense:k=9")
    found = asyncio.run(Foreign(everything(store), then)(past(store), "wax or oil"))
    assert found[0].message.id == "t1_c"
    assert found[0].terms["foreign_rank"] == 2 and "dense" in found[0].terms
    assert not any("CANARY" in r.message.words for r in found)
    few = Everything(held=documents(past(store))[:1])
    assert [r.message.id for r in asyncio.run(Foreign(few, then)(past(store), "wax or oil"))] == ["t3_a"]


# -- LangGraph


def test_what_a_person_wrote_earlier_is_read_by_id_and_nothing_else(store: MemoryStore) -> None:
    seen = memories(store)
    item = seen.get(ANN, "t1_c")
    assert item is not None and item.value["text"] == "wax or oil" and item.value["ts"] == START + 2
    assert item.created_at == item.updated_at == datetime.fromtimestamp(START + 2, UTC)
    for namespace, key in (
        (ANN, "t1_late"), (ANN, "t1_b"), (ANN, "t1_d"), (ANN, "no"), (("people", "nobody"), "t1_c"),
        (("people", "AutoModerator"), "t1_bot"), (("other",), "t1_c"),
    ):  # fmt: skip
        assert seen.get(namespace, key) is None
    assert seen.at(START + 51).get(ANN, "t1_late") is not None


def test_a_search_is_the_policys_answer(store: MemoryStore) -> None:
    found = memories(store).search(ANN, query="wax or oil", limit=2)
    own = asyncio.run(policy.load(retrievers, "dense:k=2")(past(store), "wax or oil"))
    assert [(i.key, i.score) for i in found] == [(r.message.id, pytest.approx(r.score)) for r in own]
    rest = [i.key for i in memories(store).search(ANN, query="wax or oil", offset=1)]
    assert [found[0].key, *rest] == [i.key for i in memories(store).search(ANN, query="wax or oil")]
    lexical = Memories(store, before=START + 10, policy="bm25")
    assert [i.key for i in lexical.search(ANN, query="brakes")] == ["t1_e"]


def test_a_search_without_a_query_is_newest_first_and_filters_look_at_values(store: MemoryStore) -> None:
    seen = memories(store)

    def keys(**asked: Any) -> list[str]:
        return [i.key for i in seen.search(ANN, filter=asked)]

    assert keys() == ["t1_e", "t1_c", "t3_a"]
    assert keys(kind="comment") == ["t1_e", "t1_c"]
    assert keys(ts={"$gte": START, "$lt": START + 4}) == ["t1_c", "t3_a"]
    assert keys(kind={"$ne": "comment"}) == ["t3_a"] and keys(score={"$gt": 2}) == ["t3_a"]
    assert keys(absent={"$lte": 2}) == [] and keys(parent=None) == ["t3_a"]
    assert [i.key for i in seen.search(ANN, limit=1, offset=1)] == ["t1_c"]
    assert [i.key for i in seen.search(ANN, query="wax", filter={"kind": "post"})] == ["t3_a"]
    with pytest.raises(UnknownName, match=r"unknown operator of a filter '\$near'"):
        keys(ts={"$near": 3})
    with pytest.raises(BadInput, match="give the same type"):
        keys(ts={"$lt": "soon"})


def test_what_is_put_stands_beside_the_corpus_and_is_seen_after_its_time(store: MemoryStore) -> None:
    before = {str(f): f.read_bytes() for f in store.corpus.path.rglob("*") if f.is_file()}
    seen = memories(store)
    seen.put(ANN, "said-1", {"text": "graphite beats wax", "ts": START + 10})
    assert seen.get(ANN, "said-1") is None and "said-1" not in {i.key for i in seen.search(ANN, query="graphite")}
    later = seen.at(START + 11)
    item = later.get(ANN, "said-1")
    assert item is not None and item.value == {"text": "graphite beats wax", "ts": START + 10}
    assert later.search(ANN, query="graphite beats wax", limit=1)[0].key == "said-1"
    assert memories(store, 99).get(ANN, "said-1") is None, "another view's overlay is its own"
    assert {str(f): f.read_bytes() for f in store.corpus.path.rglob("*") if f.is_file()} == before


def test_a_put_takes_the_place_of_a_message_once_its_time_has_come(store: MemoryStore) -> None:
    seen = memories(store)
    seen.put(ANN, "t1_c", {"text": "only wax", "ts": START + 8})
    assert [i.value["text"] for i in seen.search(ANN, query="wax") if i.key == "t1_c"] == ["only wax"]
    old = seen.at(START + 5).get(ANN, "t1_c")
    assert old is not None and old.value["text"] == "wax or oil"
    seen.delete(ANN, "t1_c")
    back = seen.get(ANN, "t1_c")
    assert back is not None and back.value["text"] == "wax or oil"
    with pytest.raises(BadInput, match="t1_c is in the corpus, which is never changed"):
        seen.delete(ANN, "t1_c")
    seen.delete(ANN, "never there")


def test_a_put_without_its_time_is_refused(store: MemoryStore) -> None:
    for value in ({"text": "x"}, {"text": "x", "ts": "now"}):
        with pytest.raises(BadInput, match="must say when it was said"):
            memories(store).put(ANN, "k", value)
    with pytest.raises(NotImplementedError, match="TTL is not supported"):
        memories(store).put(ANN, "k", {"text": "x", "ts": 1}, ttl=5)


def test_other_namespaces_hold_what_was_put_by_the_fields_that_are_indexed(store: MemoryStore) -> None:
    seen = memories(store)
    seen.put(("notes", "ann"), "1", {"fact": "rides in rain", "text": "unseen", "ts": START}, index=["fact"])
    seen.put(("notes", "bob"), "1", {"fact": "waxes", "ts": START + 1}, index=False)
    seen.put(("people", "new"), "1", {"text": "hello", "ts": START})
    assert [i.namespace for i in seen.search(("notes",))] == [("notes", "bob"), ("notes", "ann")]
    assert [(i.namespace, i.key) for i in seen.search(("notes",), query="rain")] == [(("notes", "ann"), "1")]
    assert [i.key for i in seen.search(("people", "new"), query="hello")] == ["1"]
    assert seen.search(("nothing",), query="x") == []
    for everybody in ((), ("people",)):
        with pytest.raises(BadInput, match="a search needs one person"):
            seen.search(everybody, query="x")


def test_namespaces_are_those_of_people_who_had_spoken(store: MemoryStore) -> None:
    seen = memories(store)
    seen.put(("notes", "ann", "x"), "1", {"ts": START})
    assert seen.list_namespaces() == [("notes", "ann", "x"), ("people", "ann"), ("people", "bob")]
    assert seen.at(START + 1).list_namespaces(prefix=("people",)) == [ANN]
    assert seen.at(START).list_namespaces() == []
    assert seen.list_namespaces(max_depth=1) == [("notes",), ("people",)]
    assert seen.list_namespaces(suffix=("bob",)) == [("people", "bob")]
    assert seen.list_namespaces(prefix=("*", "ann"), limit=1, offset=1) == [ANN]
    wild = ListNamespacesOp(match_conditions=(MatchCondition("suffix", ("ann", "*")),))
    assert seen.batch([wild]) == [[("notes", "ann", "x")]]


def test_a_batch_is_done_in_order_and_the_same_when_awaited(store: MemoryStore) -> None:
    ops = [
        PutOp(ANN, "k", {"text": "graphite", "ts": START + 1}),
        GetOp(ANN, "k"),
        SearchOp(ANN, query="graphite", limit=1),
        PutOp(ANN, "k", None),
        GetOp(ANN, "k"),
    ]
    for answers in (memories(store).batch(ops), asyncio.run(memories(store).abatch(ops))):
        put, got, found, gone, after = answers
        assert (put, gone, after) == (None, None, None)
        assert got.value["text"] == "graphite" and [i.key for i in found] == ["k"]


def test_importing_the_package_of_adapters_imports_no_library(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = "import sys, memory.adapters, memory; assert not {'langgraph', 'langchain_core'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
