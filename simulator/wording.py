"""Which templates the prompts of turns and of schedulers are made of, and what each of them must hold."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from memory.errors import BadInput, Missing
from memory.templates import NAMED, Wording, templates, version, worded

VERSION = "7"  # of the packaged templates: raised whenever their words change (a test holds it)
BESIDE = ("asks", "bench", "memory")  # folders in one's own, whose templates are read by other layers

HOLDS = {  # template -> the placeholders that it must hold, each; others are not known
    "system": (),
    "scene": ("thread", "persona", "memory"),
    "thread": ("community", "messages"),
    "opening": ("speaker", "words"),
    "reply": ("speaker", "answered", "words"),
    "persona": ("author", "card"),
    "about": ("about",),
    "notes": ("items",),
    "own": ("items",),
    "others": ("items",),
    "item": ("date", "words"),
    "judged": ("author", "words"),
    "post": ("author", "place", "topic"),
    "next": (),  # these four are of the scheduler chosen_by_model
    "next_scene": ("community", "messages", "people"),
    "next_opening": ("number", "speaker", "words"),
    "next_reply": ("number", "speaker", "answered", "words"),
}


@lru_cache(maxsize=8)
def wording(folder: Path | None = None) -> Wording:
    """The packaged templates; those in `folder` (scene.txt, own.txt ...) in place of the packaged ones of that name.

    The version of one's own is the line in its version.txt, or "own".

    Raises:
        Missing: no such folder, or no template in it. BadInput: a folder that nobody reads, and what templates raises.
    """
    home = Path(__file__).with_name("templates")
    if folder is not None:
        if not any(folder.glob("*.txt")) and not any(folder.glob("*/*.txt")):
            raise Missing(f"{folder} has no templates; copy some of {home} there and change them")
        for other in sorted(file.parent.name for file in folder.glob("*/*.txt") if file.parent.name not in BESIDE):
            raise BadInput(f"{folder / other} is no folder of templates that is read; those are {', '.join(BESIDE)}")
    return worded(version(folder, VERSION), templates(home, HOLDS, folder, (NAMED,)))
