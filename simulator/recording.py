"""Model calls in a shareable file: Recorded writes what a model answers, Replayed answers from the file alone, offline.

One JSON line a call after a header line, appended whole, to a .zst file as a frame of its own; files may be joined end
to end. A line holds the prompt and so people's words, never a key. What is in the file is not asked again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import msgspec
import zstandard

from memory.errors import BadInput, Missing
from simulator import whole
from simulator.identity import Identity
from simulator.llm import LLM, Completion, Failure, ModelError, Request
from simulator.unrecorded import explain

VERSION = 1
CHUNK = 65_536


class Header(msgspec.Struct, tag="personaconv recording", tag_field="kind"):
    """The first line. `version` changes when an older program could not read the file."""

    version: int
    created: str  # UTC


class Failed(msgspec.Struct):
    kind: Failure
    reason: str
    wait: float | None = None


class Call(msgspec.Struct, tag="call", tag_field="kind"):
    """One attempt of a call: exactly one of `completion` and `failure` is set."""

    identity: Identity
    request: Request
    completion: Completion | None = None
    failure: Failed | None = None


def calls(file: Path) -> Iterator[Call]:
    """The calls of a recording in the order in which they were answered; a half line at the end is left out.

    Raises:
        Missing: no such file. BadInput: not a recording, one of a later version, or a line that is no call.
    """
    for found, _ in _read(file, _content(file)):
        if isinstance(found, Call):
            yield found


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise Missing(f"no recording {file}; make one with: personaconv simulate ... --record {file}") from None


def _read(file: Path, content: bytes, number: int = 0) -> Iterator[tuple[Header | Call, int]]:
    """Each whole line of `content`, which comes after `number` lines of `file`, and where in it whatever comes after
    that line begins (for .zst: after its frame)."""
    decode = msgspec.json.Decoder(Header | Call).decode
    for block, end in _frames(file, content) if file.suffix == ".zst" else _lines(content):
        for line in block.splitlines():
            number += 1
            try:
                found = decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                what = f"line {number} is not a call ({error})" if number > 1 else "is not a recording"
                raise BadInput(f"{file} {what}; name a file that --record has written") from None
            if isinstance(found, Header) and found.version > VERSION:
                raise BadInput(f"{file} is of version {found.version}, this program reads {VERSION}; update it")
            if number == 1 and not isinstance(found, Header):
                raise BadInput(f"{file} has no header line; name a file that --record has written")
            yield found, end


def _lines(content: bytes) -> Iterator[tuple[bytes, int]]:
    start = 0
    while (end := content.find(b"\n", start) + 1) > 0:
        yield content[start:end], end
        start = end


def _frames(file: Path, content: bytes) -> Iterator[tuple[bytes, int]]:
    stream, end = BytesIO(content), 0
    while end < len(content):
        stream.seek(end)
        frame, found = zstandard.ZstdDecompressor().decompressobj(), []
        try:
            while not frame.eof and (chunk := stream.read(CHUNK)):
                found.append(frame.decompress(chunk))
        except zstandard.ZstdError:
            raise BadInput(f"{file} is not a recording: not zstd after byte {end}; give it another name") from None
        if not frame.eof:
            return
        end = stream.tell() - len(frame.unused_data)
        yield b"".join(found), end


def _key(identity: Identity, request: Request, any_endpoint: bool) -> bytes:
    whose = replace(identity, endpoint="") if any_endpoint else identity
    return sha256(msgspec.json.encode((whose, replace(request, about=None)))).digest()


@dataclass
class Recording:
    """A recording open for `record` (made where it is not there, shared by processes) or for replay alone.

    Processes that record at once see what the others have added: the nth time that a call is asked for, by whomever
    first, is in the file once. `any_endpoint`: a call counts as recorded wherever its answer came from. Close it after
    a run.

    Raises: what `calls` raises; OSError where the file cannot be written.
    """

    file: Path
    record: bool = False
    any_endpoint: bool = False
    _known: dict[bytes, list[Call]] = field(default_factory=dict)
    _given: dict[bytes, int] = field(default_factory=dict)  # how often each was asked for, in this process
    _fd: int = -1
    _end: int = 0  # of what has been read, in bytes
    _count: int = 0  # lines up to there

    def __post_init__(self) -> None:
        if self.record:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(self.file, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            with self._alone():
                self._take(_content(self.file))
                if self._end == 0 and os.fstat(self._fd).st_size:
                    raise BadInput(
                        f"{self.file} is not a recording; name a file that --record has written, or a new one"
                    )
                os.ftruncate(self._fd, self._end)
                if self._end == 0:
                    self._write(Header(VERSION, datetime.now(UTC).isoformat(timespec="seconds")))
        else:
            self._take(_content(self.file))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else is in the middle of a line."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._fd, fcntl.LOCK_UN)

    def _take(self, content: bytes) -> None:
        """Takes in the whole lines of what comes after all that was read before."""
        start = self._end
        for found, end in _read(self.file, content, self._count):
            self._end, self._count = start + end, self._count + 1
            if isinstance(found, Call):
                self._keep(_key(found.identity, found.request, self.any_endpoint), found)

    def _keep(self, key: bytes, call: Call) -> None:
        self._known.setdefault(key, []).append(Call(call.identity, _BLANK, call.completion, call.failure))

    def _sync(self) -> None:
        """Takes in what other processes have added since."""
        more = os.fstat(self._fd).st_size - self._end if self.record else 0
        if more > 0:
            self._take(os.pread(self._fd, more, self._end))

    def find(self, identity: Identity, request: Request) -> Call | None:
        """The outcome of this call, the nth time it is asked for the nth that was recorded; None beyond those."""
        self._sync()
        key = _key(identity, request, self.any_endpoint)
        known, n = self._known.get(key, []), self._given.get(key, 0)
        if n >= len(known) and (self.record or not known):
            return None
        self._given[key] = n + 1
        return known[min(n, len(known) - 1)]

    def add(self, call: Call) -> Call:
        """Appends a whole line, so that it is given no second time. Returns what stands in the file: `call`, or that of
        another process which was asked for the same at the same time and was quicker.

        Raises: OSError where the disk does not take it.
        """
        key = _key(call.identity, call.request, self.any_endpoint)
        n = self._given.get(key, 0)
        with self._alone():
            self._sync()
            if os.fstat(self._fd).st_size > self._end:
                os.ftruncate(self._fd, self._end)  # a process was killed in the middle of a line
            if n == len(self._known.get(key, ())):
                self._write(call)
                self._keep(key, call)
        self._given[key] = n + 1
        return self._known[key][n]

    def _write(self, line: Header | Call) -> None:
        content = msgspec.json.encode(line) + b"\n"
        if self.file.suffix == ".zst":
            content = zstandard.ZstdCompressor().compress(content)
        whole.add(self._fd, content, "calls", str(self.file))
        self._end, self._count = self._end + len(content), self._count + 1

    def close(self) -> None:
        """Safe to call twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


