"""A report as a browser would see it, and what is packed into it, for the tests of the report."""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from base64 import b64decode
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from evaluation.report.page import write_report
from evaluation.stored import scored
from memory.message import Thread
from simulator.records import Remembered
from tests.small_world import NEW, OLD, SmallCorpus, SmallStore, said, small_store, turn

ATTACKS = [
    "<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' autofocus onfocus='alert(1)",
    "<svg/onload=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<iframe src=//evil.example></iframe>",
    "{{ 7 * 7 }}{% raw %}",
    "</details></article></main>",
    "<!-- ",
    "\u202eexe.gnp\u2066",
    "\x1b[2J\x1b]0;owned\x07",
    "\x00\x85\u2028",
    "\ud800",
    "&lt;b&gt;",
]


class Page(HTMLParser):
    """Tags and attributes as a browser would see them, and the text between."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.elements.append((tag, dict(attrs)))
        self.text += " "
        self.attributes |= {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, "tags do not close in order"

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["script"]:
            self.text += data


def made(folder: Path, turns: Any, store: Any = None, manifest: Any = None) -> str:
    """The page of `turns`."""
    store = store or small_store()
    path = write_report(folder, manifest or {"model": "fake"}, turns, asyncio.run(scored(turns, store)), store)
    assert path == folder / "report.html" and not list(folder.glob("*.new"))
    return path.read_text(encoding="utf-8")


def packed(html: str, name: str) -> Any:
    """What is packed under `name`, unpacked as the page's script does."""
    [block] = re.findall(rf'type="application/octet-stream" id="packed-{name}">([A-Za-z0-9+/=]*)</script>', html)
    return json.loads(zlib.decompress(b64decode(block), -zlib.MAX_WBITS))


def words(html: str) -> str:
    """All texts that are packed, one after another."""
    return "\n".join(packed(html, "lines"))


def world(words: str) -> tuple[list[Any], SmallStore, dict[str, Any]]:
    """`words` in every place that somebody else can fill: turns, store, manifest."""
    thread = Thread.of(
        "t3_o",
        [
            replace(said("t3_o", "t3_o", None, words, 1, words, 1), title=words, place=words),
            replace(said("t1_p", "t3_o", "t3_o", words, 2, words, 1), place=words),
            replace(said("t1_q", "t3_o", "t1_p", words, 3, words, 1), place=words),
        ],
    )
    remembered = (Remembered("t1_p", "t3_o", 2, 1.0, {words: 1.0}),)
    given = {"recalled": remembered, "prompt": words, "retriever": words, "model": words, "prompt_hash": words}
    turns = [
        turn("reply", words, "t1_p", thread, **given),
        turn("sentiment", words, "t1_p", thread, **given),
        turn("reply", None, "t1_q", thread, **{**given, "reason": words}),
        turn("impact", words, "t1_q", thread, **given),
    ]
    return turns, SmallStore(SmallCorpus(OLD, NEW, thread)), {"name": words, words: words, "nested": {words: [words]}}
