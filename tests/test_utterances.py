"""Many utterances at once come out as each alone."""

import json
from pathlib import Path
from typing import Any

import pytest
from dumps import START, write
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.batch import Batch
from memory.corpus import Corpus
from memory.importing import import_corpus
from memory.readers.convokit import read
from memory.reading import PLAIN, Row, Source, Tally
from memory.sources import reader

META = {"score": 4, "subreddit": "bikes"}
ABOUT = {"a": {"meta": {"title": " A &amp; question", "subreddit": "cars"}}, "t3_a": {"meta": {"title": "Whole"}}}
OURS = {"meta": {"personaconv": {"version": 1, "bots": ["helper"]}}}
ALONE = b""  # a blank line in it: the part is read line by line
OLD = {"conversation_id": "root", "speaker": "user", "reply-to": "reply_to"}


def utterance(id: str, above: str | None = None, **more: Any) -> dict[str, Any]:
    said = {"id": id, "conversation_id": "a", "text": f"words of {id}", "speaker": "ann", "meta": META}
    return {**said, "reply-to": above, "timestamp": START, "vectors": [], **more}


def old(given: dict[str, Any]) -> dict[str, Any]:
    """The same as older corpora spell it."""
    return {OLD.get(name, name): value for name, value in given.items()}


def folder(at: Path, *utterances: dict[str, Any] | bytes, ours: bool = False) -> Source:
    at.mkdir(exist_ok=True)
    write(at / "utterances.jsonl", *utterances)
    write(at / "conversations.json", ABOUT)
    write(at / "corpus.json", OURS if ours else b"{}")
    return Source(at)


def rows(at: Path, *utterances: dict[str, Any] | bytes, ours: bool = False) -> tuple[list[Row], int, dict[Any, int]]:
    """What is read, how many lines that was, and what was noted."""
    tally = Tally()
    found = list(read(folder(at, *utterances, ours=ours), tally))
    return found, tally.read, tally.counts


def taken(source: Source) -> int:
    """How many come together."""
    return sum(len(found) for found in reader(source)(source, Tally()) if isinstance(found, Batch))


TEXTS = st.sampled_from(
    [
        "",
        "[deleted]",
        "[removed]",
        " [Removed]",
        "a &amp; b",
        "a & b",
        "nul\0",
        "[x](y)",
        "é\u2028 > ",
        "\ud83d",
        None,
        5,
    ]
)
NAMES = st.sampled_from(["ann", "[deleted]", "", "a b", "helper", "é", None, 7, {"id": "ann"}])
IDS = st.sampled_from(["", "a", "t3_a", "t1_b", "c", "d_e", 7, None, "d\te", "d\ne", "d\0", "é"])
NUMBERS = st.sampled_from([0, -1, START, START * 1000, 2**62, -(2**62), 10**30, 1.5, "4", None, True])
MADE = st.fixed_dictionaries(
    {},
    optional={
        "id": IDS | st.sampled_from(["x" * 21, "x" * 22, "x" * 24]),
        "conversation_id": IDS,
        "root": IDS,
        "text": TEXTS,
        "speaker": NAMES,
        "user": NAMES,
        "reply-to": IDS | st.sampled_from(["x" * 45, "t1_" + "x" * 20]),
        "reply_to": IDS,
        "timestamp": NUMBERS,
        "meta": st.none()
        | st.fixed_dictionaries(
            {},
            optional={
                "score": NUMBERS,
                "retrieved_on": NUMBERS,
                "subreddit": st.sampled_from(["bikes", "", None, 3]),
                "flair": st.sampled_from(["", {"a": [1]}]),
            },
        ),
    },
)
USUAL = st.builds(
    lambda given, meta, above, dates: old(given) if dates else {**given, "meta": META | meta, "reply-to": above},
    st.builds(
        utterance,
        st.sampled_from(["a", "b", "t3_a", "t1_b"]),
        conversation_id=st.sampled_from(["a", "t3_a"]),
        text=st.sampled_from(["", "[deleted]", "[removed]", "a &amp; b", "[x](y)", "é\u2028"]),
        speaker=st.sampled_from(["ann", "[deleted]", "helper", "é"]),
    ),
    st.fixed_dictionaries(
        {}, optional={"score": st.sampled_from([0, -1, None]), "retrieved_on": st.sampled_from([START, 0, -1, None])}
    ),
    st.sampled_from([None, "a", "b", "t1_b", "t3_a"]),
    st.booleans(),
)
LINES = st.lists(USUAL | st.builds(lambda given, made: given | made, USUAL, MADE), min_size=1, max_size=4)


@settings(deadline=None)
@given(LINES, st.booleans())
def test_lines_together_are_what_each_is_alone(
    tmp_path_factory: pytest.TempPathFactory, lines: list[dict[str, Any]], ours: bool
) -> None:
    at = tmp_path_factory.mktemp("c")
    together, alone = rows(at, *lines, ours=ours), rows(at, *lines, ALONE, ours=ours)
    assert together[0] == alone[0]
    assert together[1] == alone[1] - 1
    assert together[2] == {key: n for key, n in alone[2].items() if key[0] != "passed over"}


