import json
import shutil
from pathlib import Path

import pytest
from dumps import START, comment, imported, post, write

from memory import sample
from memory.corpus import Corpus
from memory.errors import BadInput, Busy, Missing, UnknownName
from memory.importing import import_corpus
from memory.lock import held
from memory.store import MemoryStore
from memory.threads import LOST

SOME = (post("a"), comment("b", "a"), comment("c", "a", "t1_b", author="ann", time=2))


def bag(*sources: Path, out: Path, **options: bool):
    return import_corpus(list(sources), out, **{"embedder": "bag", "keep_names": True, **options})


def test_the_sample_is_whole(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int | None]] = []
    report = import_corpus(
        sample.paths(),
        tmp_path / "c",
        embedder="bag",
        progress=lambda what, done, total: seen.append((what, done, total)),
    )
    assert report.ok
    assert report.rows() == [("read", "rows", 5189, ""), ("kept", "messages", 5189, "")]
    assert report.counts == {
        "messages": 5189, "with words": 5188, "people": 540, "authors": 540, "bots": 0, "threads": 642, "places": 3,
    }  # fmt: skip
    assert {what for what, _, _ in seen} == {"rows", "read", "encode", "write"}
    assert ("rows", 5189, 5189) in seen and ("encode", 5188, 5188) in seen and len(seen) < 100
    corpus = Corpus.open(tmp_path / "c")
    threads = [corpus.thread(id) for id in corpus.thread_ids()]
    assert sum(len(t.messages) for t in threads) == 5189
    assert sum(len({m.author for m in t.messages}) >= 3 for t in threads) == 498
    assert [t.messages[0].time for t in threads] == sorted(t.messages[0].time for t in threads)


def test_importing_again_changes_nothing_and_encodes_nothing(tmp_path: Path) -> None:
    first = imported(tmp_path, *SOME)
    before = Corpus.open(tmp_path / "corpus").manifest
    again = imported(tmp_path, *SOME)
    after = Corpus.open(tmp_path / "corpus").manifest
    assert (first.encoded, again.encoded) == (3, 0)
    assert before == after


def test_a_second_import_adds_to_the_first_and_its_order_does_not_matter(tmp_path: Path) -> None:
    posts = write(tmp_path / "posts", *SOME[:1])
    comments = write(tmp_path / "comments", *SOME[1:])
    bag(comments, out=tmp_path / "x")
    assert Corpus.open(tmp_path / "x").thread("t3_a").messages[0].title == ""
    bag(posts, out=tmp_path / "x")
    bag(posts, comments, out=tmp_path / "y")
    x, y = Corpus.open(tmp_path / "x"), Corpus.open(tmp_path / "y")
    assert x.thread("t3_a") == y.thread("t3_a")
    assert x.data_hash == y.data_hash
    assert {s["name"] for s in x.manifest["sources"]} == {"posts", "comments"}


def test_an_edited_text_replaces_the_old_one_and_an_older_copy_does_not(tmp_path: Path) -> None:
    imported(tmp_path, *SOME, comment("e", "a", body="first", retrieved_on=START + 10))
    edited = imported(tmp_path, comment("e", "a", body="second", retrieved_on=START + 20))
    assert edited.encoded == 1
    older = imported(tmp_path, comment("e", "a", body="first", retrieved_on=START + 10))
    assert older.rows()[1:] == [
        ("kept", "messages", 0, ""),
        ("repaired", "an older copy of what the corpus has", 1, "dump.ndjson:1"),
    ]
    assert Corpus.open(tmp_path / "corpus").thread("t3_a")["t1_e"].text == "second"
    imported(tmp_path, comment("e", "a", body="[removed]", retrieved_on=START + 30))
    assert Corpus.open(tmp_path / "corpus").thread("t3_a")["t1_e"].text is None
    assert Corpus.open(tmp_path / "corpus").people() == {"ann": 2, "bob": 1}


def test_of_an_id_that_stands_twice_the_one_retrieved_last_is_kept_and_the_other_counted(tmp_path: Path) -> None:
    twice = [comment("e", "a", body=f"copy {n}", retrieved_on=START + n) for n in (10, 30, 20)]
    report = imported(tmp_path, *SOME, *twice)
    assert report.rows()[2:] == [
        ("repaired", "the same id twice: the newest is kept", 2, "dump.ndjson:5, dump.ndjson:6")
    ]
    assert report.kept == 4
    assert Corpus.open(tmp_path / "corpus").thread("t3_a")["t1_e"].text == "copy 30"


