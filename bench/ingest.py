"""What reading and importing cost, as ratios within one run: a bare msgspec loop, ConvoKit's load, the same later.

    python -m bench.ingest [--mb 20] [--messages 100000] [--convokit PYTHON] [--grown 1000000]

parse    the reader's rows of a packed dump, beside loops that unpack, split and decode 8 fields, or the same 13 as the
         reader, and nothing more
import   all an import does but vectors, beside ConvoKit's load of the same messages in its own format: lean rows, and
         rows with what ConvoKit's Reddit corpora have as meta; and copies of the shipped sample, real texts of many
         people. PYTHON is an interpreter that has convokit
growth   messages added per second to a record that holds ever more; and what one small addition costs by import
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from bench.made import copies, corpus, rows
from memory.batch import Batch
from memory.importing import import_corpus
from memory.readers import pushshift
from memory.reading import Row, Source, Tally
from memory.record import Record
from memory.store import MemoryStore

# What a comment of 2023 carries besides; most is empty, but it has to be skipped.
_EMPTY = """approved_at_utc approved_by associated_award author_flair_background_color author_flair_css_class
author_flair_template_id author_flair_text author_flair_text_color banned_at_utc banned_by collapsed_reason
collapsed_because_crowd_control collapsed_reason_code comment_type distinguished likes mod_note mod_reason_by
mod_reason_title num_reports removal_reason report_reasons top_awarded_type unrepliable_reason"""
_FALSE = """archived author_is_blocked author_patreon_flair author_premium can_gild can_mod_post collapsed edited
editable is_submitter locked no_follow saved score_hidden send_replies stickied"""
_ZERO = "controversiality downs gilded total_awards_received ups created retrieved_utc"
_LISTS = "all_awardings author_flair_richtext awarders mod_reports treatment_tags user_reports"
FILLER: dict[str, Any] = {
    **dict.fromkeys(_EMPTY.split()),
    **dict.fromkeys(_FALSE.split(), False),
    **dict.fromkeys(_ZERO.split(), 0),
    **{name: [] for name in _LISTS.split()},
    "author_flair_type": "text",
    "author_fullname": "t2_0000000",
    "gildings": {},
    "replies": "",
    "subreddit_id": "t5_00000",
    "subreddit_type": "public",
    "subreddit_name_prefixed": "r/place",
    "permalink": "/r/place/comments/0000000/some_title_of_a_thread/0000000/",
    "name": "t1_0000000",
}


More = Callable[[Row], dict[str, Any]]  # what a message has in its dump beside the least
SAMPLED = 5189  # messages of the shipped sample


class Bare(msgspec.Struct, gc=False):
    """The fields that a table of messages needs at least."""

    author: str
    body: str
    score: int
    created_utc: int
    id: str
    link_id: str
    parent_id: str
    subreddit: str


def dump(file: Path, messages: Iterator[Row], more: More = lambda m: {}, most: int = sys.maxsize) -> tuple[int, int]:
    """Writes rows as a dump has them, with `more` fields, until `most` unpacked bytes are reached: rows and bytes."""
    encode = msgspec.json.Encoder().encode
    count, size = 0, 0
    with file.open("wb") as out, zstandard.ZstdCompressor(level=3).stream_writer(out) as packed:
        for m in messages:
            row = {
                "id": m.id[3:], "author": m.author, "created_utc": m.time, "score": m.score, "subreddit": m.place,
                "link_id": m.thread, "parent_id": m.parent or m.thread, "body": m.text,
            }  # fmt: skip
            if m.kind == "post":
                row = {k: v for k, v in row.items() if k not in ("link_id", "parent_id", "body")}
                row |= {"title": m.title, "selftext": m.text}
            line = encode(dict(sorted((row | more(m)).items()))) + b"\n"  # dumps have them in this order
            packed.write(line)
            count, size = count + 1, size + len(line)
            if size >= most:
                break
    return count, size


def reddit(m: Row) -> dict[str, Any]:
    """What ConvoKit's Reddit corpora have as the meta of an utterance, and dumps as fields, beside score and place."""
    gildings = {"gid_1": 0, "gid_2": 0, "gid_3": 0}
    link = f"/r/{m.place}/comments/{(m.thread or '')[3:]}/some_title_of_a_thread/{m.id[3:]}/"
    return {"retrieved_on": m.time + 9_000_000, "gilded": 0, "gildings": gildings, "stickied": False,
            "permalink": link, "author_flair_text": ""}  # fmt: skip


