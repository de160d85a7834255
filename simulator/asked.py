"""What a run's memory and profiles asked the model beside its turns: kept by prompt, so that it is paid once a run.

One line of asked.ndjson in the run folder for each answer, with its tokens and cost; one without words is paid too,
and asked for again.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import msgspec

from memory.errors import BadInput
from simulator import whole
from simulator.llm import LLM, Completion, ModelError, Request, worded
from simulator.prices import Prices, cost
from simulator.shard import places

FILE = "asked.ndjson"
MAX_TOKENS = 300


class Answered(msgspec.Struct, frozen=True):
    """One answer. `whose`: "memory" or "profile"; `prompt`: its hash; `cost`: None where that cannot be told."""

    whose: str
    prompt: str
    completion: Completion
    cost: float | None = None


def read(run: Path) -> list[Answered]:
    """In order, shard by shard; a half line at the end of a file is left out. Raises BadInput for one that is none."""
    found = []
    for file in (place / FILE for place in places(run)):
        for number, line in enumerate(whole.lines(file), 1):
            try:
                found.append(msgspec.json.decode(line, type=Answered))
            except msgspec.DecodeError as error:
                raise BadInput(f"{file} line {number} is no answer ({error}); take it out to ask again") from None
    return found


@dataclass
class Asked:
    """An Ask over the run's model, for `whose`: prompt in, words out, at temperature 0. `calls`: of this sitting.

    Until `keep` it asks and keeps nothing. Raises: ModelError, of the model or for an answer without words.
    """

    llm: LLM
    whose: str
    seed: int = 0
    prices: Prices | None = None
    calls: int = 0
    _known: dict[str, str] = field(default_factory=dict)
    _place: Path | None = None

    def keep(self, run: Path, place: Path) -> None:
        """Takes in what earlier sittings of the run were answered, and writes to `place` from now on."""
        for answered in read(run):
            if answered.whose == self.whose:
                self._take(answered)
        self._place = place
        whole.cut(place / FILE)

    async def __call__(self, prompt: str) -> str:
        key = sha256(prompt.encode(errors="surrogatepass")).hexdigest()
        if key not in self._known:
            self.calls += 1
            found = await self.llm(Request((("user", prompt),), MAX_TOKENS, seed=self.seed))
            answered = Answered(self.whose, key, found, cost(found, self.prices) if self.prices else None)
            if self._place is not None:
                whole.note(self._place / FILE, msgspec.json.encode(answered) + b"\n", "answers")
            self._take(answered)
            worded(found, self.llm.name)
        return self._known[key]

    def _take(self, answered: Answered) -> None:
        with suppress(ModelError):  # one without words is paid, and asked for again
            self._known[answered.prompt] = worded(answered.completion, self.llm.name)
