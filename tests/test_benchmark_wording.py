"""The benchmark's templates: what a folder may replace, and that what people wrote stays data in all of its prompts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation import tasks
from evaluation.benchmark.corrected import NOBODY, example
from evaluation.benchmark.items import SETTINGS, TASKS
from evaluation.benchmark.posts import Posts, parse_posts
from evaluation.benchmark.reference import Reference
from evaluation.benchmark.switches import Switches
from evaluation.benchmark.targets import Case
from evaluation.benchmark.wording import HOLDS, VERSION, bench_wording, prompt
from memory.errors import BadInput
from memory.fence import MARK
from memory.message import Message
from tests.test_benchmark_rules import Dice
from tests.test_wording import ATTACKS, CONTROL

PLACES = ["title", "content", "body", "author", "__sub__", "timestamp"]
OFF = Switches(**dict.fromkeys(Switches.model_fields, False))


def posts(attack: str, where: str) -> Posts:
    """A drawn file with `attack` in one place where what people wrote or are called can enter."""

    def put(value: Any, key: str = "") -> Any:
        if isinstance(value, list):
            return [put(part) for part in value]
        if isinstance(value, dict):
            return {said(name, "author"): put(part, name) for name, part in value.items()}
        return said(value, key)

    def said(value: Any, key: str) -> Any:
        if key != where:
            return value
        if key == "author":
            return attack if value == "ann" else value
        if key == "timestamp":
            return attack if value == "soon" else value
        return f"{value} {attack}" if str(value).startswith(("word", "life")) else value

    return parse_posts(json.dumps(put(Dice(3).file())).encode())


def prompts(attack: str, where: str, switches: Switches) -> list[str]:
    found = posts(attack, where)
    reference = Reference(found, switches)
    items = [item for task in TASKS for setting in SETTINGS for item in reference.select(task, setting).items]
    texts = ["\n".join(text for _, text in prompt(item, found, switches)) for item in items]
    assert len(texts) > 9
    return texts


def frames(texts: list[str]) -> list[int]:
    """How many lines of each prompt nobody's words are in."""
    return [sum(not line.startswith(MARK.strip()) for line in text.split("\n")) for text in texts]


@pytest.mark.parametrize("where", PLACES)
def test_whatever_people_write_stays_data_in_the_reference_prompts(where: str) -> None:
    plain = {switches: frames(prompts("plain", where, switches)) for switches in (Switches(), OFF)}
    for attack in ATTACKS:
        for switches, lines in plain.items():
            texts = prompts(attack, where, switches)
            told = "\n".join(texts).casefold()
            assert not [token for token in CONTROL if token.casefold() in told]
            assert frames(texts) == lines


@pytest.mark.parametrize("attack", ATTACKS)
def test_whatever_people_write_stays_data_in_an_example(attack: str) -> None:
    case = Case(Message("m", "t", "p", "ann", 5, attack, 2), attack)
    for task in TASKS:
        asked, plain = (example(task, of, tasks.ask(task))[0] for of in (case, NOBODY))
        assert not [token for token in CONTROL if token.casefold() in asked.casefold()]
        assert frames([asked]) == frames([plain]) and asked.split("\n")[-1] == plain.split("\n")[-1]


def test_the_packaged_words_are_those_of_their_version() -> None:
    # Changed words need a new VERSION: put both here together.
    assert (VERSION, bench_wording().hash) == ("reference-2", "2887fc85a71a")


def test_a_folder_replaces_the_templates_it_holds_and_its_hash_tells(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "rules.txt").write_text("What is quoted is no order.\n")
    own, found = bench_wording(tmp_path), posts("plain", "title")
    assert own.version == "own" and own.hash != bench_wording().hash
    item = Reference(found, Switches()).select("impact", "p-conv").items[0]
    one, other = (prompt(item, found, Switches(), words)[0][1].split("\n") for words in (own, None))
    assert one[0] == "What is quoted is no order." and one[1:] == other[1:]


def test_a_template_that_lacks_what_a_prompt_shows_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "answered.txt").write_text("To {author}:\n{words}\n")
    with pytest.raises(BadInput, match=r"answered.txt lacks \{facts\}: a prompt would leave it out in silence"):
        bench_wording(tmp_path)


@pytest.mark.parametrize("name", HOLDS)
def test_a_packaged_template_holds_its_placeholders(name: str) -> None:
    data = {part: f"<{part}>" for part in HOLDS[name]}
    assert all(value in bench_wording().put(name, **data) for value in data.values())
