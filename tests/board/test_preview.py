"""The pictures of boards for previews of links: what they show, where pages name them, and when they are drawn."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup
from PIL import Image

from scorer.board.board import Board
from scorer.board.site import preview as module
from scorer.board.site.pages import SiteContent, site_files
from scorer.board.site.preview import ACCENT_COLOUR, preview
from scorer.settings.tracks import LIGHT, Branding, Challenge
from tests.boards import HOSTILE, board, board_of, challenge, scored_row, team
from tests.live_challenges import FAIR, PHASES, Live, day
from tests.pages import metas

ADDRESS = "https://example.org/c/"


def declared(root: Path = Path("nowhere"), **branding: str) -> Challenge:
    """A challenge whose site has an address."""
    settings = {"branding": Branding.model_validate({"url": ADDRESS, **branding})}
    return challenge(root).model_copy(update=settings)


def content(of: Challenge, **values: Any) -> SiteContent:
    """The content of its site."""
    return SiteContent(of, [board(track) for track in of.tracks], **values)


def drawn(monkeypatch: pytest.MonkeyPatch, shown: Board) -> tuple[Any, ...]:
    """What is drawn of a board: the words, the rows, the ticks of the axis and the accent."""
    calls: list[tuple[Any, ...]] = []

    def draw(*values: Any) -> bytes:
        calls.append(values)
        return b""

    monkeypatch.setattr(module, "_drawn", draw)
    of = declared()
    preview(of, SiteContent(of, [shown]).views[0], {})
    return calls[0]


def image_of(shown: bytes) -> Image.Image:
    """A picture in RGB."""
    return Image.open(BytesIO(shown)).convert("RGB")


def marks_of(picture: Image.Image, colour: str) -> set[tuple[int, int]]:
    """Where the pixels of a colour are, right of the names."""
    wanted = np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)], dtype=np.int16)
    near = (abs(np.asarray(picture, dtype=np.int16) - wanted) <= 12).all(axis=2)
    return {(x, y) for y, x in np.argwhere(near).tolist() if x > 600}


def test_it_has_the_numbers_of_the_board(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first five teams, with their ranks, scores and marks as on the page of the board."""
    shown = board(declared().tracks[0])
    words, rows, ticks, _ = drawn(monkeypatch, shown)
    assert words == (
        "Lectures & lists · Final MARp · 14 teams",
        "Cold start",
        "Twelve teams in seven tiers; the first is not separable from the next three.",
        "",
        ADDRESS,
    )
    assert [texts for texts, _ in rows][:3] == [
        ("1", "tea-kettle", "0.3127"),
        ("2", "north-window", "0.3004"),
        ("=3", HOSTILE[0], "0.2871"),
    ]
    labels = [float(label) for (label,), _ in ticks]
    highest = labels[-1]
    leaders = [row for row in shown.rows if row.rank is not None]
    for (_, marks), row in zip(rows, leaders, strict=False):
        assert row.entry
        assert row.primary_certainty
        assert row.primary_certainty.interval
        low, high = row.primary_certainty.interval
        expected = [100 * value / highest for value in (row.entry.final[0] or 0, low, high - low)]
        assert marks == pytest.approx(expected, abs=0.02)
    assert [at for _, (at,) in ticks] == pytest.approx([100 * label / highest for label in labels], abs=0.02)


