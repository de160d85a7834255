"""The report: one HTML file made from stored turns and rows; no script, no network, and corpus text stays text.

Every value that reaches the page passes plain() (controls and direction marks become visible) and then HTML escaping;
a content security policy allows nothing but the one style sheet, by its hash.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from evaluation import baselines, metrics, plot, tasks
from evaluation.arms import arms
from evaluation.played import played
from evaluation.rows import MODEL, Scored
from evaluation.scoring import BASELINE, SKILL, Cell
from evaluation.tasks import Value
from evaluation.transcript import plain, when
from evaluation.verdict import Standing, best_of, number, standings, system, verdict
from memory.errors import UnknownName
from memory.message import Message
from simulator.records import ASIDE, Remembered, Turn

if TYPE_CHECKING:
    from memory.store import MemoryStore

FILE = "report.html"
LONGEST = 4_000  # characters of one text; the rest is counted
MODES = {
    "replay": "Each turn answers the real thread; probes judge the real message.",
    "rollout": "Simulated messages replace the real ones; probes judge the simulated message against the score"
    " of the real one in its place. Baselines always see the real thread.",
    "free": "A new thread, by a scheduler: nobody really wrote here, so nothing is held against a truth.",
    "branch": "Another run's turns up to its first intervention, its own from there on.",
}


def write_report(
    run: Path,
    manifest: dict[str, Any],
    turns: Sequence[Turn],
    scored: Sequence[Scored],
    cells: Sequence[Cell],
    store: MemoryStore,
) -> Path:
    """Writes run/report.html as a whole, or not at all, and returns its path."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    here = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader(here),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda v: plain(v, show=True) if isinstance(v, str) and not isinstance(v, Markup) else v,
    )
    environment.filters.update(long=_long, number=number, system=system, value=_value, when=when)
    css = (here / "report.css").read_text(encoding="utf-8")
    page = environment.get_template("report.html").render(
        css=Markup(css),  # our own file
        css_hash=b64encode(sha256(css.encode()).digest()).decode(),
        run=manifest.get("name") or manifest.get("run") or run.name,
        modes=_modes(cells),
        many_runs=len({c.run for c in cells}) > 1,
        people=len({r.user for r in scored}),
        failures=_failures(scored),
        cost=_cost(turns),
        drift=plot.drift(scored),
        manifest=[(key, _shown(value)) for key, value in _flat(manifest)],
        stamps=_stamps(cells),
        threads=_threads(turns, scored, store),
        arms=arms(run, manifest, turns),
    )
    draft = run / f"{FILE}.new"
    draft.write_text(page, encoding="utf-8")
    draft.replace(run / FILE)
    return run / FILE


def _long(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} [... and {len(text) - LONGEST:,} more characters]"


def _value(found: Value) -> str:
    return found if isinstance(found, str) else f"{found:,.10g}".replace("-", "−")


def _modes(cells: Sequence[Cell]) -> list[dict[str, Any]]:
    """Per run and mode: the verdict and a table for each task."""
    found = standings(cells)
    keys = list(dict.fromkeys((s.run, s.mode) for s in found))
    return [
        {
            "run": run,
            "mode": mode,
            "about": MODES.get(mode, ""),
            "verdict": verdict([s for s in found if (s.run, s.mode) == (run, mode)]),
            "tasks": [
                _task([c for c in cells if (c.run, c.mode, c.task) == (run, mode, s.task)], s)
                for s in found
                if (s.run, s.mode) == (run, mode)
            ],
        }
        for run, mode in keys
    ]


def _task(cells: list[Cell], standing: Standing) -> dict[str, Any]:
    columns = metrics.headline(cells[0].kind)
    further = [c for c in metrics.of_kind(cells[0].kind) if not c.headline]
    best = {c.name: best_of(cells, c) for c in columns}
    mean = next(c for c in columns if c.item)
    about = {BASELINE + b.name: b.about for b in baselines.BASELINES}
    rows = [
        {
            "name": system(cell.system),
            "about": about.get(cell.system, ""),
            "model": cell.system == MODEL,
            "hindsight": cell.hindsight,
            "values": [
                (cell.metrics[c.name], not cell.hindsight and cell.metrics[c.name] == best[c.name]) for c in columns
            ],
            "further": [cell.metrics[c.name] for c in further],
            "per_person": cell.people[mean.name],
            "cell": cell,
        }
        for cell in cells
    ]
    return {
        "name": cells[0].task,
        "question": tasks.load(cells[0].task).QUESTION,
        "columns": columns,
        "further": further,
        "skilled": cells[0].kind in SKILL,
        "mean": mean,
        "rows": rows,
        "model": next(c for c in cells if c.system == MODEL),
        "standing": standing,
    }


