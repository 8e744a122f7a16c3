"""docs/which-measure.md, docs/understanding-the-board.md and docs/questions.md: what they say is so."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from scorer.live.rules import RULES
from scorer.measures import parse_one
from scorer.settings.tracks import Track
from tests.commands import here
from tests.paths import ROOT
from tests.project.test_docs import page


def plain(html: str) -> str:
    """The text of HTML, with one space between words."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


# Which measure should I use?

ROWS = re.findall(
    r"^\| ([^|]+) \| \[`([^`]+)`\]\(measures/([^)]+)\.md\) \| ([^|]+) \| ([^|]+) \|$",
    page("which-measure.md"),
    re.MULTILINE,
)
LISTED = re.findall(r"^- (.+)$", page("which-measure.md").partition("## Sources")[2], re.MULTILINE)


def test_every_row_is_read() -> None:
    """The table has a row for each task."""
    table = page("which-measure.md").partition("## By task")[2].partition("`scorer measures`")[0]
    assert len(ROWS) == table.count("\n| ") - 1  # without the head
    assert len(ROWS) > 15


@pytest.mark.parametrize(("task", "measure", "link", "reason", "source"), ROWS, ids=[row[1] for row in ROWS])
def test_a_task_has_a_measure_and_sources(task: str, measure: str, link: str, reason: str, source: str) -> None:
    """The name can be read, the link is to its page, and the list of sources has those of the row."""
    assert parse_one(measure).kind.name.lower() == link
    assert task
    assert reason
    author = re.split(r",? | and ", source)[0]
    for year in re.findall(r"\d{4}", source):
        assert any(each.startswith(author) and year in each for each in LISTED), (author, year)


@pytest.mark.parametrize(("measure", "source"), [(row[1], row[4]) for row in ROWS], ids=[row[1] for row in ROWS])
def test_the_source_is_that_of_the_measure(measure: str, source: str) -> None:
    """As on the page of the measure: one of the years of the row is in it."""
    assert set(re.findall(r"\d{4}", source)) & set(re.findall(r"\d{4}", parse_one(measure).kind.source))


def test_every_source_is_cited() -> None:
    """No entry of the list is left over."""
    text = page("which-measure.md").partition("## Sources")[0]
    for each in LISTED:
        author, years = re.split(r"[ ,:]", each.removeprefix("van "))[0], re.findall(r"\b(?:19|20)\d\d\b", each)
        assert re.search(rf"{author}[^|\n]*{years[-1]}", text), each


# Questions


def test_what_may_change_at_any_time_is_no_rule() -> None:
    """The keys of the table that may change after the start are keys of a track; those that may not are rules."""
    free, bound = (
        set(re.findall(r"`([a-z_]+)`", line))
        for line in page("questions.md").splitlines()
        if line.startswith(("| `measures`", "| the solution"))
    )

    assert free
    assert free <= set(Track.model_fields) - set(RULES)
    assert bound
    assert bound <= set(RULES)


# Understanding the board, and the numbers on the page of a team


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the example challenge."""
    folder = tmp_path_factory.mktemp("example")
    shutil.copy(ROOT / "challenge.toml", folder)
    for name in ("solutions", "queries", "items", "submissions"):
        shutil.copytree(ROOT / name, folder / name)
    assert here("run", folder).code == 1  # two files are invalid
    return folder / "site"


@pytest.fixture(scope="module")
def rows(site: Path) -> dict[str, Any]:
    """The rows of the first board of the example, by team."""
    board = json.loads((site / "cold-start" / "leaderboard.json").read_text(encoding="utf-8"))
    return {row["team"]: row for row in board["rows"]}


def test_the_examples_of_the_board_are_true(rows: dict[str, Any]) -> None:
    """Ranks, ranges, tiers and scores."""
    first, second = rows["tea-kettle"], rows["north-window"]

    assert [team for team, row in rows.items() if row["tier"] == "A"] == ["tea-kettle", "north-window"]
    assert rows["paper-boats"]["rank"] == rows["copper-wire"]["rank"] == 3
    assert (rows["quiet-engine"]["rank"], rows["quiet-engine"]["rank from"]) == (10, 9)
    assert (rows["open-drawer"]["tier"], rows["quiet-engine"]["tier"]) == ("D", "E")
    assert (rows["open-drawer"]["rank from"], rows["open-drawer"]["rank to"]) == (7, 10)
    assert (first["MARp@5,10,15,20,25,30"], first["entries"]) == (0.4583, 3)
    assert (round(first["low"], 3), round(first["high"], 3)) == (0.425, 0.491)
    assert second["RR"] > first["RR"]


def test_the_examples_of_the_page_of_a_team_are_true(site: Path) -> None:
    """The difference, its p-value, the queries that are needed, and the earlier rank."""
    text = plain((site / "teams" / "tea-kettle.html").read_text(encoding="utf-8"))

    assert re.search(r"north-window 0\.4330 −0\.0253 .* 0\.220 too close to call", text)
    assert "about 1,600 queries would separate it from north-window" in text
    assert "0.4164, rank 2" in text
    assert "All 45 pairs of ranked teams" in text


def test_every_column_of_the_board_is_explained(site: Path) -> None:
    """By the label in its heading; the columns of measures share a row."""
    html = (site / "cold-start" / "index.html").read_text(encoding="utf-8")
    headings = re.findall(r'<th scope="col" class="([^"]+)" data-key="[^"]+" data-label="([^"]+)"', html)
    table = page("understanding-the-board.md").partition("## The columns")[2].partition("## Tiers")[0]
    explained = {
        name for cells in re.findall(r"^\| ([^|]+) \|", table, re.MULTILINE) for name in re.split(r", | \(", cells)
    }

    named = {
        "team": None,
        "score": "Score",
        "strip": "the picture",
        "measure": "further measures",
        "preliminary": "Prelim.",
        "before": "Prelim.",
    }
    assert len(headings) > 10
    for css, label in headings:
        expected = named.get(css.split()[0], label)
        assert expected is None or expected in explained, (css, label)


def test_every_number_on_the_page_of_a_team_is_explained(site: Path) -> None:
    """Each heading of a column with numbers is in the table of questions.md."""
    html = (site / "teams" / "tea-kettle.html").read_text(encoding="utf-8")
    heads = {
        plain(re.sub(r"<svg.*?</svg>|<sup>.*?</sup>", "", each))
        for each in re.findall(r"<th scope=\"col\".*?</th>", html)
    }
    table = page("questions.md").partition("### What does each number on my page mean?")[2].partition("\n## ")[0]
    elsewhere = {"Rank", "Team", "MARp", "Preliminary", "Query", "This team", "Field median"}

    for head in heads - elsewhere:
        first = re.split(r" on an axis|, event|Number, ", head)[0]
        assert first in table or first.startswith("Both"), head
