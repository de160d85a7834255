"""The report: a verdict made from the table, every count shown, and corpus text that stays text."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from evaluation.report.names import named
from simulator.llm import Completion
from simulator.records import Remembered
from tests.report_page import ATTACKS, Page, made, packed, words, world
from tests.small_world import NEW, OLD, SmallCorpus, SmallStore, turn

TURNS = [
    turn("reply", "says my doctor"),
    turn("sentiment", "positive", completion=Completion("positive", "stop", 80, 1, 40, 0.2, {"positive": -0.3})),
    turn("impact", "I cannot tell"),
    turn("reply", None, "t1_x", prompt="the whole prompt"),
]


def test_the_first_screen_gives_verdict_and_counts(tmp_path) -> None:
    text = " ".join(Page(made(tmp_path, TURNS)).text.split())
    assert "Was it like them?" in text
    assert "Undecided: with 1 person, nothing tells the model from the best trivial baseline" in text
    assert re.search(r"2 asked of 1 person, 1 read, 1 failed", text)
    order = ["Calibration", "Communities", "People", "Cost", "Failures", "How it was made", "Rows", "Threads"]
    places = [text.index("Replay."), *(text.rindex(f" {title} ") for title in order)]
    assert places == sorted(places)


def test_a_turn_opens_to_memory_prompt_and_probes(tmp_path) -> None:
    html = made(tmp_path, TURNS)
    [thread] = packed(html, "threads")
    [opened] = [node["turns"] for node in thread["nodes"] if node["id"] == "t1_z"]
    lines = packed(html, "lines")
    [[score, time, text, terms]] = opened[0]["recalled"]
    assert (score, time, lines[text], terms) == (0.5, 40, "never black", {"age": -1.0})
    assert [call["ask"] for call in opened[0]["calls"]] == ["reply", "sentiment", "impact"]
    [failed] = [node["turns"][0] for node in thread["nodes"] if node["id"] == "t1_x"]
    assert failed["said"] is None and failed["calls"][0]["failure"] == "transport"
    assert {"the whole prompt", "no connection", "says my doctor"} <= set(lines)


def test_a_turn_names_its_rows_and_rows_their_values(tmp_path) -> None:
    html = made(tmp_path, TURNS)
    rows = packed(html, "rows")
    turns = [turn for node in packed(html, "threads")[0]["nodes"] for turn in node.get("turns", [])]
    own = sorted(n for turn in turns for n in turn["rows"])
    systems = [rows["words"]["system"][n] for n in rows["coded"]["system"]]
    assert own == [n for n, system in enumerate(systems) if system == "model"] and len(own) == len(TURNS)
    [probe] = [n for n in own if rows["p"][n] is not None]
    assert (rows["p"][probe], rows["mass"][probe], rows["value"][probe], rows["truth"][probe]) == (
        1.0, 0.7408, "positive", "positive",
    )  # fmt: skip


def test_every_number_of_a_table_leads_to_rows_that_exist(tmp_path) -> None:
    html = made(tmp_path, TURNS)
    rows = packed(html, "rows")
    wanted = [dict(parse_qsl(given["data-where"])) for tag, given in Page(html).elements if "data-where" in given]
    assert len(wanted) > 100
    for where in wanted:
        assert any(all(fits(rows, n, *pair) for pair in where.items()) for n in range(rows["size"])), where


def fits(rows, n: int, field: str, value: str) -> bool:
    """Whether a packed row is one that a link means: see rows.js."""
    if field in rows["coded"]:
        found = rows["words"][field][rows["coded"][field][n]]
        return bool(found) if value == "any" else found == value
    low, _, high = value.replace(" to ", "-", 1).rpartition("-") if " to " not in value else value.partition(" to ")
    found = rows[field][n]
    return isinstance(found, int | float) and float(low or high) <= found <= float(high)


def test_cost_says_tokens_cached_share_and_seconds(tmp_path) -> None:
    row = re.search(r">all</a></th>(.*?)</tr>", made(tmp_path, TURNS), re.S)
    cells = re.findall(r"<td><a [^>]*>(.*?)</a></td>", row[1] if row else "")
    assert cells == ["4", "0", "0", "280", "0.57", "11", "1.2", "0.50"]


def test_every_metric_says_how_it_was_made(tmp_path) -> None:
    text = Page(made(tmp_path, TURNS, manifest={"model": "fake:x", "limits": {"turns": 3}, "modes": ["replay"]})).text
    assert "rouge-score 0." in text and "words:64" in text
    assert "limits.turns" in text and '["replay"]' in text


def test_the_page_allows_nothing_but_its_own_style_sheet_and_script(tmp_path) -> None:
    html = made(tmp_path, TURNS)
    style = re.search(r"<style>(.*?)</style>", html, re.S)
    digest = b64encode(sha256(style[1].encode()).digest()).decode() if style else "none"
    [script] = re.findall(r"<script>(.*?)</script>", html, re.S)
    allowed = b64encode(sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'; script-src 'sha256-{allowed}'; require-trusted" in html
    page = Page(html)
    assert not {"img", "iframe", "link", "object", "form", "base", "embed"} & set(page.tags)
    assert "style" not in page.attributes and not [name for name in page.attributes if name.startswith("on")]
    assert {given["href"][:1] for tag, given in page.elements if tag == "a"} == {"#"}
    assert not re.search(r"https?:|@import|url\(", style[1] if style else "x:url(")
    assert not re.search(r"https?:|innerHTML|outerHTML|insertAdjacent|document.write|eval\(|Function\(|fetch\(", script)


@pytest.mark.parametrize("attack", ATTACKS)
def test_untrusted_text_anywhere_changes_neither_tags_nor_attributes(tmp_path, attack: str) -> None:
    calm = Page(made(tmp_path, *world("calm words")))
    html = made(tmp_path, *world(attack))
    page = Page(html)
    assert set(page.tags) == set(calm.tags) and page.attributes <= calm.attributes and page.open == []
    assert all(page.tags.count(tag) == calm.tags.count(tag) for tag in ("main", "section", "details", "script", "nav"))
    bad = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\ud800-\udfff]"
    assert not re.search(bad, html) and not re.search(bad, words(html))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("ann", "ann"),
        ("\u0430nn", "\u0430nn [mixed scripts: Cyrillic, Latin]"),
        ("\u0441\u043e\u0441\u043e", "\u0441\u043e\u0441\u043e [Cyrillic letters that look Latin]"),
        ("\u043d\u0430\u0442\u0430\u0448\u0430", "\u043d\u0430\u0442\u0430\u0448\u0430"),
        ("\uff41nn", "\uff41nn [mixed scripts: Fullwidth, Latin]"),
        ("\u65e5\u672cjapan\u30ab", "\u65e5\u672cjapan\u30ab"),
        ("an\u200cn", "an<U+200C>n"),
        ("an\u202en", "an<U+202E>n"),
    ],
)
def test_a_name_that_could_pass_for_another_is_marked(name: str, shown: str) -> None:
    assert named(name) == shown


def test_a_marked_name_is_marked_in_tables_rows_and_threads(tmp_path) -> None:
    html = made(tmp_path, *world("\u0430nn"))
    mark = "\u0430nn [mixed scripts: Cyrillic, Latin]"
    assert mark in Page(html).text
    assert mark in packed(html, "rows")["safe"]["user"].values()
    assert packed(html, "threads")[0]["nodes"][0]["author"] == mark


def test_a_very_long_setting_is_cut_and_the_rest_counted(tmp_path) -> None:
    assert "[... and 196,000 more characters]" in made(tmp_path, TURNS, manifest={"name": "x", "long": "wide" * 50_000})


def test_a_very_long_text_is_whole_and_small(tmp_path) -> None:
    html = made(tmp_path, [turn("reply", "wide" * 50_000)])
    assert "wide" * 50_000 in words(html) and len(html) < 80_000


def test_a_forgotten_memory_is_said_to_be_gone(tmp_path) -> None:
    gone = (Remembered("t1_gone", "t3_old", 1, 1.0), Remembered("t1_lost", "t3_gone", 1, 1.0))
    html = made(tmp_path, [turn("reply", "x", recalled=gone)])
    at = packed(html, "lines").index("(no longer in the corpus)")
    assert [item[2] for item in packed(html, "threads")[0]["nodes"][-2]["turns"][0]["recalled"]] == [at, at]


def test_real_and_simulated_stand_at_one_place_of_the_tree(tmp_path) -> None:
    turns = [
        turn("reply", "my own parent words", "t1_y", mode="rollout"),
        turn("reply", "answering that", "t1_z", mode="rollout", distance=2),
    ]
    html = made(tmp_path, turns)
    [thread] = packed(html, "threads")
    assert [(n["id"], n["depth"], "turns" in n) for n in thread["nodes"]] == [
        ("t3_new", 0, False), ("t1_x", 1, False), ("t1_y", 2, True), ("t1_z", 3, True), ("t1_late", 4, False),
    ]  # fmt: skip
    assert thread["arms"] == [["run1", "rollout", 0]] and "Simulated messages replace the real ones" in html


def test_a_slot_that_nobody_really_wrote_in_has_no_real_side(tmp_path) -> None:
    own = turn("reply", "made up", "t1_z", mode="free")
    html = made(tmp_path, [replace(own, slot=replace(own.slot, id="made-1", made=True))])
    [node] = [n for n in packed(html, "threads")[0]["nodes"] if n["id"] == "made-1"]
    assert "real" not in node and node["answers"] == "bob"


def test_the_opening_post_that_a_run_wrote_is_not_called_real(tmp_path) -> None:
    post = turn("post", "Hello all", mode="free")
    post = replace(post, slot=replace(post.slot, thread="free_1", id="free_1", parent=""))
    own = turn("reply", "made up", mode="free")
    own = replace(own, slot=replace(own.slot, thread="free_1", id="free_1_1", parent="free_1", made=True))
    [thread] = packed(made(tmp_path, [post, own]), "threads")
    assert [n.get("real", {}).get("origin") for n in thread["nodes"]] == ["simulated", None]


def test_a_run_without_targets_still_makes_a_page(tmp_path) -> None:
    assert "Nothing to judge" in made(tmp_path, [])
    hidden = NEW.plus(replace(NEW["t1_z"], score=None))
    text = Page(made(tmp_path, [turn("impact", "3")], SmallStore(SmallCorpus(OLD, hidden)))).text
    assert "1 more without a known truth" in text and "no truth known" in text


def test_the_page_can_be_read_by_a_screen_reader_and_walked_by_keys(tmp_path) -> None:
    html = made(tmp_path, TURNS)
    page = Page(html)
    assert all(page.tags.count(tag) == 1 for tag in ("h1", "main", "nav", "title")) and '<html lang="en">' in html
    levels = [int(tag[1]) for tag in page.tags if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.tags.count("table") == page.tags.count("caption") > 8
    assert all(given.get("scope") in ("row", "col") for tag, given in page.elements if tag == "th")
    assert page.tags.count("details") == page.tags.count("summary") > 0
    ids = [given["id"] for _, given in page.elements if "id" in given]
    assert len(ids) == len(set(ids))
    targets = {given["href"][1:] for tag, given in page.elements if tag == "a"}
    assert targets <= set(ids) and next(given for tag, given in page.elements if tag == "a")["class"] == "skip"
    labelled = {given["aria-labelledby"] for _, given in page.elements if "aria-labelledby" in given}
    assert labelled <= set(ids) and page.tags.count("section") == len(labelled)
    regions = [given for _, given in page.elements if given.get("role") == "region"]
    assert all(given["tabindex"] == "0" and given["aria-label"] for given in regions)
    drawn = [given for tag, given in page.elements if tag == "svg" and "aria-hidden" not in given]
    assert drawn and all(given["role"] == "img" and "in the table below" in given["aria-label"] for given in drawn)


CSS = (Path(__file__).parent.parent / "evaluation" / "report" / "page.css").read_text(encoding="utf-8")
ON = {  # each colour of letters and lines, and the grounds that it stands on
    "ink": ("page", "card", "quiet", "accent-soft", "warn-soft"),
    "soft": ("page", "card", "quiet", "accent-soft", "warn-soft"),
    "accent": ("page", "card", "quiet", "accent-soft"),
    "warn": ("page", "card", "quiet", "accent-soft", "warn-soft"),
}


def luminance(colour: str) -> float:
    parts = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_letters_stand_out_from_their_ground(scheme: int) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    blocks = re.findall(r":root \{(.*?)\}", CSS, re.S)
    assert len(blocks) == 2
    colours = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", blocks[scheme]))
    used = set(re.findall(r"(?:^|[ ;{])(?:color|fill): var\(--([a-z0-9-]+)\)", CSS))
    assert used <= {*ON, *(f"s{n}" for n in range(6))}
    weak = [(a, b, contrast(colours[a], colours[b])) for a in ON for b in ON[a]]
    assert [pair for pair in weak if pair[2] < 4.5] == []
    drawn = [(f"s{n}", contrast(colours[f"s{n}"], colours["page"])) for n in range(6)]
    assert [pair for pair in drawn if pair[1] < 3] == []


def test_what_has_the_focus_is_seen() -> None:
    assert re.search(r"^:focus-visible \{ outline: 2px solid var\(--accent\)", CSS, re.M)
    assert not re.search(r"outline: (0|none)", CSS)
