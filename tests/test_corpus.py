from pathlib import Path

import pytest
from dumps import START, comment, imported, post

from memory.corpus import Corpus
from memory.errors import BadInput, Missing, UnknownName
from memory.message import Message

ROWS = (
    post("a", author="ann", time=0, score=5),
    comment("b", "a", author="bob", time=1, score=-2),
    comment("c", "a", "t1_b", author="ann", time=2, score=None),
    post("p", author="bob", time=3, score=7),
    comment("q", "p", author="cy", time=3, score=0),
    comment("r", "p", author="ann", time=4, score=1, body="[removed]"),
    comment("s", "p", author="[deleted]", time=5, score=9),
    post("x", author="cy", time=6, score=2, subreddit="cars"),
    comment("y", "x", author="AutoModerator", time=7, score=1, subreddit="cars"),
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    folder = tmp_path_factory.mktemp("corpus")
    imported(folder, *ROWS)
    return Corpus.open(folder / "corpus")


def test_threads_come_by_the_time_of_their_first_message(corpus: Corpus) -> None:
    assert corpus.thread_ids() == ["t3_a", "t3_p", "t3_x"]
    assert [m.id for m in corpus.thread("t3_a").messages] == ["t3_a", "t1_b", "t1_c"]
    with pytest.raises(UnknownName, match="unknown thread 't3_z': choose from t3_a, t3_p, t3_x"):
        corpus.thread("t3_z")


def test_people_are_those_with_words_and_neither_bots_nor_deleted(corpus: Corpus) -> None:
    assert corpus.people() == {"ann": 2, "bob": 2, "cy": 2}


def test_messages_are_read_once_and_come_in_the_order_asked_for(corpus: Corpus) -> None:
    [b, a] = corpus.rows([2, 0])
    again = corpus.rows([0, 1, 2, 0])
    assert [m.id for m in (b, a)] == ["t1_b", "t3_a"] and [m.id for m in again] == ["t3_a", "t1_c", "t1_b", "t3_a"]
    assert again[0] is a and again[2] is b


def scores(corpus: Corpus, **asked: object) -> list[int]:
    return list(corpus.scores(**asked))  # type: ignore[arg-type]


def posts(corpus: Corpus) -> list[Message]:
    found = [m for id in corpus.thread_ids() for m in corpus.thread(id).messages]
    return [m for m in found if m.kind == "post" and m.score is not None]


def test_scores_are_the_known_ones_strictly_earlier_in_order(corpus: Corpus) -> None:
    assert scores(corpus, before=START) == []
    assert scores(corpus, before=START + 3) == [5, -2]
    assert scores(corpus, before=START + 4) == [5, -2, 0, 7]  # by id where times are equal
    assert scores(corpus, before=START + 99) == [5, -2, 0, 7, 1, 9, 2, 1]


def test_scores_can_be_of_a_place_a_person_and_outside_a_thread(corpus: Corpus) -> None:
    late = START + 99
    assert scores(corpus, before=late, place="cars") == [2, 1]
    assert scores(corpus, before=late, author="ann") == [5, 1]
    assert scores(corpus, before=START + 4, author="ann") == [5]
    assert scores(corpus, before=late, place="cars", author="cy") == [2]
    assert scores(corpus, before=late, author="ann", outside="t3_a") == [1]
    assert scores(corpus, before=late, outside="t3_p") == [5, -2, 2, 1]
    assert scores(corpus, before=late, outside="t3_unknown") == scores(corpus, before=late)
    comments = scores(corpus, before=late, comments=True)
    assert comments and sorted(comments + [m.score for m in posts(corpus)]) == sorted(scores(corpus, before=late))
    assert scores(corpus, before=late, place="nowhere") == scores(corpus, before=late, author="nobody") == []


def others(corpus: Corpus, before: int = 99, k: int = 9, seed: int = 0) -> list[str]:
    found = corpus.others(before=START + before, place="bikes", author="ann", outside="t3_x", k=k, seed=seed)
    return [m.id for m in found]


def test_others_are_earlier_words_of_other_people_in_the_place(corpus: Corpus) -> None:
    assert sorted(others(corpus)) == ["t1_b", "t1_q", "t3_p"]
    assert others(corpus, before=3) == ["t1_b"]
    assert others(corpus, before=1) == []
    outside = corpus.others(before=START + 99, place="bikes", author="ann", outside="t3_p", k=9, seed=0)
    assert [m.id for m in outside] == ["t1_b"]
    assert [m.id for m in corpus.others(before=START + 99, place="cars", author="bob", outside="", k=9, seed=0)] == [
        "t3_x"
    ]


def test_others_are_drawn_by_the_seed_alone(corpus: Corpus) -> None:
    drawn = {tuple(others(corpus, k=2, seed=seed)) for seed in range(30)}
    assert len(drawn) == 6  # every ordered pair of three
    assert others(corpus, k=2, seed=7) == others(corpus, k=2, seed=7)
    assert others(corpus, k=0) == []


def test_what_is_to_come_does_not_change_who_is_drawn(corpus: Corpus, tmp_path: Path) -> None:
    imported(tmp_path, *ROWS, *(comment(f"n{i}", "p", author="cy", time=50 + i) for i in range(20)))
    more = Corpus.open(tmp_path / "corpus")
    for seed in range(10):
        assert others(corpus, before=50, seed=seed) == others(more, before=50, seed=seed)


def test_the_hash_names_the_contents(corpus: Corpus, tmp_path: Path) -> None:
    imported(tmp_path, *reversed(ROWS))
    assert Corpus.open(tmp_path / "corpus").data_hash == corpus.data_hash
    imported(tmp_path, {**ROWS[0], "score": 6})
    assert Corpus.open(tmp_path / "corpus").data_hash != corpus.data_hash


def test_a_corpus_that_is_not_there_or_not_ours_is_answered_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="holds no imported corpus; make one with: personaconv import"):
        Corpus.open(tmp_path)
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(BadInput, match="cannot be read"):
        Corpus.open(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(BadInput, match="has format 99, this version reads 4"):
        Corpus.open(tmp_path)
    (tmp_path / "manifest.json").write_text('{"format": 4, "segments": ["segment-000001"], "data_hash": "x"}')
    with pytest.raises(Missing, match="has lost files"):
        Corpus.open(tmp_path)


def test_memory_that_is_given_back_is_read_again(corpus: Corpus) -> None:
    def held() -> int:
        """kB of the arrays that are in memory."""
        maps = Path("/proc/self/smaps").read_text().split("\n")
        at = [n for n, line in enumerate(maps) if str(corpus.path) in line and line.endswith("all_time.npy")]
        return sum(int(maps[n + 1 + k].split()[1]) for n in at for k in range(8) if maps[n + 1 + k].startswith("Rss:"))

    def read() -> object:
        times, rows, vectors = corpus.past("ann", START + 9)
        return times.tolist(), rows.tolist(), vectors().tolist(), corpus.message("t1_q"), corpus.all["time"].tolist()

    before, touched = read(), held()
    corpus.release()
    assert held() == 0 < touched
    assert read() == before
