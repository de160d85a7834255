"""The command `personaconv`: thin over the Python API. Each command imports what it needs when it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from evaluation.benchmark.options import bench
from evaluation.judge_command import judge
from evaluation.simulating import BaseURL, simulate
from evaluation.stopping import FAREWELL, STOPPED
from memory.errors import BadInput, PersonaconvError

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Simulate threads with persona agents that remember one real person each, and score how like them they are.",
)

WrongUse: type[Any] = typer.BadParameter.__mro__[2]  # the parent of all mistakes in options and arguments
Sources = Annotated[list[Path], typer.Argument(help="Dumps, listings, ConvoKit, Parquet; files or folders.")]
Run = Annotated[Path, typer.Argument(help="A run folder.")]
Corpus = Annotated[Path | None, typer.Option(help="Where the corpus is, if it moved.")]
Tables = Annotated[
    Path | None, typer.Option(help="Also write rows as Parquet, and all tables as Markdown, LaTeX, JSON and Parquet.")
]


@app.command("import")
def import_(
    sources: Sources,
    out: Annotated[Path, typer.Option("--out", "-o", help="The corpus folder to make or add to.")],
    embedder: Annotated[str, typer.Option(help="minilm, bag, sentence-transformers:<model>, or none.")] = "minilm",
    keep_names: Annotated[bool, typer.Option(help="Do not pseudonymise people.")] = False,
    allow_truncated: Annotated[bool, typer.Option(help="Accept an archive that breaks off.")] = False,
    strict: Annotated[bool, typer.Option(help="Fail on any row that was repaired or dropped.")] = False,
) -> None:
    """Read dumps into a corpus folder: messages, reply trees, vectors."""
    from evaluation.console import Live, show
    from evaluation.steps import Steps
    from memory.importing import import_corpus

    with Live() as live:
        report = import_corpus(
            sources,
            out,
            embedder=embedder,
            keep_names=keep_names,
            allow_truncated=allow_truncated,
            strict=strict,
            progress=Steps(live),
        )
    show(f"Import into {out}", ["what", "reason", "rows", "examples"], report.rows(), right=["rows"])
    problems = [f"{n} left out, {reason}: {where}" for reason, n, where in report.lost] + report.problems
    if problems:
        raise BadInput(f"{out} is made, but {'; '.join(problems)}; mend the source and import it again")


@app.command()
def describe(
    corpus: Annotated[Path, typer.Argument(help="A corpus folder made by import.")],
    enough: Annotated[list[str] | None, typer.Option(help="History for a persona, e.g. 10:3; repeatable.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Say what a corpus holds: counts, communities, lengths of histories, depths."""
    from evaluation.description import show_corpus

    show_corpus(corpus, enough, as_json)


@app.command()
def forget(
    corpus: Annotated[Path, typer.Argument(help="A corpus folder made by import.")],
    user: Annotated[str, typer.Argument(help="A person, by pseudonym or, with the key beside the folder, by name.")],
) -> None:
    """Remove a person's words, names and vectors from a corpus for good."""
    from evaluation.console import Live
    from evaluation.description import farewell
    from memory.forget import forget

    with Live() as live:
        done = forget(corpus, user, live)
    print(farewell(done))


