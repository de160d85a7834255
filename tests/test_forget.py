"""Forgetting is judged from outside: every byte of every file in the folder is searched."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from dumps import START, comment, imported, post, write

from evaluation.cli import main
from memory.corpus import Corpus
from memory.errors import Missing, UnknownName
from memory.forget import forget, settle
from memory.importing import ImportReport
from memory.store import MemoryStore
from memory.stored import text_hash

NAME = "Rosalind_F"
QUOTE = "photograph fiftyone"  # of hers, by somebody else: stays
ROWS = (
    post("a", author=NAME, title="Helical xrays", selftext=f"my {QUOTE} is diffraction"),
    comment("b", "a", author="crick", body=f"> {QUOTE}\n\nthanks u/rosalind_f, and ROSALIND_F's team"),
    comment("c", "a", "t1_b", author=NAME.lower(), body="unpublished crystallography", time=2),
    comment("d", "a", "t1_c", author="watson", body="nothing about her", time=3),
    post("p", author="watson", title="ask rosalind_f!", subreddit=f"u_{NAME}", time=4),
    comment("e", "p", author="crick", body=f"rosalind_fan and {NAME}-like", time=5),
)
HERS = (b"helical", b"diffraction", b"crystallography")


def held(folder: Path) -> bytes:
    """Every byte in the folder, and the names of its files."""
    files = [f for f in folder.rglob("*") if f.is_file()]
    return b"".join(f.read_bytes() + str(f.relative_to(folder)).encode() for f in files).lower()


def corpus(folder: Path, keep_names: bool) -> ImportReport:
    return imported(folder, *ROWS, keep_names=keep_names)


def people(folder: Path) -> dict[str, str]:
    """Real name -> what the corpus calls them, by a message of theirs."""
    opened = Corpus.open(folder / "corpus")
    found = {n: opened.message(id).author or "" for n, id in ((NAME, "t3_a"), ("crick", "t1_b"), ("watson", "t1_d"))}
    opened.close()
    return found


@pytest.mark.parametrize("keep_names", [True, False])
@pytest.mark.parametrize("by_name", [True, False])
def test_no_file_holds_words_or_names_of_who_was_forgotten(tmp_path: Path, keep_names: bool, by_name: bool) -> None:
    corpus(tmp_path, keep_names)
    called = people(tmp_path)[NAME]
    before = held(tmp_path / "corpus")
    assert all(word in before for word in (*HERS, called.lower().encode()))
    done = forget(tmp_path / "corpus", NAME if by_name else called)
    assert (done.messages, done.mentions) == (2, 3)
    after = held(tmp_path / "corpus")
    for word in (*HERS, called.lower().encode() + b"'", f"u/{called}".lower().encode()):
        assert word not in after
    for name in {called.lower().encode(), NAME.lower().encode()}:
        assert name not in after.replace(b"rosalind_fan", b"")  # another word, which begins like her name
    assert QUOTE.encode() in after


@pytest.mark.parametrize("keep_names", [True, False])
def test_the_tree_stays_whole_and_everybody_else_is_as_before(tmp_path: Path, keep_names: bool) -> None:
    corpus(tmp_path, keep_names)
    called = people(tmp_path)
    old = MemoryStore.open(tmp_path / "corpus")
    forget(tmp_path / "corpus", called[NAME])
    new = MemoryStore.open(tmp_path / "corpus")
    assert old.corpus.data_hash != new.corpus.data_hash
    thread = new.corpus.thread("t3_a")
    assert [(m.id, m.parent) for m in thread.messages] == [(m.id, m.parent) for m in old.corpus.thread("t3_a").messages]
    assert (thread["t3_a"].author, thread["t3_a"].text, thread["t3_a"].title) == (None, None, "")
    assert thread["t1_b"].text == f"> {QUOTE}\n\nthanks u/[forgotten], and [forgotten]'s team"
    assert thread["t1_c"].words == ""
    assert new.corpus.message("t3_p").title == "ask [forgotten]!"
    assert new.corpus.message("t3_p").place == "u_[forgotten]"
    assert new.corpus.message("t1_e").text == "rosalind_fan and [forgotten]-like"
    assert set(new.corpus.people()) == {called["crick"], called["watson"]}
    with pytest.raises(UnknownName):
        new.history(called[NAME], before=START + 9)
    ask = partial(MemoryStore.history, user=called["watson"], before=START + 9)
    assert ask(new).messages[0] == ask(old).messages[0]
    assert (ask(new).vectors[0] == ask(old).vectors[0]).all()
    assert [id for id, _ in ask(new).native(ask(new).vectors[0], 5)] == ["t1_d", "t3_p"]
    assert new._look_up(text_hash("unpublished crystallography")) is None


@pytest.mark.parametrize("keep_names", [True, False])
def test_a_later_import_of_the_same_dump_brings_nobody_back(tmp_path: Path, keep_names: bool) -> None:
    corpus(tmp_path, keep_names)
    called = people(tmp_path)[NAME]
    forget(tmp_path / "corpus", called)
    gone = Corpus.open(tmp_path / "corpus").data_hash
    signed_off = comment("c", "a", "t1_b", author="[deleted]", body="unpublished crystallography", time=2)
    for rows in (ROWS, (signed_off,), (comment("new", "a", author=called.upper(), body="helical again", time=8),)):
        assert imported(tmp_path, *rows, keep_names=keep_names).ok
        after = held(tmp_path / "corpus").replace(b"rosalind_fan", b"")
        for word in (*HERS, called.lower().encode(), NAME.lower().encode()):
            assert word not in after
        if rows[-1]["id"] != "new":
            assert Corpus.open(tmp_path / "corpus").data_hash == gone
    assert Corpus.open(tmp_path / "corpus").manifest["forgotten"] == 1
    assert imported(tmp_path, comment("x", "a", author="new_one", time=9), keep_names=keep_names).kept == 1


def test_the_manifest_counts_but_does_not_name_and_a_file_called_after_them_is_renamed(tmp_path: Path) -> None:
    from memory.importing import import_corpus

    source = write(tmp_path / f"{NAME}_comments.ndjson", *ROWS, b"garbage")
    import_corpus([source], tmp_path / "corpus", embedder="bag", keep_names=True)
    forget(tmp_path / "corpus", "watson")
    forget(tmp_path / "corpus", NAME)
    manifest = Corpus.open(tmp_path / "corpus").manifest
    assert manifest["forgotten"] == 2
    assert [s["name"] for s in manifest["sources"]] == ["[forgotten]_comments.ndjson"]
    assert any("[forgotten]_comments.ndjson:7" in row[3] for row in manifest["report"])
    import_corpus([source], tmp_path / "corpus", embedder="bag", keep_names=True)
    assert NAME.lower().encode() not in held(tmp_path / "corpus").replace(b"rosalind_fan", b"")


def test_a_name_of_several_words_is_found_in_texts_now_and_after_a_later_import(tmp_path: Path) -> None:
    rows = (post("a", author="Ann van Dam"), comment("b", "a", body="ann van dam, Ann van Damme; (Ann van Dam)"))
    imported(tmp_path, *rows)
    for _ in range(2):
        text = "[forgotten], Ann van Damme; ([forgotten])"
        forget(tmp_path / "corpus", "Ann van Dam")
        assert Corpus.open(tmp_path / "corpus").message("t1_b").text == text
        imported(tmp_path, *rows)
        assert Corpus.open(tmp_path / "corpus").message("t1_b").text == text


def test_without_the_key_a_pseudonym_can_be_forgotten_but_no_name_is_known(tmp_path: Path) -> None:
    corpus(tmp_path, keep_names=False)
    called = people(tmp_path)
    key = tmp_path / "corpus.key"
    key.rename(tmp_path / "elsewhere")
    with pytest.raises(UnknownName, match="a real name is known only with the key"):
        forget(tmp_path / "corpus", NAME)
    assert forget(tmp_path / "corpus", called[NAME]).messages == 2
    assert called[NAME].encode() not in held(tmp_path / "corpus")
    (tmp_path / "elsewhere").rename(key)
    imported(tmp_path, *ROWS, keep_names=False)
    assert b"crystallography" not in held(tmp_path / "corpus")


def test_who_is_unknown_changes_nothing_and_who_was_forgotten_is_not_asked_for_twice(tmp_path: Path) -> None:
    corpus(tmp_path, keep_names=True)
    before = held(tmp_path / "corpus")
    with pytest.raises(UnknownName, match="unknown person 'nobody'"):
        forget(tmp_path / "corpus", "nobody")
    assert held(tmp_path / "corpus") == before and not (tmp_path / "corpus.key").exists()
    with pytest.raises(Missing, match="no imported corpus"):
        forget(tmp_path / "other", NAME)
    assert not (tmp_path / "other").exists()
    forget(tmp_path / "corpus", NAME)
    assert forget(tmp_path / "corpus", NAME.upper()).already


def test_a_corpus_that_forgot_somebody_wants_its_key_for_more(tmp_path: Path) -> None:
    corpus(tmp_path, keep_names=True)
    forget(tmp_path / "corpus", NAME)
    (tmp_path / "corpus.key").unlink()
    with pytest.raises(Missing, match=r"corpus\.key is gone"):
        corpus(tmp_path, keep_names=True)


def test_a_forgetting_that_is_killed_can_be_done_again(tmp_path: Path) -> None:
    corpus(tmp_path, keep_names=True)
    code = f"""
