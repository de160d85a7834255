"""Persona cards written by hand, one YAML file a person: for people who have no data.

name: ann
about: Rides to work all year and repairs everything herself.
length: 40
tone: dry, never rude
interests: [steel frames, winter tyres]
opinions: [Helmets are everybody's own business.]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from memory.errors import BadInput, Missing, clip
from memory.yaml_file import fields
from simulator.persona import Persona

Line = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Lines = Annotated[tuple[Line, ...], Field(max_length=10)]
SAID = {  # kind of a pydantic error -> what is said of the field
    "missing": "is missing",
    "extra_forbidden": "is no field of a card; choose from name, about, length, tone, interests, opinions",
    "string_too_short": "says nothing",
    "tuple_type": "is a list, written like [one, another]",
    "int_parsing": "is a number of words",
}


class Card(BaseModel):
    """`name`: whom it is for. `about` and what follows is shown as quoted text; `length`: words of a usual message."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    name: Line
    about: str = Field(min_length=1, max_length=2000)
    length: int | None = Field(default=None, ge=1, le=500)
    tone: str = Field(default="", max_length=200)
    interests: Lines = ()
    opinions: Lines = ()

    @property
    def persona(self) -> Persona:
        listed = ("Tone", self.tone), ("Interests", "; ".join(self.interests)), ("Opinions", " ".join(self.opinions))
        about = [self.about, *(f"{what}: {said}" for what, said in listed if said)]
        return Persona("hand", f"Usually about {self.length} words." if self.length else "", "\n".join(about))


def read_card(file: Path) -> Card:
    """Raises Missing where there is no file; BadInput that names file and field."""
    try:
        return Card(**fields(file, plain=True))
    except ValidationError as error:
        wrong = []
        for found in error.errors():
            said = SAID.get(found["type"], found["msg"])
            wrong.append(f"{clip('.'.join(map(str, found['loc'])))} {said}")
        raise BadInput(f"{file}: {'; '.join(wrong)}") from None


def read_cards(given: Sequence[str], folder: Path | None = None) -> dict[str, Card]:
    """Person -> card. Each NAME=FILE of `given` lends a card to NAME, whatever name it holds; the .yaml and .yml
    files of `folder` are for whom they name.

    Raises: Missing for a folder without cards; BadInput for what is not NAME=FILE, and for two cards for one person;
    what read_card raises.
    """
    found = []
    for one in given:
        name, _, file = one.partition("=")
        if not (name.strip() and file):
            raise BadInput(f"a persona is NAME=FILE, a person and a card for them; found {clip(one)!r}")
        found.append((name.strip(), read_card(Path(file))))
    if folder is not None:
        files = sorted(path for path in folder.glob("*") if path.suffix in (".yaml", ".yml"))
        if not files:
            raise Missing(
                f"{folder} has no persona cards; write one a person, a .yaml file with a name and what about them"
            )
        found += [(card.name, card) for card in map(read_card, files)]
    cards = dict(found)
    if len(cards) < len(found):
        twice = next(name for name, n in Counter(name for name, _ in found).items() if n > 1)
        raise BadInput(f"two cards are for {clip(twice)}; leave one out")
    return cards
