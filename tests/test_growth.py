"""A corpus grows by segments: however it was split over imports, it is the same, and what is there is left alone."""

import json
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dumps import START, comment, post, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import unsettled
from memory.export import export
from memory.forget import forget
from memory.importing import import_corpus
from memory.others import CorpusOthers
from memory.state import MANIFEST
from memory.store import Index, MemoryStore

PEOPLE = ("ann", "bob_1", "Cy", "dee_d", "AutoModerator", "[deleted]")
AT = START + 60


def rows(number: int, seed: int) -> list[dict[str, Any]]:
    """Threads with everything awkward: absent posts and parents, links that are none, circles, ties, edits."""
    dice, found = random.Random(seed), list[dict[str, Any]]()
    for n in range(number):
        thread = f"p{dice.randrange(1 + number // 8)}"
        who, time = dice.choice(PEOPLE), dice.randrange(50)
        if dice.random() < 0.1:
            place = dice.choice(("bikes", "cars", "u_Cy"))
            found.append(post(thread, who, time, f"title {n} of bob_1", subreddit=place))
            continue
        parent = dice.choice((None, f"t3_{thread}", f"t1_c{dice.randrange(number)}", f"t1_c{n}"))
        said = (f"words {n}", f"u/{dice.choice(PEOPLE)} said {n}", "same", "[removed]", "> only", f"> x\n\nown {n}")
        more = {"body": dice.choice(said), "score": dice.choice((None, 1, n))}
        found.append(comment(f"c{n}", dice.choice((thread, thread, f"gone{n % 3}")), parent, who, time, **more))
        if dice.random() < 0.2:
            found.append({**found[-1], "body": f"edited {n}", "score": 99})
    for n, row in enumerate(found):
        row["retrieved_on"] = START + 100 + n
    return found


def seen(folder: Path) -> dict[str, Any]:
    """All that a reader can ask."""
    store = MemoryStore.open(folder)
    corpus = store.corpus
    people = corpus.people()
    pasts = {(p, at): store.history(p, before=START + at) for p in people for at in (0, 20, 25, 60)}
    places = [None, "bikes", "cars", "nowhere"]
    found = {
        "hash": corpus.data_hash,
        "counts": corpus.manifest["counts"],
        "people": people,
        "heard": [corpus.heard(before=START + at) for at in (0, 10, 25, 60)],
        "threads": [corpus.thread(id) for id in corpus.thread_ids()],
        "pasts": {key: (list(past.messages), past.times.tolist()) for key, past in pasts.items()},
        "vectors": {key: past.vectors.tolist() for key, past in pasts.items()},
        "scores": [corpus.scores(before=AT - 40, place=p, outside="t3_p1").tolist() for p in places],
        "own": {p: corpus.scores(before=AT, author=p).tolist() for p in people},
        "others": [corpus.others(before=AT, place=p or "", author="ann", outside="t3_p1", k=5, seed=2) for p in places],
        "newest": [CorpusOthers(store, past, "t3_p0").newest(7) for past in pasts.values()],
        "alike": [CorpusOthers(store, past, "t3_p0").like(3) for past in pasts.values()],
        "native": {p: sorted(id for id, _ in pasts[p, 60].native(pasts[p, 60].vectors[0], 99)) for p in people},
    }
    store.close()
    return found


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10_000), cuts=st.lists(st.integers(0, 10), min_size=1, max_size=3), keep=st.booleans())
def test_however_it_is_split_over_imports_it_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[int], keep: bool
) -> None:
    folder, every = tmp_path_factory.mktemp("split"), rows(60, seed)
    key = "00" * 32
    for name in ("one", "many"):
        (folder / f"{name}.key").write_text(key)
    how: dict[str, Any] = {"embedder": "bag", "keep_names": keep, "floor": 0}
    import_corpus([write(folder / "all.ndjson", *every)], folder / "one", **how)
    small = every[50:]
    parts = [every[:50], *(small[n :: len(cuts)] for n in range(len(cuts)))]
    for n, part in enumerate(parts if seed % 2 else parts[::-1]):
        import_corpus([write(folder / f"{n}.ndjson", *part)], folder / "many", **how)
    one, many = seen(folder / "one"), seen(folder / "many")
    for what in one:
        assert many[what] == one[what], what
    for name in ("one", "many"):
        export(folder / name, folder / f"{name}.out", "convokit")
    for file in (folder / "one.out").iterdir():
        assert (folder / "many.out" / file.name).read_bytes() == file.read_bytes()


def grown(folder: Path, *parts: list[dict[str, Any]], **options: Any) -> Path:
    """A corpus of these imports, each a segment where it is small beside what is there."""
    for n, part in enumerate(parts):
        how: dict[str, Any] = {"embedder": "bag", "floor": 0, **options}
        import_corpus([write(folder / f"{n}.ndjson", *part)], folder / "corpus", **how)
    return folder / "corpus"


def held(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()).lower()


FIRST = [post("a", author="ann"), *(comment(f"c{n}", "a", author="bob", time=n + 1) for n in range(20))]