import os, signal
from pathlib import Path
from memory.forget import forget
def stop(what, done, total):
    if what == "write": os.kill(os.getpid(), signal.SIGKILL)
forget(Path({str(tmp_path / "corpus")!r}), {NAME!r}, stop)
"""
    killed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert killed.returncode == -9, killed.stderr
    assert len(Corpus.open(tmp_path / "corpus").people()) == 3
    forget(tmp_path / "corpus", NAME)
    assert b"crystallography" not in held(tmp_path / "corpus")
    assert sorted(f.name for f in (tmp_path / "corpus").iterdir() if f.is_dir())[0] == "chroma"


def test_what_a_kill_between_two_steps_leaves_is_put_right(tmp_path: Path) -> None:
    for there, want in ((("chroma.old",), "old"), (("chroma.old", "chroma", "chroma.new"), "")):
        folder = tmp_path / str(len(there))
        for name in there:
            (folder / name).mkdir(parents=True)
            (folder / name / name.partition(".")[2]).touch()
        settle(folder)
        assert [f.name for f in folder.iterdir()] == ["chroma"]
        assert [f.name for f in (folder / "chroma").iterdir()] == ([want] if want else [])


def test_the_command_says_what_it_did_and_what_it_cannot_reach(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus(tmp_path, keep_names=False)
    assert main(["forget", str(tmp_path / "corpus"), NAME]) == 0
    shown = capsys.readouterr().out
    assert "2 messages are left without words" in shown and "Not reached: what others quoted" in shown
    assert NAME not in shown
    assert main(["forget", str(tmp_path / "corpus"), NAME]) == 0
    assert "forgotten before" in capsys.readouterr().out
    assert main(["forget", str(tmp_path / "corpus"), "nobody"]) == 2
