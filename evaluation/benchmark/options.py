"""personaconv bench: its options, each in the place of a field of the YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Many = list[str] | None


def bench(  # noqa: PLR0913 - the options of a command are its parameters
    what: Annotated[str | None, typer.Argument(help="A YAML file of fields; or list, or describe.")] = None,
    config: Annotated[Path | None, typer.Argument(help="The YAML file to describe.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Its folder; an unfinished benchmark there goes on.")] = Path(
        "runs/bench"
    ),
    data: Annotated[str | None, typer.Option(help="A corpus folder (corrected) or benchmark file (reference).")] = None,
    protocol: Annotated[str | None, typer.Option(help="corrected or reference.")] = None,
    task: Annotated[
        Many, typer.Option(help="sentiment, impact, generation, with options like sentiment:positive=>=5; repeatable.")
    ] = None,
    setting: Annotated[Many, typer.Option(help="p-conv, p-nonconv, np-conv, or own/parent ...; repeatable.")] = None,
    policy: Annotated[Many, typer.Option(help="A policy, e.g. dense:k=8; repeatable.")] = None,
    model: Annotated[Many, typer.Option(help="embedded, openai:<model>, <provider>:<model>; repeatable.")] = None,
    base_url: Annotated[str | None, typer.Option(help="An OpenAI-compatible endpoint for the models.")] = None,
    seed: Annotated[list[int] | None, typer.Option(help="Decides what is sampled; repeatable.")] = None,
    items: Annotated[int | None, typer.Option(help="How many items of each cell, 0 for all.")] = None,
    repeats: Annotated[int | None, typer.Option(help="Answers to a question.")] = None,
    likelihood: Annotated[bool | None, typer.Option("--likelihood", help="Ask bits per byte of true texts.")] = None,
    prompt_templates: Annotated[str | None, typer.Option(help="A folder of prompt templates of your own.")] = None,
    concurrency: Annotated[int | None, typer.Option(help="Calls in flight.")] = None,
    timeout: Annotated[float | None, typer.Option(help="Seconds for one attempt of a call.")] = None,
    price: Annotated[str | None, typer.Option(help="Of a million tokens, e.g. input=0.15,output=0.6.")] = None,
    record: Annotated[Path | None, typer.Option(help="Write all model calls to this file; .zst packs them.")] = None,
    replay: Annotated[Path | None, typer.Option(help="Answer from a recorded file, offline.")] = None,
    max_tokens_total: Annotated[int | None, typer.Option(help="Stop before it takes more tokens.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="Stop before it costs more; needs --price.")] = None,
    max_minutes: Annotated[float | None, typer.Option(help="Stop before it takes more time.")] = None,
    shard: Annotated[str | None, typer.Option(help="This process's share of the items, e.g. 2/4.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be asked and cost; ask nothing.")] = False,
    power_from: Annotated[Path | None, typer.Option(help="A run or benchmark like it: what this one can find.")] = None,
    published: Annotated[bool, typer.Option(help="Print the published rows below ours, marked.")] = False,
) -> None:
    """Run PersonaConvBench: tasks x settings x policies x models x seeds, corrected or as the reference does."""
    from evaluation.benchmark import command
    from evaluation.benchmark.spec import BenchSpec
    from evaluation.playing import Sitting
    from simulator.budget import Limits

    if what == "list":
        command.list_names()
        return
    flags: dict[str, Any] = {
        "data": data, "protocol": protocol, "tasks": task, "settings": setting, "policies": policy, "models": model,
        "base_url": base_url, "seeds": seed, "items": items, "repeats": repeats, "concurrency": concurrency,
        "timeout": timeout, "likelihood": likelihood, "shard": shard, "prompt_templates": prompt_templates,
    }  # fmt: skip
    given = {name: value for name, value in flags.items() if value not in (None, [])}
    path = config if what == "describe" else Path(what) if what else None
    spec = BenchSpec.read(path, given)
    if price:
        spec = BenchSpec.of(spec.model_dump() | {"prices": dict.fromkeys(spec.models, price)})
    if what == "describe":
        command.describe(spec)
    elif dry_run:
        command.dry_run(spec, power_from)
    else:
        sitting = Sitting(record, replay, limits=Limits(max_tokens_total, max_cost, max_minutes))
        if command.bench(spec, out, show_published=published, like=power_from, sitting=sitting).stopped:
            raise typer.Exit(1)
