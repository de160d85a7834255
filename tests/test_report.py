"""The report: a verdict made from the table, every count shown, and corpus text that stays text."""

import asyncio
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser

import pytest
from small_world import NEW, OLD, SmallCorpus, SmallStore, said, small_store, turn

from evaluation import verdict
from evaluation.report import write_report
from evaluation.scoring import Cell, score, table
from memory.message import Thread
from simulator.llm import Completion
from simulator.records import Remembered

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
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.text += " "
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("meta", "line", "polyline", "circle"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, "tags do not close in order"

    def handle_data(self, data):
        self.text += data


def made(tmp_path, turns, store=None, manifest=None) -> str:
    store = store or small_store()
    scored = asyncio.run(score(turns, store))
    path = write_report(tmp_path, manifest or {"model": "fake"}, turns, scored, table(scored), store)
    assert path == tmp_path / "report.html" and not list(tmp_path.glob("*.new"))
    return path.read_text(encoding="utf-8")


TURNS = [
    turn("reply", "says my doctor"),
    turn("sentiment", "positive", completion=Completion("positive", "stop", 80, 1, 40, 0.2, {"positive": -0.3})),
    turn("impact", "I cannot tell"),
    turn("reply", None, "t1_x", prompt="the whole prompt"),
]


def test_the_first_screen_gives_verdict_and_counts(tmp_path) -> None:
    text = " ".join(Page(made(tmp_path, TURNS)).text.split())
    assert "Was it like them?" in text
    assert "the model beats the best trivial baseline on" in text
    assert re.search(r"2 asked of 1 person, 1 read, 1 failed", text)
    assert text.index("Replay.") < text.index("Failures") < text.index("Cost") < text.index("How it was made")


def test_a_turn_opens_to_memory_prompt_and_probes(tmp_path) -> None:
    text = " ".join(Page(made(tmp_path, TURNS)).text.split())
    for part in (
        "never black",
        "age −1.000",
        "Remembered: 1 (recency:k=1)",
        "abcd",
        "the whole prompt",
        "no connection",
    ):
        assert part in text
    assert "P(positive) 1.000 label mass 0.741 read from log-probabilities" in text
    assert "answer failed (unparseable) truth 6" in text


def test_cost_says_tokens_cached_share_and_seconds(tmp_path) -> None:
    row = re.search(r"all</th>(.*?)</tr>", made(tmp_path, TURNS), re.S)
    cells = re.findall(r"<td>(.*?)</td>", row[1] if row else "")
    assert cells == ["4", "0", "280", "57%", "11", "1.2", "0.50"]


def test_every_metric_says_how_it_was_made(tmp_path) -> None:
    text = Page(made(tmp_path, TURNS, manifest={"model": "fake:x", "limits": {"turns": 3}, "modes": ["replay"]})).text
    assert "rouge-score 0." in text and "words:64" in text
    assert "limits.turns" in text and '["replay"]' in text


def test_the_page_allows_nothing_but_its_own_style_sheet(tmp_path) -> None:
    html = made(tmp_path, TURNS)
    style = re.search(r"<style>(.*?)</style>", html, re.S)
    digest = b64encode(sha256(style[1].encode()).digest()).decode() if style else "none"
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in html
    page = Page(html)
    assert not {"script", "img", "a", "iframe", "link", "object", "form", "base"} & set(page.tags)
    assert "style" not in page.attributes and not re.search(r"https?:|@import|url\(", style[1] if style else "x:url(")


@pytest.mark.parametrize("attack", ATTACKS)
def test_untrusted_text_anywhere_changes_neither_tags_nor_attributes(tmp_path, attack: str) -> None:
    calm = Page(made(tmp_path, *world("calm words")))
    html = made(tmp_path, *world(attack))
    page = Page(html)
    assert set(page.tags) == set(calm.tags) and page.attributes <= calm.attributes and page.open == []
    assert all(page.tags.count(tag) == calm.tags.count(tag) for tag in ("main", "section", "details", "article", "pre"))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\ud800-\udfff]", html)


