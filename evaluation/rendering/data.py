"""Sheets as JSON and back, without loss; schema.json beside this file says the form in the terms of JSON Schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from evaluation.sheet import Column, Plot, Sheet
from evaluation.stats import Interval
from memory.errors import BadInput

SCHEMA = Path(__file__).with_name("schema.json")
UNDEFINED = {"undefined": True}  # nan, which JSON has no word for


def schema() -> dict[str, Any]:
    """The published JSON Schema (2020-12) of a results file."""
    found: dict[str, Any] = json.loads(SCHEMA.read_text(encoding="utf-8"))
    return found


def to_json(sheets: Sequence[Sheet], about: Mapping[str, Any]) -> str:
    """A results file: `about` says what it was made from. The same sheets give the same bytes, ASCII."""
    content = {**about, "sheets": list(sheets)}
    return json.dumps(defined(content), indent=1, sort_keys=True, allow_nan=False) + "\n"


def from_json(text: str, source: Path) -> tuple[list[Sheet], dict[str, Any]]:
    """The sheets of a results file, and what it was made from. Raises BadInput, naming `source`, where it is none."""
    try:
        content = json.loads(text)
        sheets = [_read(given) for given in content.pop("sheets")]
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadInput(f"{source} is no results file ({error!r}); make it again with: personaconv score") from None
    return sheets, content


def defined(value: Any) -> Any:
    """`value` with every nan in a form that JSON has; records become mappings of their fields."""
    if is_dataclass(value):
        return {field.name: defined(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: defined(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [defined(inner) for inner in value]
    return UNDEFINED if isinstance(value, float) and not math.isfinite(value) else value


def undefined(value: Any) -> Any:
    """What defined() made, with nan again; records stay mappings."""
    if value == UNDEFINED:
        return math.nan
    if isinstance(value, dict):
        return {key: undefined(inner) for key, inner in value.items()}
    return [undefined(inner) for inner in value] if isinstance(value, list) else value


def _read(given: Any) -> Sheet:
    return Sheet(
        given["name"],
        given["title"],
        given["about"],
        tuple(Column(**column) for column in given["columns"]),
        tuple(tuple(_value(value) for value in row) for row in given["rows"]),
        tuple(given["where"]),
        Plot(**given["plot"]) if given["plot"] else None,
    )


def _value(value: Any) -> Any:
    found = undefined(value)
    return Interval(**found) if isinstance(found, dict) else found
