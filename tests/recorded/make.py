"""A small run on the shipped sample, as the embedded model answered it: `make recording` makes it anew.

calls.ndjson has the model's answers, log.ndjson what the run came to. Questions and templates are the test's own, so
that a change of the packaged ones leaves the recording good; one of how a prompt is put together does not.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from evaluation.playing import Played, Sitting, sit
from memory.importing import import_corpus
from memory.sample import paths
from simulator.manifest import RunSpec
from simulator.records import Ask

HERE = Path(__file__).parent
CALLS, LOG = HERE / "calls.ndjson", HERE / "log.ndjson"
ASKS = (
    Ask("reply", "Write the next message of {author}, in one line.", 60, 0.7, stop=("\n",)),
    Ask("sentiment", "{author} writes:\n{text}\nIs that positive or negative?", 3, judges=True,
        labels=("positive", "negative")),
)  # fmt: skip


def corpus(folder: Path) -> Path:
    """The sample, imported into `folder`."""
    import_corpus(paths(), folder, embedder="none", keep_names=True)
    return folder


def play(sample: Path, run: Path, sitting: Sitting, **more: object) -> Played:
    settings = {
        "threads": 3, "max_turns": 3, "retriever": "recency:k=2", "card": False, "thread_tokens": 250,
        "memory_tokens": 150, "message_tokens": 80, "prompt_templates": str(HERE / "templates"),
    }  # fmt: skip
    return sit(RunSpec.of({**settings, **more}), sample, run, ASKS, sitting)


if __name__ == "__main__":
    CALLS.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        play(corpus(folder / "sample"), folder / "run", Sitting(record=CALLS))
        LOG.write_bytes((folder / "run" / "log.ndjson").read_bytes())