class Same(Bare, gc=False):
    """The fields that the reader decodes."""

    retrieved_on: int | None = None
    retrieved_utc: int | None = None
    score_hidden: bool = False
    title: None = None
    selftext: None = None


def bare_loop(file: Path, fields: type[Bare] = Bare) -> int:
    decode, rest, count = msgspec.json.Decoder(fields).decode, b"", 0
    with file.open("rb") as raw, zstandard.ZstdDecompressor(max_window_size=2**31).stream_reader(raw) as unpacked:
        while block := unpacked.read(1 << 20):
            *lines, rest = (rest + block).split(b"\n")
            for line in lines:
                decode(line)
            count += len(lines)
    return count


def ours(file: Path) -> int:
    return sum(len(found) if isinstance(found, Batch) else 1 for found in pushshift.batches(Source(file), Tally()))


def turns(works: Sequence[Callable[[], int]], expected: int, tries: int = 25) -> list[list[tuple[float, float]]]:
    """Wall and CPU seconds of each at each try; they take turns, so that others disturb them alike."""
    took: list[list[tuple[float, float]]] = [[] for _ in works]
    for _ in range(tries):
        for work, mine in zip(works, took, strict=True):
            began, cpu = time.perf_counter(), time.process_time()
            found = work()
            mine.append((time.perf_counter() - began, time.process_time() - cpu))
            if found != expected:
                raise SystemExit(f"{found} rows were read where there are {expected}")
    return took


def parse(file: Path, megabytes: int, wide: bool) -> None:
    comments = (m for m in rows(10**9, 1000) if m.kind == "comment")
    count, size = dump(file, comments, lambda m: FILLER if wide else {}, megabytes * 1_000_000)
    took = turns([lambda: bare_loop(file), lambda: bare_loop(file, Same), lambda: ours(file)], count)
    shape = f"{'wide' if wide else 'narrow'}: {count:,} rows of {size // count} bytes"
    for n, kind in enumerate(("clock", "processor")):
        bare, same, mine = ([seconds[n] for seconds in each] for each in took)
        speeds = f"at best bare {size / min(bare) / 1e6:.0f} MB/s, ours {size / min(mine) / 1e6:.0f} MB/s"
        shares = f"{_share(bare, mine)} of bare, {_share(same, mine)} of bare with the same 13 fields"
        print(f"parse {shape}; by the {kind}: {speeds}; {shares}", flush=True)


def _share(theirs: Sequence[float], ours: Sequence[float]) -> str:
    """By turns: the median, with the tenth and the ninetieth of a hundred."""
    ratios = [a / b for a, b in zip(theirs, ours, strict=True)]
    low, *_, high = statistics.quantiles(ratios, n=10)
    return f"{statistics.median(ratios):.0%} ({low:.0%} to {high:.0%})"


