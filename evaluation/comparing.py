"""personaconv compare: runs or cells of a benchmark on the same items, each later one against the first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.contrast import Contrast, contrast
from evaluation.metrics import headline
from evaluation.rows import MODEL, Scored
from evaluation.sheet import Column, Sheet
from evaluation.sides import Item, Side, sides
from evaluation.stats import holm
from memory.errors import BadInput

NOTE = (
    "Difference: the second minus the first, on the same items. Intervals are at 95 % and count people. p: swapping all"
    " answers of a person between the two (McNemar's exact where nobody has two). Holm: p times what a family of"
    " {family} takes, so that below 0.05 the whole table holds. Detectable: the smallest difference this pairing finds"
    " with 80 % power. Failed answers are in every value."
)


@dataclass(frozen=True, slots=True)
class Line:
    """One contrast of `second` with the first side. `failed`: answers, the first's and the second's."""

    task: str
    second: str
    found: Contrast
    p_holm: float
    failed: tuple[int, int]


@dataclass(frozen=True)
class Comparison:
    """`config`: what differs in how the sides were made, one row a field. `family`: tests that Holm's p counts.
    `apart`: (side, task) of those that share no item of a task with the first."""

    names: tuple[str, ...]
    config: Sheet
    contrasts: Sheet
    family: int
    lines: tuple[Line, ...]
    apart: tuple[tuple[str, str], ...] = ()

    @property
    def sheets(self) -> tuple[Sheet, Sheet]:
        return self.config, self.contrasts


def compare(found: Sequence[Side], common: bool = False) -> Comparison:
    """Every later side against the first, on each task's headline metrics. `common`: on the items that both have.

    Raises:
        BadInput: sides answer different items (unless `common`), share none, or their rows were made otherwise.
    """
    first, *others = found
    bare: list[tuple[str, str, Contrast, tuple[int, int]]] = []
    apart: list[tuple[str, str]] = []
    for other in others:
        shared = _shared(first, other, common)
        asked = dict.fromkeys(item[0] for side in (first, other) for item in side.rows)
        apart += [(other.name, task) for task in asked if task not in {item[0] for item in shared}]
        for task in dict.fromkeys(item[0] for item in shared):
            a, b = ([side.rows[item] for item in shared if item[0] == task] for side in (first, other))
            for metric in headline(a[0].kind):
                if all(metric.item in row.metrics for row in (*a, *b)) or not metric.item:
                    _agree(first, other, task, metric.item, a, b)
                    bare.append((task, other.name, contrast(metric, a, b), (_failed(a), _failed(b))))
    adjusted = holm([c.p for _, _, c, _ in bare])
    lines = tuple(Line(task, name, c, p, n) for (task, name, c, n), p in zip(bare, adjusted, strict=True))
    family = sum(not math.isnan(p) for p in adjusted)
    names, sheet = tuple(s.name for s in found), _sheet(first.name, lines, family)
    return Comparison(names, _config(found), sheet, family, lines, tuple(apart))


def _shared(first: Side, other: Side, common: bool) -> list[Item]:
    shared = sorted(first.rows.keys() & other.rows.keys())
    apart = first.rows.keys() ^ other.rows.keys()
    if apart and not (common and shared):
        task, thread, slot, repeat = min(apart)
        raise BadInput(
            f"{first.name} and {other.name} answer different items: {len(shared)} are shared, "
            f"{len(first.rows) - len(shared)} and {len(other.rows) - len(shared)} are not, e.g. {task} of {slot} in "
            f"{thread}, repeat {repeat}; " + ("compare what is shared with --common" if shared else _why(first, other))
        )
    for item in shared:
        if first.rows[item].truth != other.rows[item].truth or first.rows[item].user != other.rows[item].user:
            raise BadInput(
                f"{first.name} and {other.name} hold different truths for {' '.join(map(str, item))}; "
                "compare runs over the same data"
            )
    return shared


def _why(first: Side, other: Side) -> str:
    """Nothing is shared."""
    if {first.config.get("protocol"), other.config.get("protocol")} == {"reference"}:
        return (
            "nothing is shared, as each setting of the reference takes the first items of its own order; run all "
            "of them (items: 0), or compare one setting of two models"
        )
    return "nothing is shared"


def _agree(first: Side, other: Side, task: str, item: str, a: Sequence[Scored], b: Sequence[Scored]) -> None:
    ways = {row.stamps.get(item, "") for row in (*a, *b)}
    if len(ways) > 1:
        raise BadInput(
            f"{item} of {task} was made in two ways in {first.name} and {other.name} ({'; '.join(sorted(ways))}); "
            "score both again"
        )


def _failed(rows: Sequence[Scored]) -> int:
    return sum(row.failure is not None for row in rows)


def _config(found: Sequence[Side]) -> Sheet:
    """Fields that are not the same on all sides; "" where a side has none."""
    names = dict.fromkeys(name for side in found for name in side.config)
    rows = [(name, *(side.config.get(name, "") for side in found)) for name in names]
    apart = tuple(row for row in rows if len(set(row[1:])) > 1)
    columns = (Column("field", "field"), *(Column(f"side_{n}", s.name) for n, s in enumerate(found, 1)))
    about = "What decided the answers and is not the same on all sides; nothing else was compared."
    return Sheet("configuration", "What differs in how they were made", about, columns, apart)


def _sheet(first: str, lines: Sequence[Line], family: int) -> Sheet:
    columns = (
        Column("task", "task"),
        Column("metric", "metric"),
        Column("second", f"against {first}"),
        Column("first_value", "first"),
        Column("second_value", "second"),
        Column("difference", "difference", "second - first"),
        Column("p", "p", "of the swap test, or McNemar's", 4),
        Column("p_holm", f"p, Holm of {family}", f"adjusted for {family} tests", 4),
        Column("effect", "effect"),
        Column("measure", "of", "d_z, or McNemar's odds ratio"),
        Column("only_second", "only second", "items that only the second has right"),
        Column("only_first", "only first"),
        Column("mcnemar", "McNemar p", "exact, as if items were independent", 4),
        Column("correlation", "correlation", "of the pair's values"),
        Column("detectable", "detectable", "smallest difference found with 80 % power"),
        Column("pairs", "pairs"),
        Column("users", "users"),
        Column("failed_first", "failed, first"),
        Column("failed_second", "failed, second"),
    )
    rows = []
    for line in lines:
        c = line.found
        rows.append((
            *(line.task, c.metric.name, line.second, c.first, c.second, c.difference, c.p, line.p_holm),
            *(c.effect if c.measure else None, c.measure, *(c.only or (None, None))),
            *(c.mcnemar if c.only else None, c.correlation, c.detectable),
            *(c.difference.n, c.difference.groups, *line.failed),
        ))  # fmt: skip
    where = tuple({"task": line.task, "system": MODEL} for line in lines)
    return Sheet("contrasts", f"Against {first}", NOTE.format(family=family), columns, tuple(rows), where)


def sentences(found: Comparison) -> Iterator[str]:
    """What holds after Holm's correction, one sentence each; what was looked at, and the note to the table."""
    for line in found.lines:
        if line.p_holm < 0.05:
            gap = line.found.difference
            better = (gap.mean > 0) == line.found.metric.higher
            yield (
                f"{line.second} is {'better' if better else 'worse'} than {found.names[0]} at {line.task}: "
                f"{line.found.metric.title} {gap.mean:+.3f} [{gap.low:.3f}, {gap.high:.3f}], Holm p {line.p_holm:.4f}"
            )
    for name, task in found.apart:
        yield f"{task}: {name} shares no item with {found.names[0]}"
    if not any(line.p_holm < 0.05 for line in found.lines):
        yield f"no difference holds after Holm's correction of {found.family} tests"


def show_comparison(folders: Sequence[Path], common: bool, as_json: bool, as_markdown: bool) -> None:
    """What `personaconv compare` prints.

    Raises: what `sides` and `compare` raise, BadInput for both forms at once.
    """
    from evaluation.rendering.data import to_json
    from evaluation.rendering.markdown import markdown
    from evaluation.rendering.text import print_sheet

    if as_json and as_markdown:
        raise BadInput("--json and --markdown exclude each other; choose one")
    found = compare(sides(folders), common)
    if as_json:
        print(to_json(found.sheets, {"sides": list(found.names), "family": found.family}), end="")
        return
    for sheet in found.sheets:
        if as_markdown:
            print(markdown(sheet))
        elif sheet.rows:
            print_sheet(sheet)
        else:
            print("nothing differs in how they were made")
    if not as_markdown:
        print(found.contrasts.about)
        print("\n".join(sentences(found)))
