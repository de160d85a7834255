"""What is compared: a run, or each cell of a bench folder, as its model's rows and what decided them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from evaluation.rows import MODEL, Scored, load
from evaluation.stored import SCORES
from memory.errors import BadInput, Missing
from simulator import runlog

BENCH_ROWS = "rows.ndjson"
CELL = ("setting", "policy", "model", "seed")
OWN = {f.name for f in fields(Scored)}

Item = tuple[str, str, str, int]  # task, thread, slot, repeat


@dataclass(frozen=True)
class Side:
    """`rows`: the model's, those with a known truth, by item. `config`: what decided the answers, flat."""

    name: str
    rows: Mapping[Item, Scored]
    config: Mapping[str, str] = field(default_factory=dict)


def sides(folders: Sequence[Path]) -> list[Side]:
    """One for each run folder, one for each cell of each bench folder, in that order; names are unique.

    Raises:
        Missing: a folder that is neither, or has no scores yet. BadInput: scores older than the log, one folder named
        twice.
    """
    if len({f.resolve() for f in folders}) < len(folders):
        raise BadInput("a folder is named twice; name each run or benchmark once")
    found = [side for folder in folders for side in read(folder, len(folders) > 1)]
    if len(found) < 2:
        raise BadInput("there is one side only; name two runs, or a benchmark of two cells")
    return found


def read(folder: Path, named: bool = False) -> list[Side]:
    """The side of a run, or those of a bench folder; `named`: with the folder's name also where it has cells."""
    if (folder / runlog.MANIFEST).exists():
        return [_run(folder)]
    if (folder / BENCH_ROWS).exists():
        return _cells(folder, named)
    raise Missing(f"{folder} is no run folder and has no {BENCH_ROWS} of a benchmark; name one of these")


def side(name: str, rows: Sequence[Scored], config: Mapping[str, str] | None = None) -> Side:
    """A side of rows that are already there. Raises BadInput for two answers of one item."""
    kept: dict[Item, Scored] = {}
    for row in rows:
        if row.system != MODEL or row.truth is None:
            continue
        if (key := (row.task, row.thread, row.slot, row.repeat)) in kept:
            raise BadInput(f"{name} has two answers to {' '.join(map(str, key))}; compare runs of one mode")
        kept[key] = row
    return Side(name, kept, config or {})


def _run(folder: Path) -> Side:
    scores = folder / SCORES
    manifest = runlog.manifest(folder)
    if not scores.exists():
        raise Missing(f"{folder} has no scores yet; make them with: personaconv score {folder}")
    logs = [file.stat().st_mtime for file in folder.rglob(runlog.LOG)]
    if logs and max(logs) > scores.stat().st_mtime:
        raise BadInput(f"{folder} went on after it was scored; score it again with: personaconv score {folder}")
    return side(str(folder), load(scores), flat(manifest.get("decides", {})))


def _cells(folder: Path, many: bool) -> list[Side]:
    rows = []
    for n, line in enumerate((folder / BENCH_ROWS).read_text(encoding="ascii").splitlines(), 1):
        try:
            row = json.loads(line)
            rows.append((row, _scored(row)) if row["system"] == MODEL else None)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BadInput(f"{folder / BENCH_ROWS} line {n} is no row of a benchmark ({error}); run it again") from None
    return _by_cell([row for row in rows if row], str(folder) if many else "")


def cells(rows: Sequence[Mapping[str, Any]], prefix: str = "") -> list[Side]:
    """A side for each cell of a benchmark, of its rows under either protocol."""
    return _by_cell([(row, _scored(row)) for row in rows if row["system"] == MODEL], prefix)


def _by_cell(rows: Sequence[tuple[Mapping[str, Any], Scored]], prefix: str) -> list[Side]:
    found: dict[tuple[str, ...], tuple[dict[str, str], list[Scored]]] = {}
    for row, scored in rows:
        cell = tuple(str(row[name]) for name in CELL)
        config = dict(zip(CELL, cell, strict=True))
        config |= {f"switch.{name}": str(on) for name, on in row.get("switches", {}).items()}
        found.setdefault(cell, (config | {"protocol": row["protocol"]}, []))[1].append(scored)
    return [
        side(" ".join(part for part in (prefix, *cell[:3], f"seed {cell[3]}") if part), own, config)
        for cell, (config, own) in found.items()
    ]


def _scored(row: Mapping[str, Any]) -> Scored:
    if row["protocol"] == "reference":
        from evaluation.benchmark.paired import paired

        return paired(row)
    given = {k: v for k, v in row.items() if k in OWN}
    return Scored(**{**given, "recalled": tuple(row.get("recalled", ()))})


def flat(value: Any, prefix: str = "") -> dict[str, str]:
    if isinstance(value, dict) and value:
        inner = [flat(below, f"{prefix}.{name}".strip(".")) for name, below in value.items()]
        return {name: text for found in inner for name, text in found.items()}
    return {prefix: value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False)}
