"""Writes the tree in README.md: every module with the first sentence of its docstring. A test compares the two."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
START, END = "<!-- tree: made by `make docs` -->", "<!-- /tree -->"
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


def block() -> str:
    """What stands between the markers, markers included."""
    return "\n".join([START, "```", *lines(), "```", END])


def with_tree(readme: str) -> str:
    """`readme` with its tree made anew."""
    head, _, rest = readme.partition(START)
    _, _, tail = rest.partition(END)
    return head + block() + tail


if __name__ == "__main__":
    file = ROOT / "README.md"
    file.write_text(with_tree(file.read_text(encoding="utf-8")), encoding="utf-8")