def test_a_small_import_writes_what_it_adds_and_leaves_the_rest_alone(tmp_path: Path) -> None:
    path = grown(tmp_path, FIRST, keep_names=True)
    [first] = path.glob("segment-*")
    before = {file.name: file.stat().st_mtime_ns for file in first.iterdir()}
    reader = MemoryStore.open(path)
    grown(tmp_path, [comment("new", "a", "t1_c3", author="bob", time=4)], keep_names=True)
    with_new = MemoryStore.open(path)
    assert [(s.live, len(s.dead)) for s in with_new.corpus.segments] == [(21, 0), (1, 0)]
    assert {file.name: file.stat().st_mtime_ns for file in first.iterdir()} == before
    past = [m.id for m in with_new.history("bob", before=START + 6).messages]
    assert past == ["t1_c0", "t1_c1", "t1_c2", "t1_c3", "t1_new", "t1_c4"]
    assert len(reader.history("bob", before=START + 6)) == 5


def test_segments_stay_few_however_many_imports_there_are(tmp_path: Path) -> None:
    path = tmp_path
    for n in range(30):
        path = grown(tmp_path, [comment(f"i{n}", "a", author="bob", time=n + 1)], keep_names=True)
    store = MemoryStore.open(path)
    assert len(store.history("bob", before=AT)) == 30
    assert [s.live for s in store.corpus.segments] == sorted((s.live for s in store.corpus.segments), reverse=True)
    assert len(store.corpus.segments) <= 3
    assert len(list(path.glob("segment-*"))) == len(store.corpus.segments)


@pytest.mark.parametrize("newer", ["edited", "[removed]"])
def test_what_nobody_says_any_more_leaves_the_files_though_the_segment_stays(tmp_path: Path, newer: str) -> None:
    said = comment("c3", "a", author="bob", time=4, body="unsayable thing")
    path = grown(tmp_path, [*FIRST, said])
    reader = MemoryStore.open(path)
    assert b"unsayable" in held(path)
    grown(tmp_path, [comment("c3", "a", author="bob", time=4, body=newer)])
    assert len(MemoryStore.open(path).corpus.segments) == 2
    assert b"unsayable" not in held(path)
    assert reader.corpus.message("t1_c3").text == "unsayable thing"


def test_a_name_in_an_older_segment_is_replaced_when_its_person_comes(tmp_path: Path) -> None:
    path = grown(tmp_path, [*FIRST, comment("m", "a", author="bob", time=50, body="ask @Rosalind_F or Rosalind_F")])
    assert b"rosalind_f" in held(path)
    grown(tmp_path, [comment("n", "a", author="Rosalind_F", time=55)])
    corpus = MemoryStore.open(path).corpus
    called = corpus.message("t1_n").author
    assert corpus.message("t1_m").text == f"ask @{called} or {called}"
    assert len(corpus.segments) == 2 and b"rosalind_f" not in held(path)


def test_forgetting_takes_a_person_out_of_every_segment(tmp_path: Path) -> None:
    more = [[comment(f"n{n}", "a", author="Rosalind_F", time=n, body=f"xray {n}")] for n in (3, 30)]
    path = grown(tmp_path, FIRST, *more, keep_names=True)
    assert b"rosalind_f" in held(path) and b"xray" in held(path)
    assert forget(path, "rosalind_f").messages == 2
    assert b"rosalind_f" not in held(path) and b"xray" not in held(path)
    grown(tmp_path, *more, keep_names=True)
    assert b"rosalind_f" not in held(path) and b"xray" not in held(path)


def test_what_a_killed_import_did_to_chroma_is_put_right_by_the_next(tmp_path: Path) -> None:
    path, bob = grown(tmp_path, FIRST, keep_names=True), ("bob", START + 99)
    whole = MemoryStore.open(path)
    vector = whole.history(bob[0], before=bob[1]).vectors[3]
    with closing(Index(path, whole.embedder)) as index:  # as if an import had been killed in the middle of its changes
        unsettled.note(path, whole.embedder, ["t1_c3", "t1_never"])
        stated = {"hash": "", "author": "bob", "time": START}
        index.upsert(["t1_c3", "t1_never"], np.stack([-vector, vector]), [stated, stated])
    grown(tmp_path, [comment("other", "b", author="ann", time=9)], keep_names=True)
    now = MemoryStore.open(path).history(bob[0], before=bob[1])
    assert dict(now.native(vector, 99))["t1_c3"] == pytest.approx(1, abs=1e-3)
    assert {id for id, _ in now.native(vector, 99)} == {m.id for m in now.messages}


def test_another_embedder_gives_every_segment_new_vectors(tmp_path: Path) -> None:
    path = grown(tmp_path, FIRST, [comment("new", "a", author="bob", time=30)])
    assert len(MemoryStore.open(path).corpus.segments) == 2
    manifest = json.loads((path / MANIFEST).read_text())
    manifest["embedder"]["stamp"] = "another"
    (path / MANIFEST).write_text(json.dumps(manifest))
    grown(tmp_path, [])
    assert len(MemoryStore.open(path).corpus.segments) == 1


def test_a_grown_corpus_is_read_from_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    path = grown(tmp_path, FIRST, [comment("new", "a", author="bob", time=30)], keep_names=True)
    path.chmod(0o500)
    try:
        assert len(MemoryStore.open(path).history("bob", before=AT)) == 21
    finally:
        path.chmod(0o700)
