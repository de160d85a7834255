"""The reference protocol's prompts: what they show is the reference's, how they say it is ours; corpus text fenced"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from evaluation.benchmark.items import Example, Item
from evaluation.benchmark.posts import Comment, Posts, Tree, clean
from evaluation.benchmark.scored import parent_text
from evaluation.benchmark.seen import Seen, seen
from evaluation.benchmark.switches import Switches
from memory.fence import fenced, label
from memory.templates import Wording, templates, version, worded

VERSION = "reference-2"  # of the packaged templates: raised whenever their words change (a test holds it)
CONTENT, PARENT = 500, 100  # characters shown of a post's text, and of the message answered

HOLDS = {  # template -> its placeholders; "earlier" is the corrected protocol's, all others are the reference's
    "rules": (),
    "sentiment": (),
    "impact": (),
    "generation": (),
    "built_in": (),
    "built_in_answering": (),
    "sign": ("sign",),
    "example": ("shown", "question", "answer"),
    "example_unrelated": ("shown", "question", "answer"),
    "wanted": ("thread", "parent"),
    "write": ("by", "question"),
    "by": ("author",),
    "thread": ("thread",),
    "thread_unrelated": ("thread",),
    "missing": ("by", "parent"),
    "next_case": ("post", "reply"),
    "under": ("post", "words"),
    "alone": ("answered", "words"),
    "dated": ("answered", "when", "words"),
    "answered": ("author", "facts", "words"),
    "stored": ("messages",),
    "post": ("place", "author", "id", "facts", "words"),
    "message": ("id", "author", "facts", "parent", "words"),
    "score": ("score",),
    "when": ("when",),
    "earlier": ("author", "words", "question"),
}


@lru_cache(maxsize=8)
def bench_wording(folder: Path | None = None) -> Wording:
    """The packaged templates, those of bench/ in `folder` in their place. Raises BadInput."""
    own = folder / "bench" if folder else None
    return worded(version(folder, VERSION), templates(Path(__file__).with_name("templates"), HOLDS, own))


def prompt(item: Item, posts: Posts, switches: Switches, words: Wording | None = None) -> tuple[tuple[str, str], ...]:
    """(role, text) pairs: one user message, as the reference sends it. `words`: bench_wording's, None: the packaged."""
    words = words or bench_wording()
    made = _Prompt(item, posts, switches, words)
    blocks = made.generation() if item.task == "generation" else made.scored()
    return (("user", "\n\n".join(block for block in (words.put("rules"), *blocks) if block)),)