_BLANK = Request((), 0)  # the prompts of what is known are not kept in memory


def outcome(call: Call) -> Completion:
    """The recorded answer. Raises the recorded ModelError; nobody has to wait before asking again."""
    if call.completion is None:
        failed = call.failure or Failed("transport", "the recording has no outcome of this call")
        raise ModelError(failed.kind, failed.reason, wait=0.0)
    return call.completion


@dataclass
class Recorded:
    """An LLM around an LLM: what the recording has is answered from it, else the answer or failure is added to it.

    A fatal failure is not added: it is about the key or the address, not about the call.
    """

    inner: LLM
    recording: Recording
    identity: Identity

    @property
    def name(self) -> str:
        return self.inner.name

    async def __call__(self, request: Request) -> Completion:
        known = self.recording.find(self.identity, request)
        if known is not None:
            return outcome(known)
        failed: ModelError | None = None
        try:
            made = Call(self.identity, request, await self.inner(request))
        except ModelError as error:
            if error.fatal:
                raise
            failed = error
            made = Call(self.identity, request, failure=Failed(error.kind, str(error), error.wait))
        found = self.recording.add(made)
        if failed is not None and found.failure is made.failure:
            raise failed
        return outcome(found)

    async def close(self) -> None:
        await self.inner.close()


@dataclass
class Replayed:
    """An LLM that answers from a recording alone. Raises Missing for a call that is not in it; says which, and why."""

    recording: Recording
    identity: Identity

    @property
    def name(self) -> str:
        return self.identity.model

    async def __call__(self, request: Request) -> Completion:
        known = self.recording.find(self.identity, request)
        if known is None:
            file = self.recording.file
            others = ((call.identity, call.request) for call in calls(file))
            raise Missing(explain(str(file), self.identity, request, others))
        return outcome(known)

    async def close(self) -> None:
        pass
