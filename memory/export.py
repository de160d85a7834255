"""A corpus written out for other programs: a ConvoKit folder, or a Parquet file. Imported again, it is the same corpus.

Text is as the corpus has it, pseudonyms included. Vectors and the key are not written.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from memory.arrow import EXPORT, pyarrow
from memory.corpus import Corpus
from memory.errors import BadInput, UnknownName
from memory.shares import pieces

COLUMNS = ("id", "thread", "parent", "author", "time", "text", "score", "place", "kind", "title", "retrieved", "bot")
VERSION = 1
_BATCH = 4096
_NUMBERS, _FLAGS = ("time", "score", "retrieved"), ("bot",)

Record = dict[str, Any]
Progress = Callable[[str, int, int | None], None]


def export(corpus: Path, out: Path, to: str, progress: Progress | None = None) -> int:
    """Writes all messages, by (time, id), to `out`, which must not be there yet; how many. `to`: convokit or parquet.

    Raises:
        UnknownName: another format. BadInput: `out` is there. Missing: no corpus, or Parquet without pyarrow.
    """
    if to not in _WRITERS:
        raise UnknownName("format to export to", to, _WRITERS)
    if out.exists():
        raise BadInput(f"{out} is there already; name a new file or folder")
    half = out.with_name(f"{out.name}.part")  # a name that is there holds all of it
    out.parent.mkdir(parents=True, exist_ok=True)
    with closing(Corpus.open(corpus)) as opened:
        total = opened.manifest["counts"]["messages"]
        try:
            _WRITERS[to](opened, half, _watched(_records(opened), total, progress))
            half.rename(out)
        finally:
            shutil.rmtree(half, ignore_errors=True)
            half.unlink(missing_ok=True)
    return int(total)


def _records(corpus: Corpus) -> Iterator[Record]:
    bots = {name for (name,) in corpus.sql.execute("select name from authors where bot")}
    for _, rows in pieces(corpus.all["row"], _BATCH):
        for stored in corpus.stored(rows):
            yield dict(zip(COLUMNS, (*stored[:11], int(stored.author in bots)), strict=True))


def _watched(records: Iterable[Record], total: int, progress: Progress | None) -> Iterator[Record]:
    for done, record in enumerate(records, 1):
        if progress is not None and (done % _BATCH == 0 or done == total):
            progress("export", done, total)
        yield record


def _parquet(corpus: Corpus, out: Path, records: Iterable[Record]) -> None:
    arrow = pyarrow()
    from pyarrow import parquet

    kinds = {name: arrow.int64() if name in _NUMBERS else arrow.string() for name in COLUMNS}
    kinds |= dict.fromkeys(_FLAGS, arrow.bool_())
    schema = arrow.schema(kinds.items(), metadata={EXPORT: str(VERSION)})
    with parquet.ParquetWriter(out, schema, compression="zstd") as file:
        rest = iter(records)
        while batch := list(islice(rest, _BATCH)):
            rows = [{**record, "bot": bool(record["bot"])} for record in batch]
            file.write_table(arrow.Table.from_pylist(rows, schema))


def _convokit(corpus: Corpus, out: Path, records: Iterable[Record]) -> None:
    out.mkdir()
    with (out / "utterances.jsonl").open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(_utterance(record), ensure_ascii=False) + "\n")
    sql = corpus.sql.execute
    sizes = np.bincount(corpus.all["thread"])
    about = (
        (m.id, {"title": m.title, "subreddit": m.place, "timestamp": m.time, "num_comments": int(sizes[code]) - 1})
        for _, rows in pieces(np.flatnonzero(corpus.all["post"]), _BATCH)
        for m, code in zip(corpus.stored(corpus.all["row"][rows]), corpus.all["thread"][rows].tolist(), strict=True)
    )
    _objects(out / "conversations.json", about)
    people = sql("select name, bot from authors order by name").fetchall()
    _objects(out / "speakers.json", ((name, {"bot": bool(bot)}) for name, bot in people))
    ours = {"version": VERSION, "bots": [name for name, bot in people if bot]}
    (out / "corpus.json").write_text(json.dumps({"personaconv": ours}), encoding="utf-8")
    index = {
        "utterances-index": {name: ["<class 'str'>" if name == "subreddit" else "<class 'int'>"] for name in _META},
        "speakers-index": {"bot": ["<class 'bool'>"]},
        "conversations-index": {
            name: ["<class 'int'>" if name in ("timestamp", "num_comments") else "<class 'str'>"]
            for name in ("title", "subreddit", "timestamp", "num_comments")
        },
        "overall-index": {"personaconv": ["<class 'dict'>"]},
        "version": 1,
        "vectors": [],
    }
    (out / "index.json").write_text(json.dumps(index), encoding="utf-8")


_META = ("score", "subreddit", "retrieved_on")


def _utterance(record: Record) -> dict[str, Any]:
    """ConvoKit wants a speaker and a text: where there is none, it says so as Reddit does."""
    gone = "[deleted]" if record["author"] is None else "[removed]"
    meta = (record["score"], record["place"], record["retrieved"])
    return {
        "id": record["id"],
        "conversation_id": record["thread"],
        "text": gone if record["text"] is None else record["text"],
        "speaker": record["author"] or "[deleted]",
        "meta": dict(zip(_META, meta, strict=True)),
        "reply-to": record["parent"],
        "timestamp": record["time"],
        "vectors": [],
    }


def _objects(file: Path, items: Iterable[tuple[str, Record]]) -> None:
    """{name: {"meta": ..., "vectors": []}, ...}, written one by one."""
    with file.open("w", encoding="utf-8", newline="\n") as out:
        out.write("{")
        for at, (name, meta) in enumerate(items):
            held = json.dumps({"meta": meta, "vectors": []}, ensure_ascii=False)
            out.write(f"{',' if at else ''}\n{json.dumps(name, ensure_ascii=False)}: {held}")
        out.write("\n}\n")


_WRITERS: dict[str, Callable[[Corpus, Path, Iterable[Record]], None]] = {"convokit": _convokit, "parquet": _parquet}