def test_comments_without_their_post_or_parent_still_make_a_tree_and_each_repair_is_counted(tmp_path: Path) -> None:
    rows = (
        comment("b", "gone", time=5),
        comment("c", "gone", "t1_lost", time=6),
        comment("d", "gone", "t1_e", time=7),
        comment("e", "gone", "t1_d", time=8),
        comment("f", "gone", "t1_f", time=9),
        post("p", time=20),
        comment("g", "p", "t1_b", time=10),
        {**comment("h", "p", "t1_c", time=10), "link_id": None},
        {**comment("i", "p", "t1_nowhere", time=10), "link_id": None},
    )
    report = imported(tmp_path, *rows)
    assert {(what, reason): (n, where) for what, reason, n, where in report.rows()[2:]} == {
        ("repaired", "submission not in the data: an empty post stands for it"): (1, "t3_gone"),
        ("repaired", "parent not in the data: hung under the post"): (1, "t1_c"),
        ("repaired", "parents in a circle: opened at the earliest message"): (1, "t1_d"),
        ("repaired", "its own parent: hung under the post"): (1, "t1_f"),
        ("repaired", "parent in another thread: hung under the post"): (1, "t1_g"),
        ("repaired", "earlier than its parent: moved to a second after it"): (1, "t1_g"),
        ("dropped", LOST): (1, "t1_i"),
    }
    thread = Corpus.open(tmp_path / "corpus").thread("t3_gone")
    root = thread.messages[0]
    assert (root.id, root.author, root.text, root.title, root.time) == ("t3_gone", None, None, "", START + 4)
    assert {m.id: m.parent for m in thread.messages[1:]} == {
        "t1_b": "t3_gone", "t1_c": "t3_gone", "t1_d": "t3_gone", "t1_e": "t1_d", "t1_f": "t3_gone", "t1_h": "t1_c",
    }  # fmt: skip


def test_names_become_pseudonyms_everywhere_and_nothing_in_the_folder_says_who(tmp_path: Path) -> None:
    rows = (
        post("a", author="Rosalind_F", selftext="ask Crick99 or u/watson"),
        comment("b", "a", author="Crick99", body="@rosalind_f write to crick@lab.example, u/Wilkins-M"),
        comment("c", "a", author="watson", body="watson is a name, but an ordinary word", time=2),
    )
    report = imported(tmp_path, *rows, keep_names=False)
    assert report.ok
    corpus = Corpus.open(tmp_path / "corpus")
    thread = corpus.thread("t3_a")
    rosalind, crick, watson = (m.author or "" for m in thread.messages)
    assert all(name.startswith("u_") and len(name) == 10 for name in (rosalind, crick, watson))
    assert thread["t3_a"].text == f"ask {crick} or u/{watson}"
    assert thread["t1_b"].text == f"@{rosalind} write to [email], u/Wilkins-M"
    held_bytes = b"".join(f.read_bytes() for f in (tmp_path / "corpus").rglob("*") if f.is_file()).lower()
    for name in (b"rosalind_f", b"crick99", b"u/watson", b"crick@lab"):
        assert name not in held_bytes
    imported(tmp_path, *rows, keep_names=False)
    assert Corpus.open(tmp_path / "corpus").thread("t3_a") == thread


def test_a_mention_is_found_though_its_person_is_imported_later(tmp_path: Path) -> None:
    imported(tmp_path, comment("b", "a", author="ann", body="hello @carol"), keep_names=False)
    imported(tmp_path, comment("c", "a", author="Carol", time=2), keep_names=False)
    thread = Corpus.open(tmp_path / "corpus").thread("t3_a")
    assert thread["t1_b"].text == f"hello @{thread['t1_c'].author}"


def test_a_corpus_with_names_and_one_without_are_not_mixed_and_a_lost_key_is_asked_for(tmp_path: Path) -> None:
    imported(tmp_path, *SOME, keep_names=False)
    with pytest.raises(BadInput, match="was imported with pseudonyms"):
        imported(tmp_path, *SOME, keep_names=True)
    (tmp_path / "corpus.key").unlink()
    with pytest.raises(Missing, match=r"corpus\.key is gone"):
        imported(tmp_path, *SOME, keep_names=False)


def test_bots_and_deleted_accounts_are_nobodys_persona(tmp_path: Path) -> None:
    rows = [comment(str(n), "a", author=name) for n, name in enumerate(["AutoModerator", "helper-bot", "[deleted]"])]
    report = imported(tmp_path, *SOME, *rows)
    assert report.counts["bots"] == 2
    assert Corpus.open(tmp_path / "corpus").people() == {"ann": 2, "bob": 1}
    with pytest.raises(UnknownName, match="choose from ann, bob"):
        MemoryStore.open(tmp_path / "corpus").history("AutoModerator", before=START)


