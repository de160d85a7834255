from memory import carried, sample
from memory.embed import MiniLM
from memory.message import unquoted
from memory.readers import pushshift
from memory.reading import Source, Tally
from memory.stored import text_hash


def test_the_sample_reads_without_a_repair_and_names_its_licence_in_every_row() -> None:
    tally = Tally()
    rows = [row for path in sample.paths() for row in pushshift.read(Source(path), tally)]
    assert (len(rows), tally.counts, tally.problems) == (5189, {}, [])
    assert all(
        line.count(b'"license":"CC BY-SA ') == 1 for path in sample.paths() for _, line, _ in Source(path).lines(tally)
    )


def test_the_vectors_that_come_with_the_sample_are_the_packaged_models() -> None:
    model = MiniLM()
    [given] = carried.load([sample.paths()[0].parent], model.name)
    assert len(given.hashes) == 5114
    texts = [unquoted(row.text) for row in pushshift.read(Source(sample.paths()[0]), Tally()) if row.text][::700]
    for text, vector in zip(texts, model(texts), strict=True):
        found = given.get(text_hash(text))
        assert found is not None and abs(found @ vector - 1) < 2e-3