def test_names_that_the_font_lacks_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their places stay, with rank and score. Accents are left out."""
    track = declared().tracks[0]
    names = ("Zoë e\u0301\u2013x", "Ομάδα", "Tea kettle", "チーム")
    rows = [replace(scored_row("a", 0.3 - place / 100, 0.2, 5), team=team(name)) for place, name in enumerate(names)]
    _, found, *_ = drawn(monkeypatch, board_of(track, *rows))
    assert [texts[1] for texts, _ in found] == ["Zoe e-x", "", "Tea kettle", ""]
    assert [texts[::2] for texts, _ in found][1::2] == [("2", "0.2900"), ("4", "0.2700")]


@pytest.mark.parametrize("end", ["8 July 2027, 23:59:59 UTC, with 5 minutes of grace", "8 July 2027, 23:59 UTC"])
def test_the_state_has_neither_seconds_nor_grace(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """Which a link need not say."""
    monkeypatch.setattr(module, "track_status", lambda _: Markup("<b>Phase one is open</b> until {}").format(end))
    assert drawn(monkeypatch, board(declared().tracks[0]))[0][2] == "Phase one is open until 8 July 2027, 23:59 UTC"


def test_the_picture_has_dots_where_the_scores_are() -> None:
    """In the accent of the site, on paper, 1200 x 630 pixels."""
    for accent in (ACCENT_COLOUR, "#7a0a2e"):
        of = declared(accent=accent)
        view = content(of).views[0]
        picture = image_of(preview(of, view, {}))
        assert picture.size == (1200, 630)
        assert len(marks_of(picture, LIGHT[0])) > 200_000
        found = marks_of(picture, accent)
        for number, row in enumerate(view.ranked[:5]):
            assert row.strip
            x, y = 640 + 5 * float(row.strip.mean.rstrip("%")), 232 + 62 * (number + 0.5)
            assert any(abs(x - each) < 2 and abs(y - other) < 2 for each, other in found)


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_is_drawn(name: str) -> None:
    """A board of one team, also with a name that is longer than its column."""
    of = declared()
    shown = board_of(of.tracks[0], replace(scored_row("a", 0.3, 0.2, 5), team=team(name * 20)))
    view = SiteContent(of, [shown]).views[0]
    picture = image_of(preview(of, view, {}))
    names = picture.crop((462, 240, 490, 286))
    assert names.getcolors() == [(28 * 46, picture.getpixel((3, 3)))]


def test_a_board_without_ranks_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """In place of the teams."""
    words, rows, ticks, _ = drawn(monkeypatch, board_of(declared().tracks[0]))
    assert (words[3], rows, ticks) == ("No submissions yet.", [], [])


def test_it_is_drawn_again_only_if_it_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bytes are those of the first time, also from nothing."""
    of, cache = declared(), dict[str, str]()
    first = preview(of, content(of).views[0], cache)
    assert preview(of, content(of).views[0], {}) == first
    kept = dict(cache)
    monkeypatch.setattr(module, "b64encode", None)  # nothing is drawn
    assert preview(of, content(of).views[0], kept) == first
    assert kept == cache


def test_pages_name_the_picture_of_their_board(tmp_path: Path) -> None:
    """Of the track of the page, of the first track of a team, or of the first one; with an absolute address."""
    of = declared(tmp_path)
    boards = [
        board_of(of.tracks[0], scored_row("solo", 0.3, 0.2, 5)),
        board_of(of.tracks[1], scored_row("duo", 0.3, 0.2, 2)),
    ]
    site = site_files(SiteContent(of, boards))
    for path, track in [
        ("index.html", "cold-start"),
        ("cold-start/index.html", "cold-start"),
        ("pooled-sequences/index.html", "pooled-sequences"),
        ("pooled-sequences/rules.html", "pooled-sequences"),
        ("teams/solo.html", "cold-start"),
        ("teams/duo.html", "pooled-sequences"),
        ("measures.html", "cold-start"),
    ]:
        page = site[path]
        assert isinstance(page, str)
        found = metas(page)
        assert found["og:image"] == f"{ADDRESS}{track}/preview.png"
        assert (found["og:image:width"], found["og:image:height"]) == ("1200", "630")
        assert found["twitter:card"] == "summary_large_image"
        assert found["og:url"] == f"{ADDRESS}{path}"
    assert sorted(path for path in site if path.endswith(".png")) == [
        "cold-start/preview.png",
        "pooled-sequences/preview.png",
    ]
    plain = challenge(tmp_path)
    without = site_files(SiteContent(plain, [board(track) for track in plain.tracks]))
    assert not any(path.endswith(".png") or "og:image" in str(page) for path, page in without.items())


def test_the_picture_has_no_time_that_passes(tmp_path: Path) -> None:
    """It is the same at two times of a phase, and another one when the phase is over."""
    live = Live.starter(tmp_path / "live", phases=f'{PHASES}\n[site]\nurl = "{ADDRESS}"\n')
    live.edit('site = "site"\n', "") if 'site = "site"\n' in (live.folder / "challenge.toml").read_text() else None
    live.put("alder/1.txt", FAIR, day(10, 1))
    picture = partial((live.folder / "site/main/preview.png").read_bytes)
    live.run_and_render(day(11))
    first = picture()
    live.run_and_render(day(12))
    assert picture() == first
    live.run_and_render(day(30))
    assert picture() != first
