"""The reference protocol as one call: posts, a task and a setting -> what the reference's prompt makers select."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from evaluation.benchmark import scored, unrelated, written
from evaluation.benchmark.items import Item, Selection, Setting, TaskName
from evaluation.benchmark.posts import Post, Posts
from evaluation.benchmark.switches import Switches

EVERY = 200  # posts between two words of progress


@dataclass(frozen=True)
class Reference:
    """Selections of one file. Each post is decoded once for the two scored tasks and once for generation.

    `shuffle`: seed of the shuffles of NP-Conv, which are unseeded in the reference; None leaves them out.
    `watch`: what is read, how many, of how many.
    """

    posts: Posts
    switches: Switches = field(default_factory=Switches)
    shuffle: int | None = None
    watch: Callable[[str, int, int], None] = lambda what, done, total: None

    def select(self, task: TaskName, setting: Setting) -> Selection:
        """The items, in the reference's order, and what became of every post."""
        found = self._selected(task, setting)
        return found if self.switches.later_shown else replace(found, items=tuple(map(_timely, found.items)))

    def _selected(self, task: TaskName, setting: Setting) -> Selection:
        if task == "generation":
            if setting == "np-conv":
                return unrelated.generation(self._written, self.switches)
            return written.select(self._written, setting, self.switches)
        if setting != "np-conv":
            return scored.select(self._scored, task, setting, self.switches)
        make = unrelated.sentiment if task == "sentiment" else unrelated.impact
        return make(self._scored, self.switches, self.shuffle)

    @cached_property
    def _scored(self) -> list[scored.Found]:
        return scored.survey(self._watched("posts (scores)"), self.switches)

    @cached_property
    def _written(self) -> list[written.Found]:
        return written.survey(self._watched("posts (texts)"))

    def _watched(self, what: str) -> Iterator[Post]:
        """The posts, with how far the reading is."""
        for done, post in enumerate(self.posts, 1):
            yield post
            if done % EVERY == 0 or done == len(self.posts):
                self.watch(what, done, len(self.posts))


def _timely(item: Item) -> Item:
    """The item with an example that was certainly there before its target, else the built-in one or none."""
    example = item.example
    if example is None or example.comment is None or scored.earlier(example.comment, item.target):
        return item
    return replace(item, example=scored.built_in(item.task, True))
