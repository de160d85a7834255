"""A YAML file of fields, as people write settings and cards by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memory.errors import BadInput, Missing, clip


def fields(path: Path, *, plain: bool = False) -> dict[str, Any]:
    """Field -> value. `plain`: every value as the text it is written as, so that `no` and `007` stay words.

    Raises: Missing where there is no file, BadInput where it is no YAML of fields.
    """
    import yaml  # type: ignore[import-untyped]

    loader = yaml.BaseLoader if plain else yaml.SafeLoader
    try:
        found = yaml.load(path.read_text(encoding="utf-8-sig"), Loader=loader)
    except FileNotFoundError:
        raise Missing(f"no file {path}; name a YAML file of fields") from None
    except (yaml.YAMLError, ValueError) as error:  # a date that is none is a ValueError
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        where = "" if line is None else f" line {line + 1}"
        raise BadInput(f"{path}{where} is not YAML ({clip(str(error).partition(chr(10))[0])}); mend it") from None
    if not isinstance(found, dict) or not all(isinstance(name, str) for name in found):
        raise BadInput(f"{path} holds no fields; write lines like `name: value`")
    return found
