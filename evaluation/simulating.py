"""personaconv simulate: the options of a run, and what it prints when it is done."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

BaseURL = Annotated[str | None, typer.Option(help="An OpenAI-compatible endpoint, e.g. http://127.0.0.1:8000/v1.")]


def simulate(  # noqa: PLR0913 - the options of a command are its parameters
    corpus: Annotated[Path, typer.Argument(help="A corpus folder made by import.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The run folder; an unfinished run there goes on.")],
    model: Annotated[str, typer.Option(help="embedded, openai:<model>, or any <provider>:<model>.")] = "embedded",
    base_url: BaseURL = None,
    mode: Annotated[str, typer.Option(help="replay, rollout (from a cut on), or free (a new thread).")] = "rollout",
    scheduler: Annotated[str, typer.Option(help="Who speaks next; default skeleton, hazard in mode free.")] = "",
    retriever: Annotated[str, typer.Option(help="A policy, e.g. dense:k=8; see personaconv policies.")] = "dense",
    card: Annotated[bool, typer.Option(help="Show the person's habits in the prompt.")] = True,
    profile: Annotated[bool, typer.Option("--profile", help="Have the model describe each person first.")] = False,
    enough: Annotated[int, typer.Option(help="Own earlier messages below which a card is of the community.")] = 3,
    persona: Annotated[list[str] | None, typer.Option(help="A card by hand, NAME=FILE.yaml; repeatable.")] = None,
    personas: Annotated[Path | None, typer.Option(help="A folder of cards written by hand.")] = None,
    threads: Annotated[int, typer.Option(help="How many threads to draw by seed.")] = 3,
    thread: Annotated[list[str] | None, typer.Option(help="A thread by id, instead of drawing; repeatable.")] = None,
    cut: Annotated[str, typer.Option(help="What stays real: first messages, up to a date, or to a message id.")] = "1",
    place: Annotated[str, typer.Option(help="Mode free: the community of the new thread.")] = "",
    post: Annotated[str, typer.Option(help="Mode free: its opening post; default the model writes it.")] = "",
    author: Annotated[str, typer.Option(help="Mode free: who opens it; default drawn by activity.")] = "",
    openings: Annotated[str, typer.Option(help="Mode free: a YAML or JSON file of new threads.")] = "",
    people: Annotated[str, typer.Option(help="Who may speak, off the skeleton: how many, or names.")] = "8",
    branch: Annotated[str, typer.Option(help="A run folder: share its turns up to the first intervention.")] = "",
    intervene: Annotated[
        list[str] | None, typer.Option(help="What is changed at a turn: YAML or JSON, a file or {...}; repeatable.")
    ] = None,
    model_for: Annotated[
        list[str] | None, typer.Option(help="A person's own model, person=provider:model[@URL]; repeatable.")
    ] = None,
    scores: Annotated[str, typer.Option(help="Predicted scores shown later: none, community, impact.")] = "none",
    max_turns: Annotated[int, typer.Option(help="Most turns of a thread, 0 for all.")] = 0,
    max_rounds: Annotated[int, typer.Option(help="Most rounds of a thread, 0 for all.")] = 0,
    max_size: Annotated[int, typer.Option(help="Most messages of a thread, 0 for all.")] = 0,
    repeats: Annotated[int, typer.Option(help="How often each thread is played.")] = 1,
    probe: Annotated[
        list[str] | None, typer.Option(help="sentiment, impact, generation, none; options like sentiment:positive=>=5.")
    ] = None,
    likelihood: Annotated[bool, typer.Option("--likelihood", help="Also ask bits per byte of true texts.")] = False,
    seed: Annotated[int, typer.Option(help="Decides all that is drawn.")] = 0,
    keep_prompts: Annotated[bool, typer.Option(help="Store whole prompts in the log.")] = False,
    prompt_templates: Annotated[str | None, typer.Option(help="A folder of prompt templates of your own.")] = None,
    concurrency: Annotated[int, typer.Option(help="Turns in flight; 1 suits the embedded model.")] = 1,
    timeout: Annotated[float, typer.Option(help="Seconds for one attempt of a call.")] = 120.0,
    record: Annotated[Path | None, typer.Option(help="Write all model calls to this file; .zst packs them.")] = None,
    replay: Annotated[Path | None, typer.Option(help="Answer from a recorded file, offline.")] = None,
    any_endpoint: Annotated[bool, typer.Option(help="Replay what another endpoint answered.")] = False,
    max_tokens_total: Annotated[int | None, typer.Option(help="Stop before the run takes more tokens.")] = None,
    max_cost: Annotated[float | None, typer.Option(help="Stop before the run costs more; needs --prices.")] = None,
    max_minutes: Annotated[float | None, typer.Option(help="Stop before the run takes more time.")] = None,
    prices: Annotated[str, typer.Option(help="Per million tokens: input=0.15,cached=0.075,output=0.6.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Estimate calls, tokens and money; ask no model.")] = False,
    tree: Annotated[bool, typer.Option(help="Show the threads as they grow.")] = True,
    events: Annotated[str, typer.Option(help="Stream what happens as JSON lines to this file, or - for stdout.")] = "",
    power_from: Annotated[Path | None, typer.Option(help="A run like it, to tell what this one can find.")] = None,
    shard: Annotated[str, typer.Option(help="This process's share of the threads, e.g. 2/4.")] = "1/1",
) -> None:
    """Play threads with persona agents and probe every turn."""
    from evaluation import planned
    from evaluation.estimating import estimate
    from evaluation.likelihood import weighing
    from evaluation.playing import Sitting, sit
    from evaluation.running import asks
    from evaluation.staging import opened, staged
    from evaluation.summary import summary
    from simulator.budget import Limits
    from simulator.handmade import read_cards
    from simulator.manifest import RunSpec
    from simulator.prices import Prices

    wanted: dict[str, Any] = {
        "mode": mode, "model": model, "base_url": base_url, "retriever": retriever, "card": card, "enough": enough,
        "threads": tuple(thread) if thread else threads, "cut": cut, "max_turns": max_turns, "repeats": repeats,
        "max_rounds": max_rounds, "max_size": max_size, "scheduler": scheduler, "scores": scores,
        "seed": seed, "keep_prompts": keep_prompts, "prompt_templates": prompt_templates,
        "concurrency": concurrency, "timeout": timeout, "shard": shard,
        "personas": read_cards(persona or [], personas), "profile": profile,
    }  # fmt: skip
    wanted |= opened(mode, place, post, author, openings) | staged(people, branch, intervene or [], model_for or [])
    spec, cost_of = RunSpec.of(wanted), Prices.of(prices) if prices else None
    say = partial(print, file=sys.stderr if events == "-" else sys.stdout)
    for line in planned.before(spec, corpus, power_from):
        say(line)
    questions = asks(probe, model, prompt_templates)
    questions = weighing(questions, spec.base) if likelihood else questions
    if dry_run:
        for line in estimate(spec, corpus, out, questions).lines(cost_of):
            print(line)
        return
    sitting = Sitting(
        record, replay, any_endpoint, Limits(max_tokens_total, max_cost, max_minutes),
        cost_of, events, tree,
    )  # fmt: skip
    played = sit(spec, corpus, out, questions, sitting)
    for line in summary(played):
        say(line)
    if played.progress.stopped:
        raise typer.Exit(1)
    say(f"next: personaconv report {out}")
