"""The page of the first teams for frames in pages of other sites."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scorer.board.site.folder import write
from scorer.board.site.pages import SiteContent, site_files
from scorer.board.site.preview import ACCENT_COLOUR
from tests.accessibility import check_page
from tests.boards import board, board_of, challenge
from tests.browser import IN_BROWSER, Page
from tests.live_challenges import FAIR, Live, day
from tests.pages import board_rows, html_of, pages, read
from tests.paths import DOCS
from tests.project.test_serving_docs import WAIT, within
from tests.served import served
from tests.service.test_service_processes import serving
from tests.verification.test_published import Quiet, http

RECIPE = re.findall(r"```html\n(.*?)```", (DOCS / "publishing.md").read_text(encoding="utf-8"), re.DOTALL)[0]


@pytest.fixture(scope="module")
def site() -> dict[str, str]:
    """The pages of two tracks with hostile names."""
    declared = challenge()
    return html_of(pages(declared, [board(track) for track in declared.tracks]))


@pytest.mark.parametrize("track", ["cold-start", "pooled-sequences"])
def test_it_has_the_first_five_teams_of_the_board(site: dict[str, str], track: str) -> None:
    """With the same ranks, ranges, tiers and scores; baselines are marks on the axis only."""
    shown = board_rows(site[f"{track}/embed.html"])
    ranked = [row for row in board_rows(site[f"{track}/index.html"]) if row["rank"]]
    columns = ("tier", "rank", "range", "team", "score")
    assert [[row[name] for name in columns] for row in shown] == [[row[name] for name in columns] for row in ranked[:5]]


def test_it_has_no_script_and_no_form(site: dict[str, str]) -> None:
    """Its policy allows none. All links open outside of the frame, and lead to the pages of the site."""
    page = read(site["cold-start/embed.html"])
    assert not [each.tag for each in page.all() if each.tag in ("script", "form", "iframe", "img")]
    policy = next(each for each in page.all("meta") if each.attributes.get("http-equiv") == "Content-Security-Policy")
    assert (
        policy.attributes["content"]
        == "default-src 'none'; style-src 'self' file:; base-uri 'none'; form-action 'none'"
    )
    assert next(page.all("base")).attributes == {"target": "_blank"}
    found = [each.attributes["href"] or "" for each in page.all("a")]
    assert {"index.html", "../index.html", "../teams/tea-kettle.html"} <= set(found)
    assert {link.removeprefix("../") for link in found} <= {"index.html"} | {path for path in site if "teams/" in path}


def test_a_board_without_ranks_says_why() -> None:
    """In place of the table."""
    declared = challenge()
    site = pages(declared, [board_of(track) for track in declared.tracks])
    assert "No submissions yet." in read(site["cold-start/embed.html"]).words()


def test_only_it_may_be_framed(tmp_path: Path) -> None:
    """By the headers of the service, also where a file is missing."""
    live = Live.starter(tmp_path / "live")
    live.put("alder/1.txt", FAIR, day(10, 1))
    live.run_and_render(day(10, 2))
    with served(live, day(10, 3)) as here_served:
        policies = {
            path: here_served.client.get(path).headers.get("content-security-policy")
            for path in (
                "/main/embed.html",
                "/",
                "/main/index.html",
                "/main/embed.html/index.html",
                "/teams/alder.html",
            )
        }
        assert policies.pop("/main/embed.html") == "frame-ancestors *"
        assert set(policies.values()) == {"frame-ancestors 'none'"}
        assert here_served.client.get("/submit").headers["x-frame-options"] == "DENY"


@contextmanager
def other_site(folder: Path) -> Iterator[str]:
    """Serve a folder; yields its address, which has another origin than a service."""
    with http(partial(Quiet, directory=folder)) as address:
        yield address.removesuffix("/")


def has_colour(file: Path, colour: str, top: int) -> bool:
    """Whether a picture has pixels of a colour in the frame that begins there."""
    wanted = [int(colour[at : at + 2], 16) for at in (1, 3, 5)]
    frame = np.asarray(Image.open(file).convert("RGB"))[top : top + 480]
    return bool((frame == wanted).all(axis=2).any())


class TestInBrowser:
    """In Chromium."""

    pytestmark = IN_BROWSER

    def test_the_recipe_shows_it_and_no_other_page(self, only_tab: Page, tmp_path: Path) -> None:
        """From another origin, with the frame of the documentation: its style sheet loads in the sandbox."""
        live = Live.starter(tmp_path / "live", phases='stage = "final"')
        live.put("alder/1.txt", FAIR, day(10, 1))
        live.run_and_render(day(10, 2))
        (tmp_path / "other").mkdir()
        with serving(live.folder) as server, other_site(tmp_path / "other") as other:
            address = "https://board.example.org/main/embed.html"
            frames = [RECIPE.replace(address, f"{server.address}/main/{name}.html") for name in ("index", "embed")]
            text = "<!doctype html><link rel=icon href=data:,><style>iframe { display: block }</style>"
            (tmp_path / "other" / "page.html").write_text(text + "".join(frames))
            only_tab.open(f"{other}/page.html")
            for _ in within(WAIT):  # a frame that loads late does not delay the page around it
                only_tab.picture(tmp_path / "picture.png")
                refused, shown = (has_colour(tmp_path / "picture.png", ACCENT_COLOUR, top) for top in (8, 488))
                if shown:
                    break
            assert not refused

    def test_it_is_sound_and_fits(self, tab: Page, tmp_path: Path) -> None:
        """In light and dark, and in narrow frames."""
        declared = challenge(tmp_path)
        write(site_files(SiteContent(declared, [board(track) for track in declared.tracks])), tmp_path / "site")
        for dark in (False, True):
            for width in (1200, 700, 390, 320):
                check_page(tab, (tmp_path / "site/cold-start/embed.html").as_uri(), width, dark=dark)
                if width >= 390:
                    assert tab.ask("document.body.scrollHeight") <= 480
