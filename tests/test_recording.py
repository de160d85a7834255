"""Recorded calls: what is in the file is not asked again, what is not names itself, and a run replays byte for byte."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import zstandard

from memory.errors import BadInput, Missing
from simulator.identity import Identity
from simulator.llm import LLM, Completion, ModelError, Request
from simulator.recording import Call, Recorded, Recording, Replayed, calls
from simulator.testing import Faulty, Scripted

ASK = Request((("system", "rules"), ("user", "hello there")), 5, 0.7, 11, about=("t3_a", "t1_b", "reply", 0))
WHO = Identity("openai:m", "r1", "https://host/v1")
FULL = Completion("hé\n", "length", 10, 2, 4, 0.25, {"a": -0.5})


@pytest.fixture(params=["calls.ndjson", "calls.ndjson.zst"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / "new" / str(request.param)


def ask(llm: LLM, *requests: Request) -> list[Completion | ModelError]:
    async def all_of_them() -> list[Completion | ModelError]:
        found: list[Completion | ModelError] = []
        for request in requests:
            try:
                found.append(await llm(request))
            except ModelError as error:
                found.append(error)
        return found

    return asyncio.run(all_of_them())


def record(file: Path, inner: LLM, *requests: Request, who: Identity = WHO) -> list[Completion | ModelError]:
    recording = Recording(file, record=True)
    try:
        return ask(Recorded(inner, recording, who), *requests)
    finally:
        recording.close()


def replay(file: Path, *requests: Request, who: Identity = WHO, any_endpoint: bool = False) -> list[object]:
    return list(ask(Replayed(Recording(file, any_endpoint=any_endpoint), who), *requests))


def test_an_answer_comes_back_whole_with_its_measurements(file: Path) -> None:
    assert record(file, Scripted(FULL), ASK) == [FULL]
    assert replay(file, ASK) == [FULL]


def test_what_is_recorded_is_not_asked_again_in_another_sitting(file: Path) -> None:
    record(file, Scripted(["one", "two"]), ASK)
    model = Scripted("other")
    again = record(file, model, ASK, replace(ASK, seed=12))
    assert [a.text for a in again if isinstance(a, Completion)] == ["one", "other"]
    assert len(model.requests) == 1
    assert len(list(calls(file))) == 2


def test_a_failure_comes_back_as_it_was_and_is_followed_by_what_followed(file: Path) -> None:
    record(file, Scripted([ModelError("transport", "reset by peer", wait=30.0), "yes"]), ASK, ASK)
    failed, then = replay(file, ASK, ASK)
    assert isinstance(failed, ModelError) and (failed.kind, str(failed), failed.wait) == (
        "transport",
        "reset by peer",
        0.0,
    )
    assert isinstance(then, Completion) and then.text == "yes"


def test_a_failure_that_is_about_the_key_is_not_recorded(file: Path) -> None:
    record(file, Scripted(ModelError("refused", "the key is not accepted", fatal=True)), ASK)
    assert list(calls(file)) == []


@pytest.mark.parametrize(
    "other",
    [
        {"messages": (("system", "rules"), ("user", "hello"))},
        {"messages": (("user", "rules"), ("user", "hello there"))},
        {"max_tokens": 6},
        {"temperature": 0.0},
        {"seed": 12},
        {"stop": ("\n",)},
        {"top_logprobs": 5},
        {"repeat": 1},
    ],
)
def test_each_part_of_a_request_is_part_of_the_key(tmp_path: Path, other: dict[str, object]) -> None:
    record(tmp_path / "r", Scripted(), ASK)
    with pytest.raises(Missing):
        replay(tmp_path / "r", replace(ASK, **other))  # type: ignore[arg-type]


@pytest.mark.parametrize("who", [replace(WHO, model="n"), replace(WHO, revision="r2"), replace(WHO, endpoint="e")])
def test_model_revision_and_endpoint_are_part_of_the_key(tmp_path: Path, who: Identity) -> None:
    record(tmp_path / "r", Scripted(), ASK)
    with pytest.raises(Missing):
        replay(tmp_path / "r", ASK, who=who)


def test_the_endpoint_can_be_left_out_of_the_key(tmp_path: Path) -> None:
    record(tmp_path / "r", Scripted(FULL), ASK)
    assert replay(tmp_path / "r", ASK, who=replace(WHO, endpoint="https://else/v1"), any_endpoint=True) == [FULL]


def test_which_turn_a_request_is_about_is_no_part_of_the_key(tmp_path: Path) -> None:
    record(tmp_path / "r", Scripted(FULL), ASK)
    assert replay(tmp_path / "r", replace(ASK, about=None)) == [FULL]


def missed(file: Path, request: Request, who: Identity = WHO) -> str:
    with pytest.raises(Missing) as caught:
        replay(file, request, who=who)
    return str(caught.value)


def test_a_missing_call_says_which_turn_and_which_setting_differs(tmp_path: Path) -> None:
    record(tmp_path / "r", Scripted(), replace(ASK, seed=3, about=("t3_z", "t1_z", "reply", 0)), ASK)
    said = missed(tmp_path / "r", replace(ASK, seed=12, temperature=0.0))
    assert said == (
        f"{tmp_path / 'r'} has no answer to the ask 'reply' of turn t1_b in thread t3_a, repeat 0: the nearest of its "
        "2 calls differs in temperature (recorded 0.7, asked 0.0) and seed (recorded 11, asked 12); "
        "replay with the settings it was recorded with"
    )


def test_a_missing_call_says_where_its_prompt_begins_to_differ(tmp_path: Path) -> None:
    record(tmp_path / "r", Scripted(), replace(ASK, messages=(("user", "one\ntwo and a half\nend"),)))
    said = missed(tmp_path / "r", replace(ASK, messages=(("user", "one\ntwo and \x1b[2J more\nend"),)))
    assert "differs in its prompt from character 12 on, in the line 'two and  [2J more'" in said


def test_a_missing_call_of_another_model_says_so(tmp_path: Path) -> None:
    record(tmp_path / "r", Scripted(), ASK)
    assert "differs in model (recorded 'openai:m', asked 'openai:n');" in missed(
        tmp_path / "r", ASK, replace(WHO, model="openai:n")
    )


def test_a_turn_that_was_never_recorded_is_called_that(tmp_path: Path) -> None:
    record(tmp_path / "r", Scripted(), ASK)
    said = missed(tmp_path / "r", replace(ASK, seed=1, about=("t3_a", "t1_c", "reply", 0)))
    assert "turn t1_c in thread t3_a" in said and "none of its 1 calls is about that turn" in said


def test_a_missing_call_of_a_memory_says_how_it_begins(tmp_path: Path) -> None:
    record(tmp_path / "r", Scripted(), ASK)
    said = missed(tmp_path / "r", Request((("user", "Sum up\nthese messages"),), 300))
    assert "a call by a memory or a profile that begins 'Sum up these messages'" in said


def test_a_recording_without_calls_says_how_to_make_some(tmp_path: Path) -> None:
    Recording(tmp_path / "r", record=True).close()
    assert missed(tmp_path / "r", ASK).endswith("it holds no calls; record a run into it first, with --record")


def test_a_half_line_at_the_end_is_left_out_and_cut_off(file: Path) -> None:
    record(file, Scripted(["one", "two"]), ASK, replace(ASK, seed=2))
    whole = file.read_bytes()
    file.write_bytes(whole[:-9])
    assert replay(file, ASK) == replay(file, ASK)
    with pytest.raises(Missing):
        replay(file, replace(ASK, seed=2))
    record(file, Scripted("two"), replace(ASK, seed=2))
    assert [call.completion.text for call in calls(file) if call.completion] == ["one", "two"]


def test_recordings_joined_end_to_end_are_one(file: Path) -> None:
    record(file, Scripted("one"), ASK)
    first = file.read_bytes()
    file.unlink()
    record(file, Scripted("two"), replace(ASK, seed=2))
    file.write_bytes(first + file.read_bytes())
    assert [c.text for c in replay(file, replace(ASK, seed=2), ASK) if isinstance(c, Completion)] == ["two", "one"]


def test_a_recording_compressed_by_another_program_is_read(tmp_path: Path) -> None:
    record(tmp_path / "r.ndjson", Scripted(FULL), ASK)
    packed = tmp_path / "r.ndjson.zst"
    packed.write_bytes(zstandard.ZstdCompressor(19).compress((tmp_path / "r.ndjson").read_bytes()))
    assert replay(packed, ASK) == [FULL]
    record(packed, Scripted("two"), replace(ASK, seed=2))
    assert len(list(calls(packed))) == 2


def test_two_writers_lose_nothing_of_each_other(file: Path) -> None:
    one, two = Recording(file, record=True), Recording(file, record=True)
    for n in range(20):
        (one if n % 2 else two).add(Call(WHO, replace(ASK, seed=n), FULL))
    one.close()
    two.close()
    assert [call.request.seed for call in calls(file)] == list(range(20))


@pytest.mark.parametrize("content", [b"hello", b"hello\n", b'{"id": 1}\n', b"\xff\xfe\n"])
@pytest.mark.parametrize("name", ["r", "r.zst"])
def test_a_file_that_is_no_recording_is_refused_and_stays_as_it_is(tmp_path: Path, content: bytes, name: str) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(BadInput, match="is not a recording"):
        Recording(file, record=True)
    assert file.read_bytes() == content


def test_a_line_that_is_no_call_is_named(tmp_path: Path) -> None:
    record(tmp_path / "r", Scripted(), ASK)
    with (tmp_path / "r").open("a") as file:
        file.write('{"kind":"call"}\n')
    with pytest.raises(BadInput, match=r"line 3 is not a call"):
        Recording(tmp_path / "r")


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "r").write_text('{"kind":"personaconv recording","version":9,"created":""}\n')
    with pytest.raises(BadInput, match="is of version 9, this program reads 1"):
        Recording(tmp_path / "r")


def test_a_file_that_is_not_there_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(Missing, match=r"no recording .*; make one with: .*--record"):
        Recording(tmp_path / "r")


def test_a_full_disk_keeps_all_calls_before(tmp_path: Path) -> None:
    full = (
        "import errno, resource, signal, sys\n"
        "from pathlib import Path\n"
        "from simulator.identity import Identity\n"
        "from simulator.llm import Completion, Request\n"
        "from simulator.recording import Call, Recording\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"recording = Recording(Path({str(tmp_path / 'r')!r}), record=True)\n"
        "recording.add(Call(Identity('m'), Request((), 1), Completion('a')))\n"
        "size = recording.file.stat().st_size\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, size + 50))\n"
        "try:\n"
        "    recording.add(Call(Identity('m'), Request((), 2), Completion('b')))\n"
        "except OSError as error:\n"
        "    sys.exit(0 if error.errno == errno.EFBIG and recording.file.stat().st_size == size else 3)\n"
    )
    subprocess.run([sys.executable, "-c", full], check=True, timeout=60, cwd=Path(__file__).parent.parent)
    assert [call.request.max_tokens for call in calls(tmp_path / "r")] == [1]


def test_a_faulty_call_between_others_is_replayed_in_its_place(tmp_path: Path) -> None:
    model = Faulty(Scripted("fine"), {1: ModelError("limit", "slow down", wait=9.0)})
    asked = [replace(ASK, seed=n) for n in range(3)]
    before = record(tmp_path / "r", model, *asked)
    after = ask(Replayed(Recording(tmp_path / "r"), WHO), *asked)
    assert [str(a) for a in before] == [str(a) for a in after]


@dataclass
class Meeting:
    """Answers like `inner` when another is being asked at the same time."""

    inner: Scripted
    both: asyncio.Barrier
    name: str = "fake:meeting"

    async def __call__(self, request: Request) -> Completion:
        await self.both.wait()
        return await self.inner(request)

    async def close(self) -> None:
        pass


def said(found: object) -> str:
    return found.text if isinstance(found, Completion) else f"failed: {found}"


def test_two_that_are_asked_the_same_at_once_record_one_outcome_and_both_go_on_from_it(file: Path) -> None:
    reset = ModelError("transport", "the connection was reset")

    async def rounds() -> list[list[str]]:
        both, told = asyncio.Barrier(2), ([reset, "one"], ["two", reset])
        llms = [Recorded(Meeting(Scripted(says), both), Recording(file, record=True), WHO) for says in told]
        return [
            list(map(said, await asyncio.gather(*(llm(ASK) for llm in llms), return_exceptions=True))) for _ in told
        ]

    found = asyncio.run(rounds())
    assert all(one == other for one, other in found), found
    kept = [call.completion.text if call.completion else "failed: the connection was reset" for call in calls(file)]
    assert kept == [one for one, _ in found] == list(map(said, replay(file, ASK, ASK)))


def test_what_a_killed_process_left_of_a_line_does_not_spoil_the_next(file: Path) -> None:
    one, two = Recording(file, record=True), Recording(file, record=True)
    one.add(Call(WHO, ASK, FULL))
    with file.open("ab") as half:
        half.write((file.read_bytes())[-30:-5] if file.suffix == ".ndjson" else b"\x28\xb5\x2f")
    two.add(Call(WHO, replace(ASK, seed=2), FULL))
    one.add(Call(WHO, replace(ASK, seed=3), FULL))
    assert [call.request.seed for call in calls(file)] == [11, 2, 3]
