"""Writes the generated parts of README.md: the commands and the tree of modules. A test compares them with the code."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
TREE = "<!-- tree: made by `make docs` -->", "<!-- /tree -->"
COMMANDS = "<!-- commands: made by `make docs` -->", "<!-- /commands -->"
FOLDERS = {
    "memory": "what people wrote, and what of it comes back",
    "simulator": "who speaks next, and what they say",
    "evaluation": "was it like them: probes, baselines, the report, the command",
    "examples": "whole programs, run by the tests",
    "bench": "what a turn costs",
    "docs": "decisions, and this tree",
}


def lines() -> Iterator[str]:
    """The tree, one line a file. Raises ValueError for a module that does not say what it is for."""
    for folder, what in FOLDERS.items():
        yield f"{folder + '/':<28}{what}"
        for path in sorted((ROOT / folder).rglob("*.py")):
            said = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
            inner = path.relative_to(ROOT / folder)
            if not said:
                raise ValueError(f"{folder}/{inner} has no docstring; its first sentence stands in the README's tree")
            if inner.name == "__init__.py":
                if inner.parent.name:
                    yield f"  {str(inner.parent) + '/':<26}{first_sentence(said)}"
            else:
                indent = "  " * len(inner.parts)
                yield f"{indent}{inner.name:<{28 - len(indent)}}{first_sentence(said)}"


def first_sentence(docstring: str) -> str:
    return docstring.splitlines()[0].partition(". ")[0].removesuffix(".")


def commands() -> Iterator[str]:
    """Each command with what its help says it does."""
    from evaluation.cli import app

    for command in app.registered_commands:
        said = (command.callback.__doc__ or "").strip().splitlines()[0]
        name = command.name or command.callback.__name__.strip("_").replace("_", "-")
        yield f"personaconv {name:<14}{said}"


def blocks() -> list[tuple[str, str, str]]:
    """(start marker, end marker, what stands between) of each generated part."""
    return [
        (*marks, "\n".join([marks[0], "```", *made, "```", marks[1]]))
        for marks, made in ((COMMANDS, commands()), (TREE, lines()))
    ]


def renewed(readme: str) -> str:
    """`readme` with its generated parts made anew."""
    for start, end, block in blocks():
        head, _, rest = readme.partition(start)
        _, _, tail = rest.partition(end)
        readme = head + block + tail
    return readme


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    file = ROOT / "README.md"
    file.write_text(renewed(file.read_text(encoding="utf-8")), encoding="utf-8")