@app.command()
def export(
    corpus: Annotated[Path, typer.Argument(help="A corpus folder made by import.")],
    to: Annotated[str, typer.Option(help="convokit (a folder) or parquet (a file).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="What to write; it must not be there yet.")],
) -> None:
    """Write a corpus for other programs; imported again, it is the same corpus."""
    from evaluation.console import Live
    from memory.export import export

    with Live() as live:
        print(f"{export(corpus, out, to, live):,} messages in {out}")


app.command()(simulate)


@app.command()
def score(run: Run, corpus: Corpus = None, tables: Tables = None) -> None:
    """Add or redo all metrics and analyses of a run from its stored turns; no model is called."""
    from evaluation.results import show_scores

    show_scores(run, corpus, tables)


@app.command()
def report(
    run: Run,
    corpus: Corpus = None,
    against: Annotated[
        list[Path] | None, typer.Option(help="Another run, to compare with and show side by side; repeatable.")
    ] = None,
) -> None:
    """Write the report of a run from its stored scores, which are made first where they are missing or too old."""
    from evaluation.results import show_report

    show_report(run, corpus, against or [])


@app.command()
def view(
    run: Run,
    thread: Annotated[str | None, typer.Option(help="One thread by id; default all.")] = None,
    corpus: Corpus = None,
) -> None:
    """Print the real and the simulated thread as one tree."""
    from evaluation.results import transcripts

    print(transcripts(run, corpus, thread))


@app.command()
def compare(
    folders: Annotated[list[Path], typer.Argument(help="Runs or bench folders; the first is what others are held to.")],
    common: Annotated[bool, typer.Option("--common", help="Compare the items that both have, and only these.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown instead of tables.")] = False,
) -> None:
    """Compare runs, or cells of a benchmark, on the same items: differences, intervals, tests, effects."""
    from evaluation.comparing import show_comparison

    show_comparison(folders, common, as_json, as_markdown)


@app.command()
def policies() -> None:
    """List retrievers, schedulers and tasks with their options, what they cost and where they come from."""
    from evaluation.console import show
    from evaluation.running import POLICY_COLUMNS, policy_rows

    show("Policies", POLICY_COLUMNS, policy_rows())


@app.command()
def recall(  # noqa: PLR0913 - the options of a command are its parameters
    corpus: Annotated[Path, typer.Argument(help="A corpus folder made by import.")],
    user: Annotated[str, typer.Argument(help="A person of the corpus.")],
    text: Annotated[str, typer.Argument(help="What is being answered.")],
    before: Annotated[str, typer.Option(help="The moment: 2020-05-01, 2020-05-01T12:00 (UTC), or seconds since 1970.")],
    policy: Annotated[str, typer.Option(help="A policy, e.g. dense:k=8; see personaconv policies.")] = "dense",
    model: Annotated[str, typer.Option(help="For policies that ask a model.")] = "embedded",
    base_url: BaseURL = None,
) -> None:
    """Show what a person would be reminded of before a moment, and why."""
    from evaluation.recalling import show_recalled

    show_recalled(corpus, user, text, before, policy, model, base_url)


app.command()(bench)
app.command()(judge)


@app.command("bench-recall")
def bench_recall(
    corpus: Annotated[Path, typer.Argument(help="A corpus folder made by import.")],
    policy: Annotated[
        list[str] | None, typer.Option(help="A policy; repeatable. Default all that need no model.")
    ] = None,
    k: Annotated[str, typer.Option(help="How many messages are looked at: numbers, with commas.")] = "1,3,5,10",
    each: Annotated[int, typer.Option(help="Most comments of a person, drawn by seed.")] = 20,
    people: Annotated[int, typer.Option(help="Most people, drawn by seed.")] = 1000,
    seed: Annotated[int, typer.Option(help="Decides all that is drawn.")] = 0,
) -> None:
    """Measure without a model what each policy brings back of what belongs there, controls beside it."""
    from evaluation.recall_quality import show_quality

    show_quality(corpus, policy, k, each=each, people=people, seed=seed)


@app.command()
def doctor(
    folder: Annotated[Path, typer.Argument(help="A folder that should be writable.")] = Path(),
    base_url: BaseURL = None,
    deep: Annotated[bool, typer.Option(help="Also start the embedded model and ask it something.")] = False,
) -> None:
    """Say which parts work here, and what to do about those that do not."""
    from evaluation.console import show
    from evaluation.doctor import checks

    found = list(checks(folder=folder, base_url=base_url, deep=deep))
    rows = [("ok" if c.ok else "FAILED", c.name, c.found, "" if c.ok else c.todo) for c in found]
    show("Parts", ["", "part", "found", "what to do"], rows)
    if not all(check.ok for check in found):
        raise typer.Exit(1)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command. Exit status: 0 done, 1 done with findings, 2 a mistake to mend, 130 stopped by Ctrl-C."""

    def command() -> int | None:
        status: int | None = app(arguments, prog_name="personaconv", standalone_mode=False)
        if status == STOPPED:  # what typer makes of Ctrl-C, without a word
            raise KeyboardInterrupt
        return status

    return guarded(command)


def guarded(work: Callable[[], int | None]) -> int:
    """Does `work` and gives its exit status; a user's mistake becomes one sentence, never a traceback."""
    try:
        return work() or 0
    except WrongUse as error:
        error.show()
        return 2
    except PersonaconvError as error:
        return _say(str(error))
    except OSError as error:
        return _say(f"{error.filename or 'the system'}: {error.strerror or error}; mend that and run the command again")
    except (KeyboardInterrupt, typer.Abort):
        print(FAREWELL, file=sys.stderr)
        return STOPPED


def _say(sentence: str) -> int:
    print(f"personaconv: {sentence}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
