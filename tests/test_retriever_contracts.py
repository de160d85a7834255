"""What every retrieval strategy keeps, asked of whatever is in the folder; a new file is tested because it is there."""

import asyncio
import math
import random
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from dumps import START, comment, imported, post
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import policy, retrievers
from memory.asking import prompts
from memory.doors import needs
from memory.errors import BadInput
from memory.message import Message
from memory.others import CorpusOthers
from memory.recall import Recalled
from memory.store import MemoryStore
from memory.tokens import count

FORMS = ("dense:native=true", "generative_agents:form=inverted", "generative_agents:rater=model", "multi_query:model=1")
FORMS += (
    "neighbour:mode=neighbor,ranker=dense",
    "swap_user:base=recency",
    "oracle:metric=cosine",
    "oracle:metric=bm25",
)
FORMS += ("keyed_expansion:join=separate", "keyed_expansion:join=replace", "hyde:n=3", "reflection:every=3")
SPECS = [*policy.names(retrievers), *FORMS]
CHOOSY = [s for s in SPECS if any(f.name == "k" for f in fields(policy.load(retrievers, s)))]  # all others take all
PEOPLE = ("ann", "bob", "cy")
ASKED_ABOUT = "canary chain oil"  # a query that what is planted answers best
NOW = 60  # what is planted stands at this second or later
TEXTS = ("chain oil", "wax the chain", "oil", "rain", "brakes squeal in rain", "the the the", "?!", "Ölkette über")


def real() -> list[dict[str, Any]]:
    """Three people's 90 messages, many at the same second and many in the same words."""
    dice = random.Random(7)
    said = [
        comment(f"r{n:02}", "a", author=dice.choice(PEOPLE), time=dice.randrange(1, NOW, 4), body=dice.choice(TEXTS))
        for n in range(90)
    ]
    return [post("a", author="ann", title="chain oil"), *said, comment("one", "a", author="once", time=3, body="oil")]


