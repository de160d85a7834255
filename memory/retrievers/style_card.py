"""A card of counted habits, and the messages nearest to the query: the honest, free rival of a model's summary.

Source: ours; the counts are those that stylometry begins with. LongLaMP lets a model write such a card.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from statistics import median

from memory import scoring
from memory.asking import note
from memory.message import Message
from memory.ranking import answer, check, headed
from memory.recall import History, Recalled

FEW = 3  # below this a habit is an accident


@dataclass(frozen=True)
class Policy:
    """The card first, made of the last `latest` messages, then the k - 1 nearest by cosine."""

    k: int = 5
    latest: int = 200
    max_tokens: int = 0

    async def __call__(self, history: History, query: str) -> list[Recalled]:
        check(self.k)
        if not len(history) or not self.k:
            return []
        last = history.messages[-max(self.latest, 1) :]
        cards = [note(history, "style_card", card(last), last[-1])] if len(last) >= FEW else []
        near = await scoring.cosine(history, query)
        return headed(cards, answer(history, near, {"dense": near}, self.k), self.k, self.max_tokens)


def card(messages: Sequence[Message]) -> str:
    """Length, casing, punctuation, emoji, openers, communities and hours of `messages`, in one line each."""
    texts = [said for m in messages if (said := m.bare.words)]
    words = [len(text.split()) for text in texts]
    facts = [
        f"Usually about {round(median(words))} words; the longest of {len(texts)} messages has {max(words)}.",
        "Habits: "
        + ", ".join(f"{what} in {round(100 * sum(map(has, texts)) / len(texts))}%" for what, has in HABITS.items())
        + ".",
    ]
    openers = Counter(text.split()[0].strip(",.!?:;").lower() for text in texts if text.split())
    often = [word for word, n in sorted(openers.items(), key=lambda o: (-o[1], o[0])) if n > 1 and word][:3]
    if often:
        facts.append(f"Often begins with: {', '.join(often)}.")
    places = Counter(m.place for m in messages if m.place)
    if places:
        most = sorted(places, key=lambda p: (-places[p], p))[:3]
        facts.append(f"Writes in: {', '.join(most)}.")
    hours = Counter(datetime.fromtimestamp(m.time, UTC).hour // 6 for m in messages)
    part = min(hours, key=lambda h: (-hours[h], h))
    facts.append(f"Mostly between {6 * part:02}:00 and {6 * part + 6:02}:00 UTC.")
    return "\n".join(facts)


HABITS = {
    "no capital at the start": lambda text: text[:1].islower(),
    "questions": lambda text: "?" in text,
    "exclamation marks": lambda text: "!" in text,
    "no final full stop": lambda text: text[-1:].isalnum(),
    "links": lambda text: "http" in text,
    "emoji": lambda text: any(0x1F300 <= ord(c) <= 0x1FAFF for c in text),
    "I": lambda text: bool({"i", "i'm", "i've"} & set(text.lower().split())),
    "hedges": lambda text: bool({"maybe", "perhaps", "probably", "guess", "think"} & set(text.lower().split())),
}
