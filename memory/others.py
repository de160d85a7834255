"""What other people of a community wrote before a moment, for controls and neighbours; cut like a History."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from memory.corpus import Corpus
from memory.gathered import part
from memory.message import Message
from memory.messages import Messages
from memory.recall import History
from memory.store import MemoryStore
from memory.stored import Array

_STEP = 65_536  # positions looked at in one go, newest first: the newest few of a community are mostly in the first


@dataclass(frozen=True)
class CorpusOthers:
    """Others in an imported corpus. `outside`: id of the thread being answered, "" for none. The community is that
    thread's, else the one the person wrote in most."""

    store: MemoryStore
    history: History
    outside: str = ""

    @property
    def _corpus(self) -> Corpus:
        return self.store.corpus

    @cached_property
    def place(self) -> str:
        rows = self._corpus.of_thread(self.outside)
        if len(rows):
            return self._corpus.stored(rows[:1])[0].place
        places = Counter(m.place for m in self.history.messages)
        return min(places, key=lambda place: (-places[place], place), default="")

    def newest(self, k: int) -> list[Message]:
        arrays, found = self._corpus.all, np.empty(0, np.int64)
        stop = self._stop
        while stop > 0 and len(found) < k:
            step = slice(max(0, stop - _STEP), stop)
            keep = np.flatnonzero(self._theirs(step) & (arrays["thread"][step] != self._thread))
            found = np.concatenate([found, step.start + keep[::-1]])
            stop = step.start
        return list(Messages(self._corpus, arrays["row"][found[: max(k, 0)]]))

    def drawn(self, k: int, seed: int) -> list[Message]:
        return self._corpus.others(
            before=self.history.before,
            place=self.place,
            author=self.history.user,
            outside=self.outside,
            k=k,
            seed=seed,
        )

    def alike(self) -> History | None:
        nearest = self.like(1)
        return self.past(nearest[0]) if nearest else None

    def like(self, k: int) -> list[str]:
        """The k people whose share of the community is nearest in size to the person's; nearest first, then by name."""
        earlier = slice(0, self._stop)
        arrays = self._corpus.all
        here = (arrays["place"][earlier] == self._place) & arrays["speaks"][earlier]
        counts = np.bincount(arrays["author"][earlier][here], minlength=self._author + 1)
        mine = 0
        if self._author >= 0:  # else the corpus does not know the person
            mine, counts[self._author] = counts[self._author], 0
        codes = np.flatnonzero(counts)
        if not len(codes) or k < 1:
            return []
        apart = np.abs(np.log1p(counts[codes]) - np.log1p(mine)).round(9)
        last = np.partition(apart, min(k, len(apart)) - 1)[min(k, len(apart)) - 1]
        nearest = dict(zip(codes[apart <= last].tolist(), apart[apart <= last].tolist(), strict=True))
        names = self._corpus.called("authors", nearest)
        return [name for _, name in sorted((apart, names[code]) for code, apart in nearest.items())][:k]

    def past(self, name: str) -> History:
        """What another person wrote before the moment, outside the thread being answered."""
        return self._elsewhere(self.store.history(name, before=self.history.before))

    def _elsewhere(self, history: History) -> History:
        """`history` without the thread being answered: what was really said there may not yet have been."""
        if not self._corpus.spoke(history.user, self.outside, before=history.before):
            return history
        return part(history, [i for i, m in enumerate(history.messages) if m.thread != self.outside])

    @cached_property
    def _stop(self) -> int:
        return int(np.searchsorted(self._corpus.all["time"], self.history.before))

    def _theirs(self, at: slice) -> Array:
        arrays = self._corpus.all
        keep = arrays["speaks"][at] & (arrays["place"][at] == self._place)
        theirs: Array = keep & (arrays["author"][at] != self._author)
        return theirs

    @cached_property
    def _place(self) -> int:
        return self._corpus.code("places", self.place)

    @cached_property
    def _author(self) -> int:
        return self._corpus.code("authors", self.history.user)

    @cached_property
    def _thread(self) -> int:
        return self._corpus.code("threads", self.outside)
