"""A policy is a callable in a file: the folder is the register, the file name is the name.

`load(memory.retrievers, "dense:k=8")` gives `Policy(k=8)` of memory/retrievers/dense.py; "package.module:Name" loads a
foreign one. Options are the dataclass fields of the policy, read from text by their default's type.
"""

from __future__ import annotations

import dataclasses
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from memory.errors import BadInput, UnknownName


def names(folder: ModuleType) -> list[str]:
    """Names of the policies in a package folder, sorted."""
    [root] = folder.__path__
    return sorted(p.stem for p in Path(root).glob("*.py") if not p.stem.startswith("_"))


def load(folder: ModuleType, spec: str, **options: Any) -> Any:
    """The policy named by `spec`: "name", "name:k=8,b=0.5" or "package.module:Class[:k=8]".

    Raises:
        UnknownName: no such file; the message lists the folder.
        BadInput: an option that the policy does not have, or a value of another type.
    """
    head, _, tail = spec.partition(":")
    name, _, options_of_name = tail.partition(":")
    if name.isidentifier():
        tail = options_of_name
        kind = _foreign(head, name)
    elif head in names(folder):
        kind = import_module(f"{folder.__name__}.{head}").Policy
    else:
        raise UnknownName(folder.__name__.rpartition(".")[2].removesuffix("s"), head, names(folder))
    given = dict(part.partition("=")[::2] for part in tail.split(",") if part)
    return kind(**{**_typed(kind, spec, given), **options})


def sized(made: Any, k: int) -> Any:
    """The policy `made` with its option k set to `k`; as it is where it has none."""
    has = dataclasses.is_dataclass(made) and any(f.name == "k" for f in dataclasses.fields(made))
    return dataclasses.replace(made, k=k) if has else made


def _foreign(module: str, name: str) -> Any:
    """A class of any module that can be imported here; the working folder is looked in too."""
    if "" not in sys.path:
        sys.path.append("")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise BadInput(f"cannot load policy {module}:{name}: {error}; give it as package.module:Class") from error


def _typed(kind: Any, spec: str, given: dict[str, str]) -> dict[str, Any]:
    fields = {f.name: f.default for f in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else {}
    typed: dict[str, Any] = {}
    for key, text in given.items():
        if key not in fields:
            raise UnknownName(f"option of {spec.partition(':')[0]}", key, fields)
        like: Any = fields[key]
        try:
            typed[key] = text in ("1", "true", "yes") if isinstance(like, bool) else type(like)(text)
        except (TypeError, ValueError):
            raise BadInput(f"option {key}={text!r} of {spec!r} must be {type(like).__name__} like {like!r}") from None
    return typed
