"""Interventions: what is changed in a thread from its turn n on. Records that a person writes, in YAML, JSON or flags.

- {do: insert, at: 3, author: ann, text: "That is not true."}
- {do: edit, at: 3, message: t1_b, text: "Agreed."}
- {do: remove, at: 3, message: t1_b}
- {do: swap, at: 3, person: ann, by: bob}
- {do: model, at: 3, model: "openai:other", person: ann}
- {do: memory, at: 3, retriever: "recency:k=5"}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from memory.errors import BadInput, clip
from memory.message import Message, Thread
from simulator.floor import made_id


class _Change(BaseModel):
    """`at`: the first turn that meets it, counted from 1 within its thread. `thread`: "" for every thread."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    at: int = Field(ge=1)
    thread: str = ""


class Insert(_Change):
    """`parent`: id of the message it answers, by default the opening post. `time`: UTC seconds, by default a second
    before the turn."""

    do: Literal["insert"]
    author: str = Field(min_length=1)
    text: str = Field(min_length=1)
    parent: str = ""
    time: int | None = None


class Edit(_Change):
    do: Literal["edit"]
    message: str
    text: str = Field(min_length=1)


class Remove(_Change):
    """The message and all that answers it, as if it had never been written."""

    do: Literal["remove"]
    message: str


class Swap(_Change):
    """`person` is played with the past of `by`."""

    do: Literal["swap"]
    person: str
    by: str


class Model(_Change):
    """Of everybody, or of `person` alone."""

    do: Literal["model"]
    model: str
    person: str = ""


class Memory(_Change):
    """The retriever of everybody, or of `person` alone."""

    do: Literal["memory"]
    retriever: str
    person: str = ""


Words = Insert | Edit | Remove
Intervention = Annotated[Insert | Edit | Remove | Swap | Model | Memory, Field(discriminator="do")]
_KINDS = ("insert", "edit", "remove", "swap", "model", "memory")
_MANY: TypeAdapter[tuple[Intervention, ...]] = TypeAdapter(tuple[Intervention, ...])


def read_records(given: str) -> Any:
    """What a YAML or JSON file holds, or `given` itself where it is such text in braces or brackets.

    Raises: BadInput for a file that is not there or cannot be read so.
    """
    import yaml  # type: ignore[import-untyped]

    inline = given.lstrip()[:1] in ("{", "[")
    try:
        return yaml.safe_load(given if inline else Path(given).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {clip(given)!r} ({type(error).__name__}); give a YAML or JSON file") from None
    except yaml.YAMLError as error:
        raise BadInput(f"{clip(given)!r} is neither YAML nor JSON: {clip(' '.join(str(error).split()), 160)}") from None


def read_interventions(given: Sequence[str]) -> tuple[Intervention, ...]:
    """Of files or inline text, each one record or a list. Raises BadInput that names file, record and field."""
    found: list[Intervention] = []
    for source in given:
        content = read_records(source)
        records = content if isinstance(content, list) else [content]
        try:
            found += _MANY.validate_python(records)
        except ValidationError as error:
            wrong = [f"record {e['loc'][0]}: {_said(e)}" for e in error.errors()]
            raise BadInput(f"{clip(source)!r}, {'; '.join(dict.fromkeys(wrong))}") from None
    return tuple(found)


def _said(error: Any) -> str:
    if error["type"] in ("union_tag_not_found", "union_tag_invalid"):
        return f"found {clip(str(error['input']), 60)}; say what is done by do: {', '.join(_KINDS)}"
    return f"{'.'.join(map(str, error['loc'][2:]))} {error['msg']}"


def of_thread(changes: Iterable[Intervention], thread: str) -> tuple[Intervention, ...]:
    """Those of a thread, by turn, then as they were given."""
    return tuple(sorted((c for c in changes if c.thread in ("", thread)), key=lambda c: c.at))


def told(change: Intervention) -> str:
    """What a reader is told of it, on one line. Its words are as they were given: untrusted."""
    whom = getattr(change, "person", "") or "everybody"
    if isinstance(change, Insert):
        what = f"{change.author} is made to say{f' to {change.parent}' if change.parent else ''}: {change.text}"
    elif isinstance(change, Edit):
        what = f"{change.message} says: {change.text}"
    elif isinstance(change, Remove):
        what = f"{change.message} and all that answers it are gone"
    elif isinstance(change, Swap):
        what = f"{change.person} is played with the past of {change.by}"
    elif isinstance(change, Model):
        what = f"{whom} is played by {change.model}"
    else:
        what = f"{whom} remembers by {change.retriever}"
    return f"Changed from turn {change.at} on: {' '.join(what.split())}"


def changes(spec: Mapping[str, Any], thread: str) -> list[str]:
    """told() of all that the settings of a run, as its manifest has them, change in a thread."""
    return [told(change) for change in of_thread(_MANY.validate_python(spec.get("interventions", [])), thread)]


def met(thread: Thread, change: Intervention) -> bool:
    """Whether `thread` has what `change` is about."""
    if isinstance(change, Insert):
        return not change.parent or change.parent in thread.by_id
    return not isinstance(change, Edit | Remove) or change.message in thread.by_id


def applied(thread: Thread, change: Words, now: int) -> Thread:
    """`thread` with one change of its words, at a turn of time `now`; the same thread where it finds nothing to change.

    Applied again, it changes nothing more.
    """
    if isinstance(change, Insert):
        parent = thread.by_id.get(change.parent or thread.messages[0].id)
        return thread if parent is None else thread.plus(_inserted(thread.id, change, parent, now))
    if change.message not in thread.by_id:
        return thread
    if isinstance(change, Edit):
        old = thread[change.message]
        return thread if old.text == change.text else thread.plus(replace(old, text=change.text, origin="inserted"))
    gone = {change.message}
    while found := {m.id for m in thread.messages if m.parent in gone} - gone:
        gone |= found
    if thread.messages[0].id in gone:
        raise BadInput(f"{change.message} opens thread {thread.id} and cannot be removed; edit it instead")
    return Thread(thread.id, tuple(m for m in thread.messages if m.id not in gone))


def _inserted(thread: str, change: Insert, parent: Message, now: int) -> Message:
    id = made_id(thread, f"insert {change.at} {change.author} {change.text}")
    time = change.time if change.time is not None else max(parent.time, now - 1)
    return Message(id, thread, parent.id, change.author, time, change.text, None, parent.place, origin="inserted")
