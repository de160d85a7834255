"""How a thread opens: the real one up to a cut, or a new post that is given or written by the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict, Field

from memory.errors import BadInput, clip
from memory.fence import label
from memory.message import Message, Thread
from simulator.llm import Completion
from simulator.records import Ask, Slot
from simulator.turn import Cast, given, take_turn
from simulator.wording import wording


class Opening(BaseModel):
    """A new thread. `author` "": somebody active in `place`, drawn by seed. `text` "": the model writes it as the
    author, about `topic` where that is given. `time`: UTC seconds, by default a second after all of the corpus.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    place: str
    author: str = ""
    title: str = ""
    text: str = ""
    topic: str = ""
    time: int | None = Field(default=None, ge=1)


def moment(text: str) -> int:
    """UTC seconds of "2020-05-01", "2020-05-01T12:00" (UTC unless it says otherwise) or of seconds as digits.

    Raises:
        BadInput: none of these.
    """
    if text.isdecimal() and len(text) > 4:
        return int(text)
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"{clip(text)!r} is no moment; give a date such as 2020-05-01, or seconds since 1970") from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp())


def kept(thread: Thread, cut: str) -> int:
    """How many first messages stay real: a number of them ("5"), those before a moment ("2020-05-01"), or those up to
    a message and it (its id). The opening post always stays.

    Raises: BadInput for none of these.
    """
    if cut.isdecimal() and len(cut) <= 4:
        return max(1, min(int(cut), len(thread.messages)))
    if cut in thread.by_id:
        return 1 + next(n for n, m in enumerate(thread.messages) if m.id == cut)
    try:
        before = moment(cut)
    except BadInput:
        raise BadInput(
            f"cut {clip(cut)!r} is no number, no moment and no message of thread {thread.id}; "
            f"its messages are {_few([m.id for m in thread.messages])}"
        ) from None
    return max(1, sum(m.time < before for m in thread.messages))


async def post(id: str, opening: Opening, author: str, time: int, cast: Cast, repeat: int) -> Message | None:
    """The opening post of a new thread `id`, which is logged, written or given; None where the model wrote none."""
    slot = Slot(id, id, author, "", time, made=True)
    if opening.text:
        turn = given(slot, Ask("post", "", 0), Completion(opening.text, "given"), cast, repeat)
    else:
        words = cast.wording or wording()
        about = {"place": label(opening.place), "topic": label(opening.topic, 200) if opening.topic else ""}
        question = words.put("post", author="{author}", **about)
        ask = Ask("post", question, max_tokens=200, temperature=0.7)
        [turn] = await take_turn(slot, Thread(id, ()), replace(cast, asks=(ask,), place=opening.place), None, repeat)
    found = turn.message(opening.place)
    return found and replace(found, title=opening.title, origin="inserted" if opening.text else "simulated")


def _few(ids: Sequence[str]) -> str:
    return ", ".join(ids[:5]) + (" ..." if len(ids) > 5 else "")