def without_vectors(folder: Path, messages: int, convokit: Path | None) -> None:
    kinds: dict[str, tuple[Callable[[], Iterator[Row]], More]] = {
        "lean": (lambda: rows(messages, 1000), lambda m: {}),
        "rich": (lambda: rows(messages, 1000), reddit),
        "sample": (lambda: copies(max(1, messages // SAMPLED)), reddit),
    }
    files = folder / "comments.zst", folder / "posts.zst"
    for name, (given, more) in kinds.items():
        (comments, size), (posts, more_size) = (
            dump(file, (m for m in given() if m.kind == kind), more)
            for file, kind in zip(files, ("comment", "post"), strict=True)
        )
        [loop] = turns([lambda: bare_loop(files[0])], comments, 3)
        floor = min(wall for wall, _ in loop) / comments
        print(f"{name}: {comments + posts:,} messages of {(size + more_size) // (comments + posts)} bytes", flush=True)
        print(f"{name}, a loop that only decodes the comments: {1e6 * floor:.1f} us each", flush=True)
        took, cpu = _import(f"{name}, import", folder / name, files)
        if convokit is not None:
            theirs = folder / f"{name}-convokit"
            utterances(theirs, given(), more)
            wall, processor, found, peak = _run([convokit, "-P", Path(__file__).with_name("convokit_load.py"), theirs])
            each = f"{1e6 * wall / found:.1f} us each, {1e6 * processor / found:.1f} of a processor, {peak:.0f} MB"
            ratios = (
                f"{wall / found / took:.1f} times as long as ours, {processor / found / cpu:.1f} times the processor"
            )
            print(f"{name}, convokit: {each}: {ratios}, {wall / found / floor:.0f} times that loop", flush=True)
            _import(f"{name}, import of what convokit loads", folder / f"{name}-again", [theirs])


def _import(name: str, out: Path, files: Sequence[Path]) -> tuple[float, float]:
    """Wall and CPU seconds for each message."""
    took, cpu, found, peak, seconds = _run([sys.executable, "-m", "bench.import_load", out, *files])
    steps = ", ".join(f"{step} {1e6 * spent / found:.1f}" for step, spent in seconds.items())
    each = f"{1e6 * took / found:.1f} us each, {1e6 * cpu / found:.1f} of a processor, at most {peak:.0f} MB"
    print(f"{name}: {each}; {steps}", flush=True)
    return took / found, cpu / found


def _run(command: list[Any]) -> Any:
    """What a process printed last, as JSON."""
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout.splitlines()[-1])


def utterances(folder: Path, given: Iterator[Row], more: More) -> None:
    """The same messages as a ConvoKit folder."""
    folder.mkdir()
    speakers: dict[str, Any] = {}
    threads: dict[str, Any] = {}
    kinds: dict[str, list[str]] = {}
    with (folder / "utterances.jsonl").open("w") as out:
        for m in given:
            speakers[m.author or ""] = threads[m.thread or ""] = {"meta": {}, "vectors": []}
            meta = {"score": m.score, "subreddit": m.place, **more(m)}
            if more is reddit:
                meta["top_level_comment"] = m.id
            kinds = {name: [str(type(value))] for name, value in meta.items()}
            row = {"id": m.id, "conversation_id": m.thread, "text": m.text, "speaker": m.author, "meta": meta}
            out.write(json.dumps({**row, "reply-to": m.parent, "timestamp": m.time, "vectors": []}) + "\n")
    index = {"utterances-index": kinds, "speakers-index": {}, "conversations-index": {}, "overall-index": {}}
    files = {
        "speakers": speakers,
        "conversations": threads,
        "corpus": {},
        "index": {**index, "version": 1, "vectors": []},
    }
    for name, held in files.items():
        (folder / f"{name}.json").write_text(json.dumps(held))


def growth(folder: Path, most: int) -> None:
    record, tally = Record(folder / "grown.sqlite", b"k" * 32), Tally()
    given = rows(most, 1000)
    held = 0
    for until in sorted({n for n in (1_000, 10_000, 100_000, 300_000, most) if n <= most}):
        while held < until - min(until // 2, 20_000):
            held += _added(record, given, min(20_000, until - min(until // 2, 20_000) - held), tally)
        began, part = time.perf_counter(), until - held
        held += _added(record, given, part, tally)
        each = 1e6 * (time.perf_counter() - began) / part
        print(f"growth: the last {part:,} of {held:,} messages, {each:.1f} us each", flush=True)
    record.close()
    for size in sorted({n for n in (1_000, 10_000, 100_000, most) if n <= most}):
        out = corpus(folder / f"held-{size}", size, 1000)
        for _ in range(2):  # the first makes Chroma's collection
            first = MemoryStore.open(out).corpus.manifest["counts"]["messages"]
            dump(folder / "small.zst", rows(20, 1000, first=first))
            began, cpu = time.perf_counter(), time.process_time()
            import_corpus([folder / "small.zst"], out, embedder="bag", keep_names=True)
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        print(f"growth: 20 messages imported into {size:,}, {took:.2f} s, {cpu:.2f} CPU s", flush=True)
        shutil.rmtree(out)


def _added(record: Record, given: Iterator[Row], number: int, tally: Tally) -> int:
    part = list(islice(given, number))
    record.add(part, "made")
    return len(part)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--mb", type=int, default=20)
    options.add_argument("--messages", type=int, default=100_000)
    options.add_argument("--convokit", type=Path)
    options.add_argument("--grown", type=int, default=1_000_000)
    given = options.parse_args()
    folder = Path(tempfile.mkdtemp())
    try:
        for wide in (True, False):
            parse(folder / "parse.zst", given.mb, wide)
        without_vectors(folder, given.messages, given.convokit)
        growth(folder, given.grown)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
