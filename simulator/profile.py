"""Profiles: a paragraph about a person that the run's model wrote from their messages before the moment.

One call for each state of a past, steps of persona.REFRESH messages; what came of it, a failure too, is a line of
profiles.ndjson in the run folder, so that a run that goes on asks for it no more. A failed one leaves the card alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path

import msgspec

from memory.asking import Remembering, prompts
from memory.errors import BadInput
from memory.recall import Ask, History
from memory.retrievers.profile_summary import describing
from memory.templates import Wording
from simulator import whole
from simulator.llm import ModelError
from simulator.persona import LATEST, Persona, milestone
from simulator.shard import places

FILE = "profiles.ndjson"


class Profile(msgspec.Struct, frozen=True):
    """What came of one prompt, named by its `prompt` hash. `failure`: its class, "" where there is a `text`."""

    prompt: str
    text: str = ""
    failure: str = ""
    reason: str = ""


def read(run: Path) -> dict[str, Profile]:
    """Prompt hash -> profile; a half line at the end of a file is left out. Raises BadInput for one that is none."""
    found: dict[str, Profile] = {}
    for file in (place / FILE for place in places(run)):
        for number, line in enumerate(whole.lines(file), 1):
            try:
                profile = msgspec.json.decode(line, type=Profile)
            except msgspec.DecodeError as error:
                raise BadInput(
                    f"{file} line {number} is no profile ({error}); take the line out to ask again"
                ) from None
            found[profile.prompt] = profile
    return found


@dataclass
class Profiles:
    """Of one run, written to the file of `place`. `calls`: asked in this sitting; `failed`: of the whole run."""

    ask: Ask
    run: Path
    place: Path
    words: Wording = field(default_factory=prompts)
    calls: int = 0
    _known: dict[str, Profile] = field(init=False)
    _once: Remembering = field(init=False)
    _prompts: dict[tuple[str, ...], str] = field(default_factory=dict)  # made once: fencing 30 messages takes 2 ms

    def __post_init__(self) -> None:
        self._known = read(self.run)
        self._once = Remembering(self._made)
        whole.cut(self.place / FILE)

    @property
    def failed(self) -> int:
        return sum(bool(profile.failure) for profile in self._known.values())

    async def added(self, persona: Persona, history: History) -> Persona:
        """`persona` with the profile of the same messages, if it is of the person's own; its source says which.

        Raises: ModelError, a fatal one; nothing is kept of it.
        """
        if persona.source != "own":
            return persona
        stop = milestone(len(history))
        messages = history.messages[max(0, stop - LATEST) : stop]
        ids = tuple(m.id for m in messages)
        if ids not in self._prompts:
            self._prompts[ids] = describing(messages, self.words)
        text = await self._once(self._prompts[ids])
        return replace(persona, source="profile", about=text) if text else replace(persona, source="profile_failed")

    async def _made(self, prompt: str) -> str:
        """The text; "" where it failed."""
        key = sha256(prompt.encode(errors="surrogatepass")).hexdigest()
        if key not in self._known:
            self._keep(await self._asked(key, prompt))
        return self._known[key].text

    async def _asked(self, key: str, prompt: str) -> Profile:
        self.calls += 1
        try:
            return Profile(key, " ".join((await self.ask(prompt)).split()))
        except ModelError as error:
            if error.fatal:
                raise
            return Profile(key, failure=error.kind, reason=str(error)[:300])

    def _keep(self, profile: Profile) -> None:
        whole.note(self.place / FILE, msgspec.json.encode(profile) + b"\n", "profiles")
        self._known[profile.prompt] = profile