THREAD = (
    utterance("b", "a", speaker="bob", text="before its post &lt;"),
    utterance("a", text="why?", meta={**META, "retrieved_on": START + 5}),
    utterance("c", "b", speaker="[deleted]", text="[deleted]", meta={**META, "score": None, "gilded": {"a": 1}}),
    utterance("d", speaker="helper", meta={**META, "retrieved_on": -1}),
)


@pytest.mark.parametrize("ours", [True, False])
@pytest.mark.parametrize("spelled", [dict, old])
def test_what_nearly_every_utterance_looks_like_is_taken_together(tmp_path: Path, spelled: Any, ours: bool) -> None:
    lines = [spelled(line) for line in THREAD]
    assert taken(folder(tmp_path / "c", *lines, ours=ours)) == 4
    assert taken(folder(tmp_path / "c", *lines, ALONE, ours=ours)) == 0
    found, read, noted = rows(tmp_path / "c", *lines, ours=ours)
    assert found == [
        Row("t1_b", "t3_a", "t3_a", "bob", START, f"before its post {'&lt;' if ours else '<'}", 4, "bikes", line=1),
        Row(
            "t3_a", "t3_a", None, "ann", START, "why?", 4, "bikes", "post",
            " A &amp; question" if ours else "A & question", START + 5, 2,
        ),
        Row("t1_c", "t3_a", "t1_b", None, START, None, None, "bikes", line=3),
        Row("t1_d", "t3_a", "t3_a", "helper", START, "words of d", 4, "bikes", line=4, bot=ours),
    ]  # fmt: skip
    assert (read, noted) == (4, {})


def test_ids_that_have_their_prefix_are_taken_together(tmp_path: Path) -> None:
    whole = {"conversation_id": "t3_a"}
    source = folder(tmp_path / "c", utterance("t3_a", **whole), utterance("t1_b", "t3_a", **whole))
    assert taken(source) == 2
    assert [(r.id, r.thread, r.parent, r.title) for r in read(source, Tally())] == [
        ("t3_a", "t3_a", None, "Whole"),
        ("t1_b", "t3_a", "t3_a", ""),
    ]


@pytest.mark.parametrize("id, above", [("t1_a", None), ("t3_b", "a")])
def test_a_post_with_the_id_of_a_comment_and_the_reverse_are_left_alone(
    tmp_path: Path, id: str, above: str | None
) -> None:
    line = utterance(id, above, conversation_id="a" if above else id)
    assert taken(folder(tmp_path / "c", line)) == 0


def test_damage_in_what_is_not_read_is_noted_still(tmp_path: Path) -> None:
    line = json.dumps(utterance("b", "a")).encode().replace(b'"vectors": []', b'"vectors": "\xff"')
    assert rows(tmp_path / "c", line)[2] == {("repaired", "invalid UTF-8 replaced"): 1}


def test_numbers_of_lines_go_on_from_part_to_part(tmp_path: Path) -> None:
    many = [utterance(f"b{n}", "a" if n else None, text="x" * PLAIN) for n in range(3)]
    found, read, _ = rows(tmp_path / "c", many[0], ALONE, *many[1:])
    assert [row.line for row in found] == [1, 3, 4] and read == 4
    assert taken(Source(tmp_path / "c")) == 2


@pytest.mark.parametrize("ours", [True, False])
def test_a_corpus_is_the_same_whether_its_utterances_came_together_or_not(tmp_path: Path, ours: bool) -> None:
    many = [utterance(f"e{n}", "c", text="long " * (PLAIN // 10)) for n in range(4)]  # of more than one part
    copies = (utterance("B", "a", speaker="Bob"), utterance("b", "a", text="newer", meta={**META, "retrieved_on": 9}))
    lines, made = [*THREAD, *copies, *many, THREAD[0], THREAD[3]], []
    for name, time in (("together", START), ("alone", str(START))):
        folder(tmp_path / "in", *(line | {"timestamp": time} for line in lines), ours=ours)
        assert taken(Source(tmp_path / "in")) == (len(lines) if name == "together" else 0)
        report = import_corpus([tmp_path / "in"], tmp_path / name, embedder="none", keep_names=True)
        corpus = Corpus.open(tmp_path / name)
        made.append((
            corpus.data_hash, corpus.people(), [corpus.thread(id) for id in corpus.thread_ids()],
            corpus.sql.execute("select code, name, bot from authors").fetchall(),
            [change for change in report.changes if change[0] == "repaired"],
        ))  # fmt: skip
    assert made[0] == made[1]
    assert ("helper", ours) in [(name, bool(bot)) for _, name, bot in made[0][3]]
