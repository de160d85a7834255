"""Errors that a person can mend. The command prints them as one sentence and exits with status 2.

PersonaconvError          root: never raised itself
|- BadInput               a file, line, field or option is wrong
|- UnknownName            a policy, person, thread or model that does not exist; lists what does
|- Missing                a part, key or file that has to be supplied; says how
|- Busy                   somebody else holds the folder; names the holder
|- Leak                   a memory knew what nobody could know then: its results do not count
'- ModelError             a model call failed (simulator/llm.py has its kinds)
"""

from collections.abc import Iterable
from difflib import get_close_matches

SHOWN = 24  # names listed in full before a message becomes a wall


class PersonaconvError(Exception):
    """Root of everything that is the user's to mend: what was asked, what was found, what to do."""


class BadInput(PersonaconvError):
    """A file, line, field or option cannot be used as it is."""


class Missing(PersonaconvError):
    """Something has to be supplied first (a key, a package, a file)."""


class Busy(PersonaconvError):
    """Another process holds the folder."""


class Leak(PersonaconvError):
    """A control found that something later than its moment, or somebody else's, made a result."""


class UnknownName(PersonaconvError):
    """A name that is not there. `choices` is listed, the likeliest first where there are many."""

    def __init__(self, kind: str, name: str, choices: Iterable[str]) -> None:
        known = sorted(set(choices))
        near = get_close_matches(name, known, n=3)
        shown = known if len(known) <= SHOWN else [*near, *known[: SHOWN - len(near)], "..."]
        hint = f"did you mean {near[0]!r}? " if near and len(known) > SHOWN else ""
        have = ", ".join(shown) if known else "nothing (there are none)"
        super().__init__(f"unknown {kind} {clip(name)!r}: {hint}choose from {have}")


def clip(text: str, limit: int = 80) -> str:
    """`text` on one line without control characters, at most `limit` characters: safe to print."""
    flat = "".join(c if c.isprintable() else " " for c in text)
    return flat if len(flat) <= limit else flat[: limit - 3] + "..."
