"""Citations of a board: BibTeX and CFF that programs read."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
import yaml

from scorer.board.board import Board
from scorer.board.reports.leaderboard import to_bibtex, to_cff
from scorer.settings.tracks import Branding, Challenge
from tests import boards

UPDATED = datetime(2011, 7, 9, 6, 0, tzinfo=UTC)

TITLES = ("Cold start", 'Lists & "ranks": {a} #1', "}{", "two\nlines", "50 % \\ $x$ ~ ^ _", "🦊: é")


def cited(title: str) -> tuple[Challenge, Board]:
    """A challenge and the board of a track with this title."""
    challenge = boards.challenge(title=title)
    return challenge, replace(boards.board(challenge.tracks[0]), updated=UPDATED)


@pytest.mark.parametrize("title", TITLES)
def test_cff_is_read_back(title: str) -> None:
    """YAML gives the texts as they are, on one line, and the day of the last change."""
    challenge, board = cited(title)

    found = yaml.safe_load(to_cff(challenge, board))

    assert found["cff-version"] == "1.2.0"
    assert found["title"] == f"Leaderboard of the track {' '.join(title.split())}, Lectures & lists"
    assert found["authors"] == [{"name": "The organisers of Lectures & lists"}]
    assert str(found["date-released"]) == "2011-07-09"
    assert found["abstract"].startswith(
        "Final MARp@5,10,15,20,25,30 of 12 ranked teams; salted digest of the solution "
    )


@pytest.mark.parametrize("title", TITLES)
def test_bibtex_has_balanced_braces(title: str) -> None:
    """BibTeX counts braces, also after a backslash: none of the title may end a field."""
    challenge, board = cited(title)

    text = to_bibtex(challenge, board)
    opened = text.index("{") + 1
    depth = [text[:end].count("{") - text[:end].count("}") for end in range(opened, len(text.rstrip()))]
    fields = re.findall(r"^  (\w+) = \{(.*)\},?$", text, re.MULTILINE)

    assert min(depth) >= 1
    assert text.count("{") == text.count("}")
    assert [name for name, _ in fields] == ["title", "author", "note", "year", "month", "urldate"]
    assert dict(fields)["urldate"] == "2011-07-09"


@pytest.mark.parametrize(
    ("url", "address"), [("https://a.org/l", "https://a.org/l"), ("https://a.org/{", "https://a.org/%7B")]
)
def test_citations_have_the_address_of_the_board(url: str, address: str) -> None:
    """As the table [site] states it."""
    challenge, board = cited("Cold start")
    published = challenge.model_copy(update={"branding": Branding.model_validate({"url": url})})
    bibtex, cff = to_bibtex(published, board), yaml.safe_load(to_cff(published, board))

    assert f"\n  url = {{{address}/cold-start/index.html}},\n" in bibtex
    assert cff["url"] == f"{address}/cold-start/index.html"
    assert "url = " not in to_bibtex(challenge, board)
    assert "url" not in yaml.safe_load(to_cff(challenge, board))


def test_a_board_without_a_known_change_has_no_date() -> None:
    """Neither form invents one."""
    challenge, board = cited("Cold start")
    undated = replace(board, updated=None)

    assert "date-released" not in to_cff(challenge, undated)
    assert "year" not in to_bibtex(challenge, undated)
