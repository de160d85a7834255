"""The page: tables and plots that stand by themselves, then rows and threads packed for its one script to show.

Every value that reaches the page passes plain() (controls and direction marks become visible) and then HTML escaping;
the script sets text alone, never markup. A content security policy allows nothing but the one style sheet and the one
script, each by its hash.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation.arms import Arms, arms
from evaluation.metrics import METRICS
from evaluation.rendering.html import Table, table
from evaluation.report.first import ends, modes, rows_of
from evaluation.report.names import named
from evaluation.report.packed import Lines, columns, pack
from evaluation.report.threads import Played, threads
from evaluation.scoring import Cell
from evaluation.sheet import Sheet
from evaluation.stored import Scores
from evaluation.transcript import plain
from evaluation.verdict import number, system
from evaluation.views.both_arms import both_arms
from evaluation.views.systems import MAIN
from simulator import runlog
from simulator.records import Turn

if TYPE_CHECKING:
    from memory.store import MemoryStore

FILE = "report.html"
HERE = Path(__file__).parent
LONGEST = 4_000  # characters of one setting; the rest is counted
SCRIPTS = ("page.js", "rows.js", "threads.js")
SECTIONS = (  # id, title, and how the names of its sheets begin
    ("compared", "The runs compared", ("contrasts", "configuration")),
    ("decomposition", "Does memory help?", ("memory",)),
    ("drift", "Drift", ("drift", "voice", "merging", "repetition", "prompt-to-line", "stops")),
    ("identity", "Is it the person?", ("attribution", "separability", "sty", "copying", "personalisation")),
    ("judges", "Judges", ("judge",)),
    ("distributions", "Distributions and threads", ("distributions", "mauve", "shape")),
    ("calibration", "Calibration", ("calibration",)),
    ("scatter", "Predicted and true scores", ("scatter",)),
    ("communities", "Communities", ("communities",)),
    ("people", "People", ("people",)),
    ("arms", "Both arms", ("arms",)),
    ("further", "Further analyses", ()),
    ("cost", "Cost", ("cost",)),
    ("failures", "Failures", ("failures",)),
)


@dataclass(frozen=True)
class Other:
    """Another run that stands beside the first. `name`: of its folder."""

    manifest: dict[str, Any]
    turns: Sequence[Turn]
    scores: Scores
    store: MemoryStore
    name: str


@dataclass(frozen=True)
class Against:
    """`sheets`: tables of all of the runs, the first one among them, paired."""

    others: Sequence[Other] = ()
    sheets: Sequence[Sheet] = ()


def write_report(
    run: Path,
    manifest: dict[str, Any],
    turns: Sequence[Turn],
    scores: Scores,
    store: MemoryStore,
    against: Against = Against(),
) -> Path:
    """Writes run/report.html as a whole, or not at all, and returns its path."""
    from markupsafe import Markup

    css = (HERE / "page.css").read_text(encoding="utf-8")
    js = "".join((HERE / name).read_text(encoding="utf-8") for name in SCRIPTS)
    both = [scores, *(other.scores for other in against.others)]
    cells, scored = [c for s in both for c in s.cells], [r for s in both for r in s.rows]
    branch = arms(run, manifest, turns)
    more = [*against.sheets, *([both_arms(branch)] if branch else [])]
    sections, long = _sections([*more, *scores.sheets])
    played = [Played(turns, _spec(manifest), store), *_branched(run, manifest, turns, store, branch)]
    played += [Played(other.turns, _spec(other.manifest), other.store) for other in against.others]
    lines = Lines()
    called = _called(run, manifest, against.others)
    rows = columns(scored, lines)
    rows["safe"]["run"] |= {n: named(called[id]) for n, id in enumerate(rows["words"]["run"]) if id in called}
    found = threads(played, scored, lines, called)
    parts = modes(cells, scored, [v for s in both for v in s.verdicts])
    packed = {"lines": list(lines.known), "rows": rows, "threads": found, "sheets": long}
    name = _titled(str(manifest.get("name") or manifest.get("run") or run.name), called)
    told = [(name, manifest)]
    told += [(_titled(str(other.manifest["run"]), called), other.manifest) for other in against.others]
    template = _environment().get_template("page.html")
    page = template.render(
        css=Markup(css),  # our own files
        css_hash=_digest(css),
        js=Markup(js),
        js_hash=_digest(js),
        packed=[(name, Markup(pack(content))) for name, content in packed.items()],  # base64
        run=name,
        others=[of for of, _ in told[1:]],
        modes=[{**part, "run": called.get(part["run"], part["run"])} for part in parts],
        many_runs=len({c.run for c in cells}) > 1,
        people=len({r.user for r in scored}),
        sections=sections,
        manifests=[(of, [(key, _shown(value)) for key, value in _flat(content)]) for of, content in told],
        stamps=_stamps(cells),
        rows=len(scored),
        threads=len(found),
    )
    draft = run / f"{FILE}.new"
    draft.write_text(page, encoding="utf-8")
    draft.replace(run / FILE)
    return run / FILE


def _called(run: Path, manifest: dict[str, Any], others: Sequence[Other]) -> dict[str, str]:
    """What several runs are called by: the names of their folders, where no two are alike; {} else."""
    names = {str(manifest.get("run")): run.resolve().name} | {str(o.manifest["run"]): o.name for o in others}
    return names if 1 < len(names) == len({*names.values()}) else {}


def _titled(id: str, called: Mapping[str, str]) -> str:
    return f"{named(called[id])} ({named(id)})" if id in called else named(id)


@cache
def _environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    found = Environment(
        loader=FileSystemLoader(HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda v: plain(v, show=True) if isinstance(v, str) and not isinstance(v, Markup) else v,
    )
    found.filters.update(long=_long, number=number, system=system, rows_of=rows_of, ends=ends)
    return found


def _sections(sheets: Sequence[Sheet]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The sections that have a sheet, in order, and by name all rows of the sheets that are too long to stand there."""
    held: dict[str, list[Table]] = {}
    long = {}
    for sheet in sheets:
        if sheet.name.startswith(MAIN):
            continue  # a main table, which has a form of its own
        made, rest = table(sheet, named)
        place = next((id for id, _, begin in SECTIONS if sheet.name.startswith(begin)), "further")
        held.setdefault(place, []).append(made)
        if rest:
            long[sheet.name] = {"words": made.words, "rows": rest}
    return [{"id": id, "title": title, "tables": held[id]} for id, title, _ in SECTIONS if id in held], long


def _branched(
    run: Path, manifest: dict[str, Any], turns: Sequence[Turn], store: MemoryStore, found: Arms | None
) -> Iterator[Played]:
    """The run that this one is a branch of, if it is where the manifest says: its turns of the same threads."""
    if found is not None and not found.missing:
        place = run / manifest["parent"]
        here = {turn.slot.thread for turn in turns}
        theirs = [turn for turn in runlog.turns(place) if turn.slot.thread in here]
        yield Played(theirs, _spec(runlog.manifest(place)), store)


def _spec(manifest: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = manifest.get("decides", {}).get("spec", {})
    return found


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def _long(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} [... and {len(text) - LONGEST:,} more characters]"


def _stamps(cells: Sequence[Cell]) -> list[tuple[str, str]]:
    titles = {m.name: m.title for m in METRICS}
    return list(dict.fromkeys((titles[name], stamp) for c in cells for name, stamp in c.stamps.items()))


def _flat(value: Any, prefix: str = "") -> list[tuple[str, Any]]:
    if not isinstance(value, dict) or not value:
        return [(prefix, value)]
    return [pair for key, inner in value.items() for pair in _flat(inner, f"{prefix}.{key}" if prefix else str(key))]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
