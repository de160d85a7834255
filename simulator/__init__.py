"""Personaconv, middle layer: users who speak in threads.

llm = simulator.open_llm("openai:my-model", "http://127.0.0.1:8000/v1")
await simulator.simulate(simulator.RunSpec(threads=20), store, llm, asks, Path("run"))
manifest, turns = simulator.read(Path("run"))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simulator.llm import LLM, Completion, ModelError, Request
    from simulator.manifest import RunSpec
    from simulator.models import open_llm
    from simulator.records import Ask, Slot, Turn
    from simulator.run import Progress, simulate
    from simulator.runlog import read
    from simulator.testing import Echo, Faulty, Scripted
    from simulator.turn import Cast, take_turn
    from simulator.wrappers import Metered, Retried

__all__ = [
    "LLM",
    "Ask",
    "Cast",
    "Completion",
    "Echo",
    "Faulty",
    "Metered",
    "ModelError",
    "Progress",
    "Request",
    "Retried",
    "RunSpec",
    "Scripted",
    "Slot",
    "Turn",
    "open_llm",
    "read",
    "simulate",
    "take_turn",
]

_HOME = {
    "Ask": "records",
    "Cast": "turn",
    "Completion": "llm",
    "Echo": "testing",
    "Faulty": "testing",
    "LLM": "llm",
    "Metered": "wrappers",
    "ModelError": "llm",
    "Progress": "run",
    "Request": "llm",
    "Retried": "wrappers",
    "RunSpec": "manifest",
    "Scripted": "testing",
    "Slot": "records",
    "Turn": "records",
    "open_llm": "models",
    "read": "runlog",
    "simulate": "run",
    "take_turn": "turn",
}


def __getattr__(name: str) -> Any:
    """Each public name is imported when it is first used, so that `import simulator` costs nothing."""
    if name in _HOME:
        return getattr(import_module(f"simulator.{_HOME[name]}"), name)
    raise AttributeError(f"module 'simulator' has no attribute {name!r}")
