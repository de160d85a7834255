"""Personaconv, lowest layer: what people wrote, and what of it comes back.

store = memory.MemoryStore.open(path)
past = store.history("u_abc", before=1_600_000_000)
recalled = await memory.load(memory.retrievers, "dense:k=8")(past, "what do you make of it?")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from memory import retrievers
    from memory.corpus import Corpus
    from memory.errors import PersonaconvError
    from memory.importing import ImportReport, import_corpus
    from memory.message import Message, Thread
    from memory.policy import load, names
    from memory.recall import History, Recalled, Retriever
    from memory.store import MemoryStore

__all__ = [
    "Corpus",
    "History",
    "ImportReport",
    "MemoryStore",
    "Message",
    "PersonaconvError",
    "Recalled",
    "Retriever",
    "Thread",
    "import_corpus",
    "load",
    "names",
    "retrievers",
]

_HOME = {
    "Corpus": "corpus",
    "History": "recall",
    "ImportReport": "importing",
    "MemoryStore": "store",
    "Message": "message",
    "PersonaconvError": "errors",
    "Recalled": "recall",
    "Retriever": "recall",
    "Thread": "message",
    "import_corpus": "importing",
    "load": "policy",
    "names": "policy",
}


def __getattr__(name: str) -> Any:
    """Each public name is imported when it is first used, so that `import memory` costs nothing."""
    if name in _HOME:
        return getattr(import_module(f"memory.{_HOME[name]}"), name)
    if name == "retrievers":
        return import_module("memory.retrievers")
    raise AttributeError(f"module 'memory' has no attribute {name!r}")