class _Prompt:
    def __init__(self, item: Item, posts: Posts, switches: Switches, words: Wording) -> None:
        self.item, self.switches, self.put = item, switches, words.put
        self.tree = posts.by_ref[item.post].tree()
        lender = item.example.post if item.example else None
        self.other = self.tree if lender in (None, item.post) else posts.by_ref[str(lender)].tree()
        self.seen: Seen = seen(item, posts, switches)
        self.question = self.put(item.task)

    def scored(self) -> list[str]:
        item = self.item
        hint = self.put("sign", sign=item.sign) if item.sign else ""
        own = self._case(self.tree, item.target)
        told = "\n".join(part for part in (own, hint, self.question) if part)
        return [*self._example(), self._stored(), told]

    def generation(self) -> list[str]:
        item, tree, target = self.item, self.tree, self.item.target
        who = "" if self.switches.author_unnamed else self.put("by", author=label(item.user))
        if item.setting == "p-nonconv":
            shown = self._whole_post(tree, ("content", "body", "selftext"))
            asked = self.put("write", by=who, question=self.question)
            return [shown, self._answered(tree, target, None), asked]
        context = "\n".join([self._whole_post(self.other), *self._outline(self.other, self.seen.context[1:])])
        if item.setting == "np-conv":
            told = self.put("thread_unrelated", thread=context)
            asked = self._answered(tree, target, None, blank=self.switches.post_as_parent_blank)
        else:
            told = self.put("thread", thread=context)
            asked = self.put("missing", by=who, parent=target.parent)
        return [*self._example(), told, asked, self.question]

    def _example(self) -> list[str]:
        example = self.item.example
        if example is None:
            return []
        if example.comment is None:
            shown = self.put("built_in_answering" if self.item.setting == "p-conv" else "built_in")
        elif self.item.task == "generation":
            thread = "\n".join(self._outline(self.other, self.seen.example_thread))
            shown = self.put("wanted", thread=thread, parent=example.comment.parent)
        else:
            shown = self._summary(self.other) + "\n" + self._reply(self.other, example.comment, PARENT)
        name = "example_unrelated" if self.item.setting == "np-conv" else "example"
        return [self.put(name, shown=shown, question=self.question, answer=self._solved(example))]

    def _solved(self, example: Example) -> str:
        return fenced(str(example.answer)) if self.item.task == "generation" else str(example.answer)

    def _case(self, tree: Tree, comment: Comment) -> str:
        if self.item.setting == "np-conv":
            return self.put("alone", answered=self._answered(tree, comment, None), words=fenced(comment.text))
        if self.item.setting == "p-conv":
            return self.put("next_case", post=self._summary(tree), reply=self._reply(tree, comment, PARENT))
        post = self._post(tree, tree.ref, "", _words(tree, CONTENT))
        return self.put("under", post=post, words=fenced(comment.text))

    def _stored(self) -> str:
        """The stored threads, which the reference promises and does not send."""
        if self.switches.tree_unsent or self.item.setting == "p-nonconv":
            return ""
        trees = {t.ref: t for t in (self.tree, self.other)}
        lines = [line for ref, kept in self.seen.stored.items() for line in self._outline(trees[ref], kept)]
        return self.put("stored", messages="\n".join(lines))

    def _post(self, tree: Tree, ref: str, facts: str, said: str) -> str:
        place = label(clean(tree.fields.get("__sub__"))) or "unknown"
        id = f" [{ref}]" if ref else ""
        return self.put("post", place=place, author=_name(tree.fields.get("author")), id=id, facts=facts, words=said)

    def _summary(self, tree: Tree) -> str:
        facts = self._facts(tree.fields.get("score"), tree.fields.get("timestamp"))
        return self._post(tree, "", facts, _words(tree, CONTENT))

    def _reply(self, tree: Tree, comment: Comment, limit: int | None) -> str:
        when = label(clean(comment.stated))
        answered = self._answered(tree, comment, limit)
        return self.put("dated", answered=answered, when=when, words=fenced(comment.text))

    def _answered(self, tree: Tree, comment: Comment, limit: int | None, blank: bool = False) -> str:
        """The message that `comment` answers; with a limit its first characters and no more than its writer."""
        post = comment.parent == tree.ref
        parent = None if post else tree.by_ref[comment.parent]
        text = "" if post and blank else clean(parent_text(tree, comment))
        facts = ""
        if limit is None and self.item.setting == "np-conv" and self.item.task != "generation":
            facts = self._facts(parent.score, parent.stated) if parent else self._facts(
                tree.fields.get("score"), tree.fields.get("timestamp")
            )  # fmt: skip
        who = _name(parent.author if parent else tree.fields.get("author"))
        return self.put("answered", author=who, facts=facts, words=fenced(text[:limit]))

    def _facts(self, score: object, stated: object) -> str:
        shown = self.put("score", score=label(clean(score))) if self.switches.scores_shown and score is not None else ""
        return shown + self.put("when", when=label(clean(stated)))

    def _whole_post(self, tree: Tree, names: tuple[str, ...] = ("content", "body")) -> str:
        facts = self._facts(tree.fields.get("score"), tree.fields.get("timestamp"))
        return self._post(tree, tree.ref, facts, _words(tree, None, names))

    def _outline(self, tree: Tree, refs: tuple[str, ...]) -> list[str]:
        """The messages one after the other, each with its id and that of the message it answers."""
        lines = []
        for ref in refs:
            comment = tree.by_ref[ref]
            hidden = ref in self.seen.masked
            facts = self._facts("hidden" if hidden else comment.score, comment.stated)
            about = {"id": ref, "author": _name(comment.author), "facts": facts, "parent": comment.parent}
            lines.append(self.put("message", **about, words=fenced(comment.text)))
        return lines


def _name(author: object) -> str:
    return label(clean(author)) or "somebody"


def _words(tree: Tree, limit: int | None, names: tuple[str, ...] = ("content",)) -> str:
    """Title and text of a post. `names`: where the text is looked for."""
    text = next((clean(tree.fields[n]) for n in names if tree.fields.get(n) is not None), "")
    return fenced(clean(tree.fields.get("title")) + "\n" + text[:limit])