def world(words: str):
    """`words` in every place that somebody else can fill."""
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


def test_a_very_long_text_is_cut_and_the_rest_counted(tmp_path) -> None:
    html = made(tmp_path, [turn("reply", "wide" * 50_000)])
    assert "[... and 196,000 more characters]" in html and len(html) < 60_000


def test_a_forgotten_memory_is_said_to_be_gone(tmp_path) -> None:
    gone = (Remembered("t1_gone", "t3_old", 1, 1.0), Remembered("t1_lost", "t3_gone", 1, 1.0))
    assert made(tmp_path, [turn("reply", "x", recalled=gone)]).count("(no longer in the corpus)") == 2


def test_a_rollout_shows_the_simulated_parent_and_its_drift_as_picture_and_table(tmp_path) -> None:
    turns = [
        turn("reply", "my own parent words", "t1_y", mode="rollout"),
        turn("reply", "answering that", "t1_z", mode="rollout", distance=2),
    ]
    html = made(tmp_path, turns)
    assert re.search(r'<span class="tag">simulated</span> my own parent words', html)
    assert html.count("<polyline") == 3 and "Simulated messages replace the real ones" in html
    assert re.search(r'answers</th><td class="sub">1</td><td class="sub">1</td>', html)
    assert "<svg" not in made(tmp_path, TURNS)


def test_a_run_without_targets_still_makes_a_page(tmp_path) -> None:
    assert "Nothing to judge" in made(tmp_path, [])
    hidden = NEW.plus(replace(NEW["t1_z"], score=None))
    text = Page(made(tmp_path, [turn("impact", "3")], SmallStore(SmallCorpus(OLD, hidden)))).text
    assert "1 more without a known truth" in text and "undecided" in text


def cell(system: str, value: float, hindsight: bool = False) -> Cell:
    return Cell(
        run="r", mode="replay", task="impact", kind="number", system=system, hindsight=hindsight, asked=4, scored=4,
        failed=0, fallback=0, unknown=0, users=2, failures={}, people={"mae": value}, stamps={},
        metrics={"mae": value, "rmse": value, "spearman": float("nan")},
    )  # fmt: skip


def test_the_best_baseline_decides_and_hindsight_never_does() -> None:
    cells = [cell("model", 2.0), cell("baseline:one", 3.0), cell("baseline:parent_score", 1.0, hindsight=True)]
    [standing] = verdict.standings(cells)
    assert (standing.sign, standing.wins, standing.columns) == (1, 2, 3)
    assert verdict.verdict([standing]) == (
        "Yes: the model beats the best trivial baseline on 1 of 1 task; ahead on impact (MAE 2.000, one 3.000)."
    )


@pytest.mark.parametrize(("model", "opening"), [(1.0, "Yes"), (2.0, "No"), (3.0, "No"), (float("nan"), "No")])
def test_level_behind_and_undefined_are_no_win(model: float, opening: str) -> None:
    [standing] = verdict.standings([cell("model", model), cell("baseline:one", 2.0), cell("baseline:mean", 2.5)])
    assert verdict.verdict([standing]).startswith(f"{opening}: ")
    assert standing.best is not None and standing.best.system == "baseline:one"


@pytest.mark.parametrize(("failed", "sign"), [(0, 1), (2, None)])
def test_a_model_that_failed_is_not_ahead_by_mcc_alone(failed: int, sign: int | None) -> None:
    def labels(system: str, accuracy: float, mcc: float, failed: int = 0) -> Cell:
        values = {"accuracy": accuracy, "macro_f1": accuracy, "mcc": mcc}
        return replace(cell(system, 0.0), task="sentiment", kind="label", metrics=values, failed=failed)

    [standing] = verdict.standings([labels("model", 0.5, 0.2, failed), labels("baseline:majority", 0.6, 0.0)])
    assert standing.sign == sign


def test_numbers_have_a_real_minus_and_nan_is_not_a_number() -> None:
    assert (verdict.number(-0.12345), verdict.number(float("nan"))) == ("−0.123", "n/a")