def _failures(scored: Sequence[Scored]) -> list[dict[str, Any]]:
    """Failed answers of the model by class: counts per task and the first reason given."""
    failed = [r for r in scored if r.system == MODEL and r.failure is not None]
    names = sorted({r.failure for r in failed if r.failure})
    kinds = sorted({r.task for r in scored})
    return [
        {
            "name": name,
            "counts": [(task, sum(r.failure == name and r.task == task for r in failed)) for task in kinds],
            "reason": next(
                (r.reason or r.answer or "" for r in failed if r.failure == name and (r.reason or r.answer)), ""
            ),
        }
        for name in names
    ]


def _cost(turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """Calls, tokens and seconds per ask, and in all."""
    asks = sorted({t.ask for t in turns})
    groups = [(ask, [t for t in turns if t.ask == ask]) for ask in asks]
    return [_spent(name, group) for name, group in [*groups, ("all", list(turns))] if group]


def _spent(name: str, turns: list[Turn]) -> dict[str, Any]:
    done = [t.completion for t in turns if t.completion is not None]
    told = [c for c in done if c.cached is not None and c.tokens_in]
    read = sum(c.tokens_in or 0 for c in told)
    return {
        "name": name,
        "calls": len(turns),
        "retries": sum(t.attempts - 1 for t in turns if t.attempts),
        "tokens_in": sum(c.tokens_in or 0 for c in done),
        "cached": sum(c.cached or 0 for c in told) / read if read else None,
        "tokens_out": sum(c.tokens_out or 0 for c in done),
        "seconds": sum(c.seconds for c in done),
        "median": median(c.seconds for c in done) if done else None,
    }


def _stamps(cells: Sequence[Cell]) -> list[tuple[str, str]]:
    titles = {m.name: m.title for m in metrics.METRICS}
    return list(dict.fromkeys((titles[name], stamp) for c in cells for name, stamp in c.stamps.items()))


def _flat(value: Any, prefix: str = "") -> list[tuple[str, Any]]:
    if not isinstance(value, dict) or not value:
        return [(prefix, value)]
    return [pair for key, inner in value.items() for pair in _flat(inner, f"{prefix}.{key}" if prefix else str(key))]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _threads(turns: Sequence[Turn], scored: Sequence[Scored], store: MemoryStore) -> list[dict[str, Any]]:
    """Per run, mode and thread, the slots in order of time, each with its reply and probes."""
    answers = {(r.run, r.mode, r.thread, r.slot, r.repeat, r.task): r for r in scored if r.system == MODEL}
    said = {_place(t): t.words for t in turns if t.ask == "reply" and t.words is not None}
    slots: dict[tuple[str, str, str], dict[tuple[int, str, int], list[Turn]]] = {}
    known = played(turns, store)
    for turn in turns:
        if turn.ask in ASIDE:
            continue
        here = slots.setdefault((turn.run, turn.mode, turn.slot.thread), {})
        here.setdefault((turn.slot.time, turn.slot.id, turn.repeat), []).append(turn)
    found = []
    for (run, mode, id), places in sorted(slots.items()):
        messages = known[id].by_id
        cards = [_card(places[key], answers, said, messages, store) for key in sorted(places)]
        title = next((m.title for m in messages.values() if m.title), id)
        found.append({"run": run, "mode": mode, "id": id, "title": title, "cards": cards})
    return found


def _card(
    turns: list[Turn],
    answers: dict[Any, Scored],
    said: dict[Any, str],
    messages: Mapping[str, Message],
    store: MemoryStore,
) -> dict[str, Any]:
    first = turns[0]
    slot, parent = first.slot, messages.get(first.slot.parent)
    rows = [answers[(*_place(first), task)] for task in tasks.names() if (*_place(first), task) in answers]
    reply = next((r for r in rows if r.task == "generation"), None)
    written = (
        None if first.mode == "replay" else said.get((first.run, first.mode, slot.thread, slot.parent, first.repeat))
    )
    return {
        "slot": slot,
        "turn": first,
        "answers": (parent.author or "somebody") if parent else "somebody",
        "parent": written or (parent.words if parent else ""),
        "parent_simulated": written is not None,
        "real": None if slot.made else messages[slot.id],
        "reply": reply,
        "probes": [r for r in rows if r.kind != "text"],
        "remembered": [(item, _words(item, store)) for item in first.recalled],
        "prompts": turns,
    }


def _place(turn: Turn) -> tuple[str, str, str, str, int]:
    return turn.run, turn.mode, turn.slot.thread, turn.slot.id, turn.repeat


def _words(item: Remembered, store: MemoryStore) -> str:
    try:
        return store.corpus.message(item.id).words
    except UnknownName:
        made = item.id.startswith("note_")
        gone = "(no longer in the corpus)"
        return "(a note the memory made: its words are in the prompt alone)" if made else gone
