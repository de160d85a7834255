"""What an answer is worth, before anybody is said to have written it: pure checks, each with its declared threshold.

An answer that fails one is asked for once more under another seed, then it is a failed turn of that class. Nothing is
cut out of an answer: it stands as it was given, or not at all. Only notation of ours that a model copies is taken off:
our quotation marks where every line has one, and the speaker's own label in front.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from memory.fence import unfenced
from simulator.llm import WITHHELD, Completion, Failure

TRIES = 2  # answers asked for, the first included
COPIED = 12  # words in a row, shared with a text in the prompt, that make a copy
VARIED = 6  # different words among them, or it is a chant
_BLOCK = 6  # a run of COPIED words, wherever it begins, holds one whole block of this size

Fault = tuple[Failure, str]

_LABEL = re.compile(r"Member [A-Z]{1,2}\b")
_OWN = re.compile(r"\AMember [A-Z]{1,2}:\s+")
_DRESSED = re.compile(r"^[\s*_#\-]+")
_SPEAKER = re.compile(
    r"Member [A-Z]{1,2}[*_]*(?:\s*\([^)\n]{0,40}\))?[*_]*\s*:"
    r"|Member [A-Z]{1,2} (?:answered|opened|wrote|replied|said|says)\b[^\n]{0,40}:\s*$"
    r"|(?:/?u/[\w-]{3,20}|@\w{2,30}|(?:User|Assistant|Human|AI)\s?[A-Z0-9]?)[*_]*\s*:(?!//)"
    r"|\(\d{4}-\d\d-\d\d\)"  # how a prompt dates what is remembered
)
_CHAT_TOKEN = re.compile(
    r"<\|[\w ]{1,30}\|>|</?s>|\[/?INST\]|<(?:start|end)_of_turn>|^#{2,3} ?(?:Response|Instruction):"
)
_NAMED = re.compile(r"([A-Z][a-z]{1,19}):\s")
_NO_NAMES = {"Edit", "Update", "Source", "Note", "Pros", "Cons", "Question", "Answer", "Before", "After", "Old", "New"}

_MODEL = r"(?:ai|artificial intelligence|(?:ai |large )?language model)(?: (?:language )?(?:model|assistant|chatbot))?"
_AI = re.compile(
    rf"\bas an? {_MODEL},? (?:i|my)\b|\bi(?:'m| am)(?: just| only)? an? {_MODEL}(?=[.,;!]|$| trained| created)"
)
_CANNOT = re.compile(
    r"\A(?:(?:i'm|i am)? ?(?:very |so |truly )?sorry|i apologi[sz]e|unfortunately)?[,.]? ?(?:but )?"
    r"(?:i (?:cannot|can't|can not|will not|won't)|(?:i'm|i am) (?:unable|not able) to) (?:\w+ ){0,3}?(?:"
    r"(?:assist|comply|fulfil{1,2}|engage)(?: with| in)? (?:\w+ ){0,5}?(?:that|this|requests?)\b"
    r"|(?:help|write|generate|create|provide|continue|respond|impersonate|role-?play)(?: \w+){0,6}? "
    r"(?:requests?|personas?|explicit|harmful|hateful|offensive|impersonat\w+|role-?play\w*|real (?:person|people))\b)"
)

# Scripts without spaces between words: each character is a word of its own, and half as much of one.
_UNSPACED = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])"
)
_ROUND_WORDS = ".,;:!?()[]{}<>\"'`*_~|/\\…—–-。、，！？「」『』（）：；“”‘’«»¿¡"


def spoken(text: str) -> str:
    """The words of an answer, without notation of ours that the model copied."""
    return _OWN.sub("", unfenced(text))


@dataclass(frozen=True, slots=True)
class Shown:
    """What a prompt showed to whoever speaks. `speaker`: their label, "Member B". `texts`: what people wrote, as it was
    quoted. `frame`: all other lines, which are ours."""

    speaker: str
    texts: tuple[str, ...]
    frame: frozenset[str]


def fault(given: Completion, shown: Shown | None = None) -> Fault | None:
    """Why `given` cannot stand, or None. `shown` for an answer that is somebody's message; any other is checked for
    being there alone."""
    if given.finish in WITHHELD:
        kind: Failure = "refusal" if given.finish == "refusal" else "content_filter"
        return kind, f"the provider withheld the answer (finish reason {given.finish})"
    said = spoken(given.text)
    cut = given.finish in ("length", "max_tokens")
    if not said:
        return ("truncated" if cut else "empty"), f"no words in the answer (finish reason {given.finish})"
    if shown is None:
        return None
    if refused(said):
        return "refusal", "the model declines to write as somebody"
    if (other := second_speaker(given.text, shown.speaker)) is not None:
        return "several_speakers", f"line {other} of the answer is another speaker's, or no line of a message"
    if not shown.frame.isdisjoint(line.strip() for line in _own_lines(given.text)):
        return "copied", "a line of the answer is one of the prompt's own"
    if run := copied(said, shown.texts):
        return "copied", f"{run:g} words in a row are those of a text in the prompt (a copy from {COPIED} on)"
    return ("overlong", "the message was not at its end at the token limit") if cut else None


def refused(text: str) -> bool:
    """Whether a model declines, in English and in its usual words: it says it is one, or that it cannot do this.

    Somebody who says "I can't help with the chain" is not meant: a missed refusal is a poor answer, a wrong one a lost
    turn.
    """
    opening = " ".join(text[:400].lower().replace("’", "'").split())
    return bool(_CANNOT.match(opening) or _AI.search(opening[:250]))


def second_speaker(text: str, speaker: str = "") -> int | None:
    """The line, from 1, on which somebody other than `speaker` begins to speak; None where nobody does.

    That is a line that opens with "Member X:", "u/name:", "@name:", "User:" or the like, a control token of a chat
    template, or a dialogue of two first names that take turns (A: B: A: B:). Quoted lines are nobody's turn.
    """
    names: list[tuple[str, int]] = []
    for number, line in enumerate(_own_lines(text), 1):
        if _CHAT_TOKEN.search(line):
            return number
        bare = _DRESSED.sub("", line)
        if _SPEAKER.match(bare):
            label = _LABEL.match(bare)
            if not (label and label.group() == speaker):
                return number
            if number > 1 and any(_own_lines(text)[: number - 1]):
                return number  # the person begins again: a play, not a message
        elif (named := _NAMED.match(bare)) and named[1] not in _NO_NAMES:
            names.append((named[1], number))
    for (a, _), (b, at), (c, _), (d, _) in zip(names, names[1:], names[2:], names[3:], strict=False):
        if a == c != b == d:
            return at
    return None


def copied(text: str, texts: Iterable[str]) -> float:
    """The longest run of words of `text` that stands word for word in one of `texts`: 0 below COPIED words.

    Case, punctuation and line ends do not count, a character of a script without spaces counts as half a word, lines
    that quote (> in front) are no copy, and a chant of fewer than VARIED words is none.
    """
    own = [line for line in text.splitlines() if not line.lstrip().startswith(">")]
    said, _ = _words("\n".join(own) if any(line.strip() for line in own) else text)
    blocks = [_joined(said[at : at + _BLOCK]) for at in range(0, len(said) - _BLOCK + 1, _BLOCK)]
    longest = 0.0
    for source in texts:
        words, joined = _words(source)
        if any(block in joined for block in blocks):
            match = SequenceMatcher(None, said, words, autojunk=False).find_longest_match()
            run = said[match.a : match.a + match.size]
            if len(set(run)) >= VARIED:
                longest = max(longest, sum(0.5 if _UNSPACED.match(word) else 1 for word in run))
    return longest if longest >= COPIED else 0


def _own_lines(text: str) -> list[str]:
    """All lines, quoted ones blank; every line where all are quoted, since then the marks are ours."""
    lines = text.strip().splitlines()
    quoted = [line.lstrip().startswith(">") for line in lines]
    if all(mark or not line.strip() for mark, line in zip(quoted, lines, strict=True)):
        return unfenced(text).splitlines()
    return ["" if mark else line for mark, line in zip(quoted, lines, strict=True)]


def _joined(words: Sequence[str]) -> str:
    return f" {' '.join(words)} "


@lru_cache(maxsize=2048)  # what a prompt shows, it shows again at the next turn
def _words(text: str) -> tuple[tuple[str, ...], str]:
    """The words without case and punctuation, and the same with a blank between."""
    plain = text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    bare = (word.strip(_ROUND_WORDS) for word in _UNSPACED.sub(r" \1 ", plain).split())
    words = tuple(word for word in bare if word)
    return words, _joined(words)