def planted() -> list[dict[str, Any]]:
    """Messages of the same people from NOW on that match every query best and would turn every statistic."""
    texts = [f"CANARY {text} {text} {text}" for text in TEXTS] + list(TEXTS)
    return [
        comment(f"z{n:03}", "a", author=PEOPLE[n % 3], time=NOW + n // 30, body=texts[n % len(texts)])
        for n in range(120)
    ]


class Stores(NamedTuple):
    plain: MemoryStore
    planted: MemoryStore  # the same and a future
    shuffled: MemoryStore  # as planted, in another order


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Stores:
    mixed = [*real(), *planted()]
    random.Random(1).shuffle(mixed)
    found = []
    for rows in (real(), [*real(), *planted()], mixed):
        folder = tmp_path_factory.mktemp("store")
        imported(folder, *rows)
        found.append(MemoryStore.open(folder / "corpus"))
    return Stores(*found)


def policy_of(spec: str, **options: Any) -> Any:
    """With those of the options that it has and that are given."""
    has = {f.name for f in fields(policy.load(retrievers, spec))}
    return policy.load(retrievers, spec, **{k: v for k, v in options.items() if k in has and v is not None})


def recall(
    store: MemoryStore, spec: str, user: str, before: int, query: str, k: int | None = None, **options: Any
) -> list[Recalled]:
    made, past = policy_of(spec, k=k, **options), store.history(user, before=START + before)
    ask = Parrot(past.before)
    given = {"others": CorpusOthers(store, past), "truth": "wax the chain with oil", "ask": ask, "words": prompts()}
    found: list[Recalled] = asyncio.run(made(past, query, **{need: given[need] for need in needs(made)}))
    assert before > NOW or not any("CANARY" in prompt for prompt in ask.heard)
    return found


def store_has(store: MemoryStore, message: Message) -> bool:
    return store.corpus.message(message.id) == message


@dataclass
class Parrot:
    """A model that answers with words of its prompt, so that what leaks into a prompt turns the answer."""

    before: int
    heard: list[str] = field(default_factory=list)

    async def __call__(self, prompt: str) -> str:
        self.heard.append(prompt)
        quoted = [line.removeprefix("> ") for line in prompt.splitlines() if line.startswith("> ")]
        return "\n".join(f"{n}. {line} (because of {n})" for n, line in enumerate(quoted, 1))


ASKED = {
    "spec": st.sampled_from(SPECS),
    "user": st.sampled_from([*PEOPLE, "once"]),
    "before": st.integers(-1, NOW + 6),
    "query": st.sampled_from([*TEXTS, ASKED_ABOUT, "", "nobody ever said this"]),
    "k": st.sampled_from([0, 1, 2, 5, 1000]),
}


@given(**ASKED)
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_recalled_is_the_persons_own_earlier_words_best_first_and_once(
    stores: Stores, spec: str, user: str, before: int, query: str, k: int
) -> None:
    found = recall(stores.planted, spec, user, before, query, k)
    assert all(r.message.time < START + before for r in found)
    if "others" not in needs(policy_of(spec)):
        assert all(r.message.author == user for r in found)
    assert before > NOW or not any("CANARY" in r.message.words for r in found)
    assert all(r.role == "note" or store_has(stores.planted, r.message) for r in found)
    assert len(found) <= k or spec not in CHOOSY
    assert len({r.message.id for r in found}) == len(found)
    order = [(-r.score, -r.message.time, r.message.id) for r in found]
    assert order == sorted(order), "larger score first, then newer, then id"
    values = {name for r in found for name in r.terms if not name.endswith("_rank")}
    assert values or not found, "every item says what its score is made of"
    for r in found:
        assert {f"{name}_rank" for name in values & r.terms.keys()} == r.terms.keys() - values
        assert all(math.isfinite(value) for value in r.terms.values())


@given(**{name: ASKED[name] for name in ("spec", "query", "k")}, budget=st.integers(1, 40))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_budget_in_tokens_is_kept_to(stores: Stores, spec: str, query: str, k: int, budget: int) -> None:
    free = recall(stores.planted, spec, "ann", NOW, query, k, max_tokens=0)
    found = recall(stores.planted, spec, "ann", NOW, query, k, max_tokens=budget)
    assert sum(count(r.message.bare.words) for r in found) <= budget
    assert [r for r in free if r in found] == found
    assert not free or found or min(count(r.message.bare.words) for r in free) > budget, "what fits is recalled"


@given(**{**ASKED, "before": st.integers(-1, NOW)})
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_planted_future_changes_nothing_not_even_a_score(
    stores: Stores, spec: str, user: str, before: int, query: str, k: int
) -> None:
    asked = (spec, user, before, query, k)
    without, with_future = recall(stores.plain, *asked), recall(stores.planted, *asked)
    assert [r.score for r in with_future] == pytest.approx([r.score for r in without], abs=1e-6)
    if "native" not in spec:  # Chroma breaks ties at the last place as it likes
        assert with_future == without


@pytest.mark.parametrize("spec", policy.names(retrievers))
def test_same_input_same_output_whatever_order_it_was_imported_in(stores: Stores, spec: str) -> None:
    for user in PEOPLE:
        for query in TEXTS:
            asked = (spec, user, NOW + 2, query, 7)
            assert recall(stores.planted, *asked) == recall(stores.planted, *asked) == recall(stores.shuffled, *asked)


@pytest.mark.parametrize("spec", policy.names(retrievers))
def test_reading_changes_nothing(stores: Stores, spec: str) -> None:
    folder = stores.plain.corpus.path

    def state() -> dict[Path, tuple[int, int]]:
        return {p: (p.stat().st_size, p.stat().st_mtime_ns) for p in folder.rglob("*")}

    before = state()
    first = recall(stores.plain, spec, "ann", NOW, "chain oil")
    for user in PEOPLE:
        recall(stores.plain, spec, user, NOW // 2, "rain")
    assert recall(stores.plain, spec, "ann", NOW, "chain oil") == first
    assert state() == before


@pytest.mark.parametrize("spec", SPECS)
def test_an_empty_history_recalls_nothing(stores: Stores, spec: str) -> None:
    assert recall(stores.planted, spec, "ann", -1, "chain oil") == []


@pytest.mark.parametrize("spec", SPECS)
def test_more_than_there_is_gives_what_there_is(stores: Stores, spec: str) -> None:
    found = recall(stores.planted, spec, "once", NOW, "oil", 1000)
    own = [r.message.id for r in found if r.message.author == "once" and r.role == "own"]
    others_alone = "others" in needs(policy_of(spec)) and getattr(policy_of(spec), "mode", "") != "both"
    assert own == ([] if spec == "none" or others_alone else ["t1_one"])


@pytest.mark.parametrize("spec", CHOOSY)
def test_fewer_than_none_are_refused(stores: Stores, spec: str) -> None:
    with pytest.raises(BadInput, match="k=-1"):
        recall(stores.planted, spec, "ann", NOW, "chain oil", -1)


@pytest.mark.parametrize("spec", policy.names(retrievers))
def test_every_strategy_says_where_it_comes_from(spec: str) -> None:
    module = type(policy_of(spec)).__module__
    assert "Source: " in (__import__(module, fromlist=["_"]).__doc__ or "")


def test_a_foreign_strategy_is_loaded_by_its_path(stores: Stores, tmp_path: Path) -> None:
    made = policy.load(retrievers, "memory.retrievers.recency:Policy:k=2")
    assert len(asyncio.run(made(stores.plain.history("ann", before=START + NOW), ""))) == 2
