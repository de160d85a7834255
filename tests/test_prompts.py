"""The prompts of memories and of chosen_by_model are template files too: versioned, replaceable, inert to attacks."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_asking import Model
from test_retrievers import Said
from test_wording import ATTACKS, CONTROL, message

from memory import policy, retrievers
from memory.asking import VERSION, prompts
from memory.doors import CorpusDoors, needs
from memory.errors import BadInput
from memory.message import Message, Thread
from memory.retrievers.profile_summary import describing
from memory.store import MemoryStore
from memory.templates import Wording
from simulator import runlog
from simulator.asked import Asked
from simulator.floor import Floor
from simulator.manifest import RunSpec
from simulator.records import Ask, Slot, Turn
from simulator.schedulers.chosen_by_model import Policy as Chosen
from simulator.testing import Scripted, Shelf, distinct
from simulator.wording import wording
from tests.test_run import play

OPTIONS = {"multi_query": ":model=true,queries=3", "generative_agents": ":rater=model"}
ASKING = [f"{name}{OPTIONS.get(name, '')}" for name in prompts().parts]


def asked(spec: str, words: str, wanted: Wording | None = None) -> list[str]:
    """What the policy `spec` asks a model about somebody who always says `words`, and is told them."""
    model = Model(lambda prompt: "fine")
    doors = CorpusDoors(ask=model, words=wanted)
    asyncio.run(doors.recall(policy.load(retrievers, spec), Said([words] * 30), words))
    return model.asked


def chosen(root: Message, place: str, words: Wording) -> str:
    """What chosen_by_model asks in a thread that is one post and two answers."""
    heard = []

    async def hears(slot: Slot, ask: Ask, prompt: str, readable: object) -> Turn:
        heard.append(f"{prompt}\n\n{ask.question}")
        raise BadInput("enough")

    async def once(floor: Floor) -> None:
        with pytest.raises(BadInput, match="enough"):
            await anext(Chosen()(floor))

    said = (root, *(replace(root, id=f"m{n}", time=n, parent="m1", author="cat") for n in (2, 3)))
    thread = Thread.of("t", [replace(m, place=place) for m in said])
    asyncio.run(once(Floor(thread, None, 1, "free", ("ann", "cat"), ("ann", "cat"), Shelf(()), 1, hears, words)))
    return heard[0]


def frame(prompt: str) -> list[str]:
    return [line for line in prompt.split("\n") if not line.startswith(">")]


def own(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        file = folder / f"{name.replace('__', '/')}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def test_the_packaged_prompts_are_those_of_their_version() -> None:
    # Changed words need a new VERSION: put both here together.
    assert (VERSION, prompts().hash) == ("1", "af88da5cc2aa")


def test_every_memory_that_can_ask_has_its_prompt_in_a_file() -> None:
    named = {spec.partition(":")[0] for spec in ASKING}
    assert {name for name in policy.names(retrievers) if "ask" in needs(policy.load(retrievers, name))} <= named
    assert all("words" in needs(policy.load(retrievers, spec)) and asked(spec, "hello") for spec in ASKING)


@pytest.mark.parametrize("attack", ATTACKS)
def test_whatever_people_write_stays_data_in_what_memories_and_schedulers_ask(attack: str, tmp_path: Path) -> None:
    mine = own(tmp_path, memory__keyed_expansion="Mine:\n{text}\nEnd.", memory__profile_summary="{text}\nMine.")
    for words in (None, prompts(mine)):
        for spec in ASKING:
            found, plain = asked(spec, attack, words), asked(spec, "plain", words)
            assert {tuple(frame(prompt)) for prompt in found} <= {tuple(frame(prompt)) for prompt in plain} and found
            assert not [token for token in CONTROL for prompt in found if token.casefold() in prompt.casefold()]
    text = describing([message("m1", "t", None, attack, 1, attack)], prompts())
    assert frame(text) == frame(describing([message("m1", "t", None, "ann", 1, "plain")], prompts()))
    next_ = chosen(message("m1", "t", None, attack, 1, attack), "cycling", wording())
    assert frame(next_) == frame(chosen(message("m1", "t", None, "bob", 1, "plain"), "cycling", wording()))
    named = chosen(message("m1", "t", None, "bob", 1, "plain"), attack, wording())
    assert len(frame(named)) == len(frame(next_))
    assert not [token for token in CONTROL if token.casefold() in (next_ + named).casefold()]


def test_a_folder_replaces_what_memories_profiles_and_the_scheduler_ask(store: MemoryStore, tmp_path: Path) -> None:
    next_ = {"next": "Who?", "next_scene": "{people} in {community}\n{messages}"}
    words = own(tmp_path / "words", memory__profile_summary="Sum up:\n{text}", **next_)
    model = Scripted(distinct)
    spec = {"threads": 1, "max_turns": 1, "retriever": "profile_summary", "profile": True}
    play(store, tmp_path / "run", model, prompt_templates=str(words), scheduler="chosen_by_model", **spec)
    alone = [request.messages[0][1] for request in model.requests if request.about is None]
    assert alone and all(text.startswith("Sum up:\nMessage 1:\n>") for text in alone)
    [choice] = [r.messages[-1][1] for r in model.requests if r.about and r.about[2] == "next"]
    assert choice.endswith("\n\nWho?") and choice.startswith("Member A, ") and "Those who" not in choice
    assert runlog.manifest(tmp_path / "run")["decides"]["memory_templates"] == prompts(words).stamp
    own(words, memory__profile_summary="Sum up, again:\n{text}")
    prompts.cache_clear()
    with pytest.raises(BadInput, match="holds a run made otherwise: memory_templates was 'own:"):
        play(store, tmp_path / "run", model, prompt_templates=str(words), scheduler="chosen_by_model", **spec)


def test_another_prompt_is_not_answered_with_what_the_old_one_was(tmp_path: Path) -> None:
    model = Scripted(distinct)
    asking = Asked(model, "memory")
    asking.keep(tmp_path, tmp_path)
    made, past = policy.load(retrievers, "hyde"), Said(["chain", "brakes"])
    mine = prompts(own(tmp_path / "words", memory__hyde="Reply to this:\n{text}\n{n}"))
    for words, calls in ((None, 1), (mine, 2), (None, 2)):
        asyncio.run(CorpusDoors(ask=asking, words=words).recall(made, past, "chain"))
        assert asking.calls == calls


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("memory__hyde", "Reply!", r"hyde.txt lacks \{text\}: a prompt would leave it out in silence"),
        ("memory__hyde", "{text} {n} {author}", r"line 1: \{author\} is no placeholder of this template; it has"),
        ("memory__hide", "{text}", r"hide.txt is no template that is used; the names are generative_agents.txt, hyde"),
        ("next", "Who of {people}?", r"next.txt line 1: \{people\} is no placeholder of this template; it has none"),
    ],
)
def test_a_prompt_that_cannot_serve_is_refused_by_file_and_line(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    spec = RunSpec.of({"prompt_templates": str(own(tmp_path, **{name: text}))})
    with pytest.raises(BadInput, match=said):
        json.dumps([spec.wording().hash, prompts(spec.templates).hash])
