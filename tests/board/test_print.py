"""Pages on paper: the positions of the text in real PDFs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.browser import IN_BROWSER, Page
from tests.live_challenges import BEST, FAIR, WEAK, Live, day
from tests.paths import ROOT

pdfium = pytest.importorskip("pypdfium2", reason="the group `browser` is not installed")

pytestmark = IN_BROWSER


SIDE, FOOT = 30.0, 12.0
"""What stays free on paper, in points: at the sides and at the top, and below the line at the foot."""
KERNING = 2.5
"""By how much pieces of one line may overlap, in points."""


class Word(NamedTuple):
    """A piece of text on a sheet, in points from the lower left corner."""

    left: float
    bottom: float
    right: float
    top: float
    text: str

    def shared(self, other: Word) -> float:
        """The share of the smaller piece that the other one covers; letters of one word may be a little closer."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.top, other.top) - max(self.bottom, other.bottom)
        if width <= KERNING or height <= 1:
            return 0.0
        return width * height / min(piece.area for piece in (self, other))

    def follows(self, other: Word) -> bool:
        """Whether it is the next piece on the same line."""
        is_beside = min(self.top, other.top) > max(self.bottom, other.bottom)
        return is_beside and 0 <= self.left - other.right < 8

    @property
    def area(self) -> float:
        """In square points."""
        return (self.right - self.left) * (self.top - self.bottom)


def words_of(sheet: Any) -> list[Word]:
    """The text of a sheet with its positions."""
    text = sheet.get_textpage()
    boxes = [text.get_rect(number) for number in range(text.count_rects())]
    return [
        Word(left, bottom, right, top, words)
        for left, bottom, right, top in boxes
        if (words := text.get_text_bounded(left, bottom, right, top).strip())
    ]


def text_of(pdf: Any) -> str:
    """All words of a document, with single spaces."""
    return " ".join(re.sub(r"\s+", " ", sheet.get_textpage().get_text_bounded()) for sheet in pdf)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The pages to print: of the example, and the board of an open phase."""
    example = tmp_path_factory.mktemp("example")
    for name in ("challenge.toml", "items", "queries", "solutions", "submissions"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, example / name)
    subprocess.run([sys.executable, "-m", "scorer", "run", str(example)], stdout=subprocess.DEVNULL, check=False)
    example_site = example / "site"
    live = Live.starter(tmp_path_factory.mktemp("live") / "live")
    for team, lists in {"alder": FAIR, "birch": BEST, "cedar": WEAK}.items():
        live.put(f"{team}/1.txt", lists, day(10, 1))
    live.run(day(11))
    live.site(day(12))
    return {
        "index": example_site / "index.html",
        "board": example_site / "cold-start/index.html",
        "team": example_site / "teams/tea-kettle.html",
        "analysis": example_site / "cold-start/analysis.html",
        "rules": example_site / "cold-start/rules.html",
        "live board": live.challenge.site_path / "main/index.html",
    }


@pytest.mark.parametrize("landscape", [False, True], ids=["portrait", "landscape"])
@pytest.mark.parametrize("name", ["index", "board", "team", "analysis", "rules", "live board"])
def test_nothing_overlaps_and_nothing_is_cut(tab: Page, site: dict[str, Path], name: str, landscape: bool) -> None:
    """On every sheet; and a p-value stays on one line."""
    tab.open(site[name].as_uri())
    pdf = pdfium.PdfDocument(tab.pdf(landscape=landscape))

    for sheet in pdf:
        width, height = sheet.get_size()
        words = words_of(sheet)
        assert words
        for at, word in enumerate(words):
            assert word.left >= SIDE, word
            assert word.right <= width - SIDE, word
            assert word.top <= height - SIDE, word
            assert word.bottom >= FOOT, word
            if word.text == "<":
                assert [other for other in words if other.text[0] == "0" and other.follows(word)], word
            assert [other for other in words[at + 1 :] if word.shared(other) > 0.15] == [], word


def test_a_board_on_upright_paper_keeps_its_table(tab: Page, site: dict[str, Path]) -> None:
    """Each row is on one line, from the rank to the change; the letter of the tier is on the line of its first team."""
    tab.open(site["board"].as_uri())
    pdf = pdfium.PdfDocument(tab.pdf())
    words = words_of(pdf[0])
    line = next(word for word in words if word.text == "0.4583")
    row = sorted((word.left, word.text) for word in words if abs(word.bottom - line.bottom) < 6)

    assert "".join(text for _, text in row).replace(" ", "").startswith("A11to2tea-kettle0.45830.425to0.4912")
    assert "Figure 1." in pdf[0].get_textpage().get_text_bounded()


def heights(sheet: Any, text: str) -> list[float]:
    """Where a text begins on a sheet, in points from the foot."""
    page = sheet.get_textpage()
    found, place = page.search(text, match_case=True), []
    while at := found.get_next():
        place.append(page.get_charbox(at[0])[1])
    return place


@pytest.mark.parametrize("name", ["index", "board", "team", "rules", "live board"])
def test_what_belongs_together_is_on_one_sheet(tab: Page, site: dict[str, Path], name: str) -> None:
    """A caption or heading and what follows it; and the last sheet has more than a few lines."""
    tab.open(site[name].as_uri())
    pdf = pdfium.PdfDocument(tab.pdf())
    for sheet in pdf:
        lines = {round(word.bottom) for word in words_of(sheet) if word.bottom > SIDE}
        for text in ("Table ", "Figure ", "To take part", "Latest entries", "What changed"):
            assert all(len([line for line in lines if line < at - 5]) >= 4 for at in heights(sheet, text)), text
    assert len(lines) >= 8


def test_rules_fill_one_sheet(tab: Page, site: dict[str, Path]) -> None:
    """In two columns below the heading."""
    tab.open(site["rules"].as_uri())
    pdf = pdfium.PdfDocument(tab.pdf())
    lefts = [word.left for word in words_of(pdf[0]) if len(word.text) > 30]

    assert len(pdf) == 1
    assert max(lefts) - min(lefts) > 200
    (first,) = heights(pdf[0], "The board is ranked")
    assert all(word.bottom < first + 60 for word in words_of(pdf[0]) if len(word.text) > 30)


def test_paper_has_no_controls_and_says_which_sheet_it_is(tab: Page, site: dict[str, Path]) -> None:
    """Nor links that lead nowhere on paper; at the foot are the zone of all times and the number of the sheet."""
    tab.open(site["board"].as_uri())
    pdf = pdfium.PdfDocument(tab.pdf())
    text = text_of(pdf)

    for control in ("Columns", "Reset", "Markdown", "See why", "The whole analysis"):
        assert control not in text
    for number, sheet in enumerate(pdf, start=1):
        foot = [word.text for word in words_of(sheet) if word.bottom < SIDE]
        assert "".join(foot).replace(" ", "").startswith("AlltimesareUTC.") or "All times" in foot[0]
        assert foot[-3:] == [str(number), "of", str(len(pdf))]
