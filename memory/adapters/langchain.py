"""LangChain: a past and a policy as its retriever, and any of its retrievers as the first stage of a policy.

documents = await recaller(store.history("u_abc", before=t), "dense:k=8").ainvoke("what do you make of it?")
recalled = await Foreign(retriever, then=policy.load(retrievers, "mmr"))(history, "what do you make of it?")
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from memory import policy, retrievers
from memory.doors import CorpusDoors, Doors
from memory.gathered import part
from memory.message import Message
from memory.ranking import check
from memory.recall import History, Recalled, Retriever


class Recaller(BaseRetriever):
    """One person's past before one moment, asked with one policy. Made by `recaller`."""

    history: Any
    policy: Any
    name: str
    doors: Any

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = await self.doors.recall(self.policy, self.history, query)
        return [document(r.message, score=r.score, terms=r.terms, policy=self.name) for r in found]

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        async def ask() -> list[Document]:
            return await self.ainvoke(query)

        with ThreadPoolExecutor(1) as pool:  # a thread of its own: the caller's may be running a loop already
            return pool.submit(lambda: asyncio.run(ask())).result()


def recaller(history: History, policy_: str | Retriever, doors: Doors | None = None) -> Recaller:
    """A retriever whose documents carry id, time (UTC s), score, terms and policy in their metadata, best first.

    `doors`: for a policy that needs more than a History.

    Raises:
        UnknownName, BadInput: `policy_` names no policy, or an option that it does not have.
        Missing: it needs what `doors` do not have.
    """
    made = policy.load(retrievers, policy_) if isinstance(policy_, str) else policy_
    opened = doors or CorpusDoors()
    opened.check(made)
    name = policy_ if isinstance(policy_, str) else repr(policy_)
    return Recaller(history=history, policy=made, name=name, doors=opened)


def document(message: Message, **more: Any) -> Document:
    """A message as LangChain has it: its words, with all else in the metadata, and `more`."""
    held = {"id": message.id, "time": message.time, "author": message.author, "thread": message.thread}
    held |= {"parent": message.parent, "place": message.place, "kind": message.kind, "origin": message.origin}
    return Document(id=message.id, page_content=message.words, metadata={**held, **more})


def documents(history: History) -> list[Document]:
    """All of a past, oldest first: what a foreign retriever is made from."""
    return [document(m) for m in history.messages]


@dataclass(frozen=True)
class Foreign:
    """A policy whose candidates a LangChain retriever finds; `then` is the policy that orders them, else they stay in
    the retriever's order.

    It may search whatever it likes: of what it finds, only messages of the history are kept, told by the document's id
    (or metadata["id"]). Whatever is later, somebody else's, or of unknown origin is thus left out here, after it.
    """

    retriever: BaseRetriever
    then: Retriever | None = None
    k: int = 5

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        check(self.k)
        if not len(history):
            return []
        places = {m.id: at for at, m in enumerate(history.messages)}
        found = [str(d.metadata.get("id", d.id)) for d in await self.retriever.ainvoke(query)]
        ranks = {id: rank for rank, id in enumerate(dict.fromkeys(id for id in found if id in places), 1)}
        if self.then is not None:
            ordered = await self.then(part(history, sorted(places[id] for id in ranks)), query)
            return [
                Recalled(r.message, r.score, {**r.terms, "foreign_rank": float(ranks[r.message.id])})
                for r in ordered[: self.k]
                if r.message.id in ranks
            ]
        return [
            Recalled(history.messages[places[id]], 1 / rank, {"foreign_rank": float(rank)})
            for id, rank in list(ranks.items())[: self.k]
        ]