def test_people_whose_names_differ_in_case_are_one(tmp_path: Path) -> None:
    imported(tmp_path, comment("b", "a", author="Bob"), comment("c", "a", author="bob"))
    assert Corpus.open(tmp_path / "corpus").people() == {"Bob": 2}


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\0\0\0", b"garbage\n{}\n"])
def test_an_import_of_nothing_makes_an_empty_corpus_and_says_why(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "empty.ndjson"
    file.write_bytes(content)
    report = bag(file, out=tmp_path / "c")
    assert not report.ok
    assert "no message was found" in report.problems[0] and "simulate nobody" in report.problems[0]
    store = MemoryStore.open(tmp_path / "c")
    assert (store.corpus.people(), store.corpus.thread_ids(), len(store.corpus.scores(before=START))) == ({}, [], 0)
    assert store.corpus.others(before=START, place="x", author="x", outside="x", k=3, seed=0) == []
    with pytest.raises(UnknownName, match="there are none"):
        store.history("ann", before=START)
    with pytest.raises(UnknownName, match="there are none"):
        store.corpus.thread("t3_a")


def test_strict_makes_a_problem_of_anything_dropped(tmp_path: Path) -> None:
    assert imported(tmp_path, *SOME, b"garbage").ok
    assert imported(tmp_path, *SOME, b"garbage", strict=True).problems == ["strict: 1 rows were repaired or dropped"]


def test_strict_makes_a_problem_of_anything_repaired(tmp_path: Path) -> None:
    rows = (*SOME, comment("x", "a", "t1_lost", time=9))
    assert imported(tmp_path, *rows).ok
    assert imported(tmp_path, *rows, strict=True).problems == ["strict: 1 rows were repaired or dropped"]


def test_a_profile_page_is_called_by_a_pseudonym_like_its_owner(tmp_path: Path) -> None:
    rows = (post("a", author="Ann_B", subreddit="u_Ann_B"), post("b", author="bob", subreddit="u_nobody_here", time=1))
    imported(tmp_path, *rows, keep_names=False)
    imported(tmp_path, *rows, keep_names=False)
    corpus = Corpus.open(tmp_path / "corpus")
    first, second = corpus.message("t3_a"), corpus.message("t3_b")
    assert first.place == f"u_{first.author}"
    assert second.place.startswith("u_u_") and len(second.place) == len(first.place)
    held_bytes = b"".join(f.read_bytes() for f in (tmp_path / "corpus").rglob("*") if f.is_file()).lower()
    assert b"ann_b" not in held_bytes and b"nobody_here" not in held_bytes


def test_every_awkward_line_in_one_file_is_loaded_or_counted_by_its_line(tmp_path: Path) -> None:
    good = [json.dumps(comment(f"g{n}", "a", time=n)).encode() for n in range(8)]
    rows = (
        b"\xef\xbb\xbf" + json.dumps(post("a")).encode() + b"\r",
        b"\0" * 4096 + good[0],
        good[1].replace(b"words", b"wor\xffds"),
        good[2] + good[3],
        good[4].replace(b"words", b"\\ud83d"),
        good[5].replace(b"words", "\u2028\u0085".encode()),
        good[6][:40],
        b"",
        good[7],
    )
    report = imported(tmp_path, *rows)
    assert (report.read, report.kept) == (9, 8)
    assert {(what, reason): where for what, reason, _, where in report.changes} == {
        ("passed over", "a blank line"): "dump.ndjson:8",
        ("dropped", "not JSON"): "dump.ndjson:7",
        ("repaired", "NUL bytes around the row removed"): "dump.ndjson:2",
        ("repaired", "byte order mark removed"): "dump.ndjson:1",
        ("repaired", "half of a surrogate pair replaced"): "dump.ndjson:5",
        ("repaired", "invalid UTF-8 replaced"): "dump.ndjson:3",
        ("repaired", "several objects on one line"): "dump.ndjson:4",
    }
    assert Corpus.open(tmp_path / "corpus").message("t1_g5").text == "\u2028\u0085 of g5"


def test_a_json_document_that_breaks_off_is_not_ok_unless_allowed(tmp_path: Path) -> None:
    made = json.dumps([{"title": str(n), "content": "x", "timestamp": START + n, "comments": []} for n in range(9)])
    cut = write(tmp_path / "cut.json", made.encode()[:-50])
    report = bag(cut, out=tmp_path / "c")
    assert not report.ok and "ends in the middle of its JSON" in report.problems[0] and report.kept == 8
    assert bag(cut, out=tmp_path / "c", allow_truncated=True).ok


def test_what_was_allowed_to_be_cut_is_counted_and_not_lost(tmp_path: Path) -> None:
    cut = write(tmp_path / "cut.ndjson", *SOME, json.dumps(comment("z", "a")).encode()[:-9])
    cut.write_bytes(cut.read_bytes().rstrip(b"\n"))
    reason = ("cut off in the middle (last line)", 1, "cut.ndjson:4")
    assert bag(cut, out=tmp_path / "c").lost == [reason]
    allowed = bag(cut, out=tmp_path / "c", allow_truncated=True)
    assert allowed.lost == [] and ("dropped", *reason) in allowed.rows()


def test_an_id_that_stands_twice_and_blank_lines_lose_nothing(tmp_path: Path) -> None:
    assert imported(tmp_path, *SOME, SOME[1], b"").lost == []


def test_a_cut_archive_keeps_its_whole_rows_and_is_not_ok_unless_allowed(tmp_path: Path) -> None:
    file = tmp_path / "cut.zst"
    file.write_bytes(sample.paths()[1].read_bytes()[:-20_000])
    report = bag(file, out=tmp_path / "c")
    assert not report.ok and "cut.zst ends in the middle" in report.problems[0]
    assert 300 < report.kept < 642
    assert Corpus.open(tmp_path / "c").manifest["problems"] == report.problems
    assert bag(file, out=tmp_path / "c", allow_truncated=True).ok


def test_what_cannot_be_imported_is_named(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no file or folder"):
        bag(tmp_path / "nothing", out=tmp_path / "c")
    with pytest.raises(Missing, match="has no dump in it"):
        bag(tmp_path, out=tmp_path / "c")
    with pytest.raises(BadInput, match="no source was named"):
        bag(out=tmp_path / "c")
    with pytest.raises(BadInput, match=r"in no format that is known here .*known: .*pushshift"):
        bag(write(tmp_path / "a.json", b"[1]"), out=tmp_path / "c")
    with pytest.raises(UnknownName, match="unknown embedder 'magic'"):
        import_corpus([tmp_path / "a.json"], tmp_path / "c", embedder="magic")


def test_a_folder_stands_for_the_dumps_in_it(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "RC.ndjson", *SOME[1:])
    write(tmp_path / "in" / "RS.jsonl", *SOME[:1])
    write(tmp_path / "in" / "notes.txt", b"no dump")
    assert bag(tmp_path / "in", out=tmp_path / "c").counts["messages"] == 3


def test_the_folder_is_one_importers_at_a_time(tmp_path: Path) -> None:
    with held(tmp_path / "corpus", "personaconv import"), pytest.raises(Busy, match="personaconv import"):
        imported(tmp_path, *SOME)


def test_a_reader_keeps_what_it_opened_while_a_later_import_replaces_it(tmp_path: Path) -> None:
    imported(tmp_path, *SOME)
    old = MemoryStore.open(tmp_path / "corpus")
    imported(tmp_path, comment("b", "a", body="edited"), comment("d", "a", author="ann", time=3))
    new = MemoryStore.open(tmp_path / "corpus")
    assert [m.text for m in old.history("bob", before=START + 9).messages] == ["words of b"]
    assert [m.text for m in new.history("bob", before=START + 9).messages] == ["edited"]
    assert (len(old.history("ann", before=START + 9).vectors), len(new.history("ann", before=START + 9).vectors)) == (
        2,
        3,
    )
    assert (len(old.corpus.thread("t3_a").messages), len(new.corpus.thread("t3_a").messages)) == (3, 4)
    assert len(list((tmp_path / "corpus").glob("segment-*"))) == 1


def test_vectors_carried_with_a_dump_are_taken_where_text_and_model_are_the_same(tmp_path: Path) -> None:
    from memory import carried

    imported(tmp_path, *SOME)
    first = MemoryStore.open(tmp_path / "corpus")
    assert carried.save(first.corpus, tmp_path / "vectors.npz") == 3
    shutil.rmtree(tmp_path / "corpus")
    report = imported(tmp_path, *SOME, comment("new", "a", time=9))
    assert report.encoded == 1
    second = MemoryStore.open(tmp_path / "corpus")
    old, new = (s.history("bob", before=START + 5).vectors for s in (first, second))
    assert len(old) == 1 and (old == new).all()
    assert carried.load([tmp_path], "another model") == []
    (tmp_path / "vectors.npz").write_bytes(b"no")
    with pytest.raises(BadInput, match="move it away"):
        imported(tmp_path, *SOME, comment("newer", "a", time=10))
