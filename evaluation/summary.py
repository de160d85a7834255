"""What a sitting of a run came to, in a few lines: calls, tokens, speed, cost, failures by class, time of recalling."""

from __future__ import annotations

from collections.abc import Iterator

from evaluation import costs
from evaluation.playing import Played
from simulator import asked

PERSONAS = {
    "own": "of own messages",
    "profile": "of own messages and a profile",
    "profile_failed": "of own messages, their profile failed",
    "community": "of the community",
    "hand": "written by hand",
    "none": "without any",
}


def summary(played: Played) -> Iterator[str]:
    """One line a subject, in English; those with nothing to say are left out."""
    progress, usage, ledger = played.progress, played.usage, played.ledger
    made = progress.calls_done - progress.found
    yield f"{progress.threads} threads, {made} calls made, {progress.found} found in the log, {progress.failed} failed"
    if progress.personas.keys() - {"own"}:
        yield "personas of replies: " + ", ".join(
            f"{n} {PERSONAS[source]}" for source, n in sorted(progress.personas.items())
        )
    if progress.profiles or progress.profiles_failed:
        yield f"{progress.profiles} calls more wrote profiles; {progress.profiles_failed} profiles of this run failed"
    if progress.memory_calls:
        yield f"{progress.memory_calls} calls more were made by the memory"
    for row in costs.beside(asked.read(ledger.folder)):
        yield (
            f"{row.name} of all sittings: {row.calls} answers, {row.tokens_in:,} tokens in, {row.tokens_out:,} out"
            + (f", cost {row.cost:.4f}" if row.cost is not None else "")
        )
    if progress.rejected:
        yield (
            f"{progress.rejected} answers did not stand and were asked for again or failed: "
            f"{progress.rejected_in:,} tokens in, {progress.rejected_out:,} out"
        )
    if progress.failures:
        yield "failed: " + ", ".join(f"{n} {kind}" for kind, n in sorted(progress.failures.items()))
    share = usage.cached / usage.tokens_in if usage.tokens_in else 0
    speed = (usage.tokens_in + usage.tokens_out) / max(played.seconds, 0.001)
    yield (
        f"{usage.tokens_in:,} tokens in, {share:.0%} of them cached, {usage.tokens_out:,} out; {speed:,.0f} tokens/s, "
        f"{usage.tokens_out / max(played.seconds, 0.001):,.1f} of them written"
    )
    if usage.unsaid:
        yield f"{usage.unsaid} answers came without their tokens, which are not in these numbers"
    if ledger.prices:
        yield f"cost {ledger.cost:.4f} in all sittings of this run"
    yield f"{progress.recall_seconds:.1f} s of {played.seconds:.1f} s went into recalling"
    yield from (f"{n} ended: {stop}" for stop, n in sorted(progress.stops.items()))
    if progress.aside:
        yield f"{progress.aside} of the calls wrote opening posts or chose who speaks next"
    if progress.unmet:
        yield f"{progress.unmet} interventions found nothing to change, or their turn was not reached"
    if progress.left_out:
        yield f"{progress.left_out} real messages left out: their writers are gone"
    if progress.stopped:
        yield f"stopped: {progress.stopped}"
