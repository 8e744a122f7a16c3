"""The pages: content, links, escaping, and their behaviour in a browser."""

from __future__ import annotations

import posixpath
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from scorer.board.site.pages import SITE_ASSETS
from scorer.board.site.track_pages import EntryView
from scorer.errors import ScorerError
from scorer.files import shipped_templates
from scorer.settings.tracks import Track
from tests.boards import ERRORS, HOSTILE, START, board, board_of, challenge, scored_row, team
from tests.browser import IN_BROWSER, Page
from tests.colours import contrast
from tests.commands import Terminal
from tests.pages import board_row, board_rows, html_of, pages, read, said

# Structure


def test_every_page_is_well_formed(site: dict[str, str]) -> None:
    """Elements are closed by their own end tags; a page has a language, a title, one h1, and no id twice."""
    for path, text in html_of(site).items():
        page = read(text)
        assert [each.attributes.get("lang") for each in page.all("html")] == ["en"], path
        assert next(page.all("title")).words(), path
        assert len(list(page.all("h1"))) == 1, path
        ids = [each.attributes["id"] for each in page.all() if "id" in each.attributes]
        assert len(ids) == len(set(ids)), path


def test_every_link_has_a_target(site: dict[str, str]) -> None:
    """Links and sources are files of the site, fragments are ids in these files, references are ids in the page."""
    ids = {path: {each.attributes.get("id") for each in read(text).all()} for path, text in html_of(site).items()}
    for path, found_ids in ids.items():  # the comparison of two teams begins with any one of them
        if path.endswith("/compare.html"):
            found_ids |= {f"a={each.attributes['value']}" for each in read(site[path]).all("option")}
    for path, text in html_of(site).items():
        for each in read(text).all():
            for name in ("href", "src"):
                address = each.attributes.get(name)
                if address is None or address.startswith("data:image/svg+xml,"):
                    continue
                target, _, fragment = address.partition("#")
                found = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
                assert found in site, f"{path}: {address}"
                assert not fragment or fragment in ids[found], f"{path}: {address}"
            for reference in (each.attributes.get("aria-labelledby") or "").split():
                assert reference in ids[path], f"{path}: {reference}"


def test_nothing_is_loaded_from_the_network(site: dict[str, str]) -> None:
    """Pages, style sheet and script name no resource on a network."""
    for path, text in html_of(site).items():
        loading = [each for each in read(text).all() if each.tag in ("link", "script", "img", "iframe")]
        sources = [each.attributes.get("src") or each.attributes.get("href") or "" for each in loading]
        assert all(source.startswith("data:") or "//" not in source for source in sources), path
    assert "@import" not in site["style.css"]
    assert "url(" not in site["style.css"]
    assert not re.search(r"fetch|XMLHttpRequest|import\(|https?:", site["board.js"])


def test_tables_are_described(site: dict[str, str]) -> None:
    """Every table has a caption or refers to one, every heading a scope, and every row that is read a heading."""
    for path, text in html_of(site).items():
        for table in read(text).all("table"):
            captions = [each.words() for each in table.all("caption")]
            named = [
                each
                for each in read(text).all()
                if each.attributes.get("id") == table.attributes.get("aria-labelledby")
            ]
            assert captions or (table.attributes["aria-labelledby"] and named[0].words()), path
            assert all(head.attributes.get("scope") in ("col", "row") for head in table.all("th")), path
            foot = [row for part in table.all("tfoot") for row in part.all("tr")]
            assert all(list(row.all("th")) for row in table.all("tr") if row not in foot), path


def test_the_same_boards_give_the_same_bytes(site: dict[str, str]) -> None:
    """Rendering depends on the boards only."""
    declared = challenge()
    assert pages(declared, [board(track) for track in declared.tracks]) == site


# Escaping


def test_hostile_names_are_text_in_every_page(site: dict[str, str]) -> None:
    """The full name is on the board and in the heading; it adds no element, and paths are safe."""
    for name in HOSTILE:
        assert any(name in row["team"] for row in board_rows(site["cold-start/index.html"]))
        assert next(read(site[f"teams/{team(name).slug}.html"]).all("h1")).words() == name
    for path, text in html_of(site).items():
        elements = list(read(text).all())
        scripts = [each.attributes.get("src") for each in elements if each.tag == "script"]
        wanted = [] if path.endswith(("404.html", "/embed.html")) else ["own.js"]
        wanted += ["board.js"] if path.endswith("/index.html") else []
        wanted += ["compare.js"] if path.endswith("/compare.html") else []
        wanted += ["sort.js"] if "sortable" in text else []
        assert scripts == [f"{'../' * path.count('/')}{name}" for name in wanted], path
        assert not {"img", "iframe", "object"} & {each.tag for each in elements}
        assert not any(each.tag == "b" and each.words() == "of" for each in elements)
        attributes = {name for each in elements for name in each.attributes}
        assert not any(name.startswith("on") or name == "style" for name in attributes), path
    assert all(
        re.fullmatch(r"([a-z0-9-]+/)?[a-z0-9-]+(\.[0-9]+)?\.(html|css|js|csv|jsonl?|bib|cff)", path) for path in site
    )


# Content of the pages


def test_a_team_without_a_scored_entry_sees_why(site: dict[str, str]) -> None:
    """Its row links to its page, which lists the first errors with their lines and counts the others."""
    assert "See why" in board_row(site["cold-start/index.html"], "quiet-harbour")["strip"]
    shown = [item.words() for item in read(site["teams/quiet-harbour.html"]).all("li")]
    assert ERRORS[0].text in shown
    assert f"line 17 {ERRORS[1].text}" in shown
    assert f"line 1,234 {ERRORS[2].text}" in shown
    assert "and 9 more" in shown


def test_the_name_of_a_track_is_no_id() -> None:
    """A track may be called like an id of the layout, or like another track with a number."""
    declared = challenge()
    first = declared.tracks[0]
    tracks = tuple(first.model_copy(update={"name": name, "title": name}) for name in ("main", "board", "a-1", "a"))
    site = pages(
        declared.model_copy(update={"tracks": tracks}),
        [board_of(track, scored_row("solo", 0.3, 0.2, 5)) for track in tracks],
    )
    test_every_page_is_well_formed(site)
    test_every_link_has_a_target(site)


def test_the_command_that_checks_a_file_works(
    new_challenge: Path, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the front page has it, with a copy of the site at its address."""
    assert terminal.run("run", new_challenge).code == 0
    shutil.copy(next((new_challenge / "submissions" / "main").glob("*.txt")), new_challenge / "my-run.txt")
    codes = [code.words() for code in read((new_challenge / "site" / "index.html").read_text("utf-8")).all("code")]
    (command,) = (code for code in codes if code.startswith("scorer check"))

    monkeypatch.chdir(new_challenge)
    assert terminal.run(*shlex.split(command.replace("ADDRESS/", "site"))[1:]).code == 0


def test_no_two_measures_share_an_anchor() -> None:
    """Different measures have different anchors on the page of measures, also if their names look alike."""
    declared = challenge(measures=["AP(rel=1.5)", "AP(rel=1)@5", "P@10", "Rp@10"])
    track: Track = declared.tracks[0]
    page = read(pages(declared, [board(track)])["measures.html"])
    ids = [each.attributes["id"] for each in page.all("li") if "id" in each.attributes]
    assert len(ids) == len(set(ids)) == len(track.all_measures)


# Templates of the organiser


def own(folder: Path, name: str, content: bytes) -> Callable[[], dict[str, str]]:
    """A function that renders a challenge with this file in its folder of templates."""
    (folder / "templates").mkdir()
    (folder / "templates" / name).write_bytes(content)
    declared = challenge(folder)
    return lambda: pages(declared, [board(track) for track in declared.tracks])


def test_an_organisers_template_comes_first(tmp_path: Path) -> None:
    """It may extend shipped ones; a style sheet is copied without rendering. The shipped folder has the others."""
    render = own(tmp_path, "measures.html", b'{% extends "layout.html" %}{% block main %}<h1>Ours</h1>{% endblock %}')
    site = render()
    assert "<h1>Ours</h1>" in site["measures.html"]
    assert "<h1>Cold start</h1>" in site["cold-start/index.html"]
    (tmp_path / "templates" / "style.css").write_bytes(b"p { color: {{ red }} }")
    assert render()["style.css"] == "p { color: {{ red }} }"
    names = {path.name for path in shipped_templates().iterdir()}
    assert {*SITE_ASSETS, "layout.html", "index.html", "board.html", "team.html", "measures.html"} <= names


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<p>\n{% if %}", r"measures\.html:2: "),
        (b"<p>\n\n{{ nothing }}", r"measures\.html:3: .*nothing"),
        (b"{{ 1 // 0 }}", r"measures\.html:1: .*zero"),
        (b'\n{% include "absent.html" %}', r"measures\.html:2: .*absent\.html"),
        (b"\xff\xfe", r"measures\.html: .*UTF-8"),
    ],
)
def test_an_error_in_a_template_names_file_and_line(tmp_path: Path, content: bytes, message: str) -> None:
    """A template that cannot be read, parsed or rendered raises ScorerError."""
    with pytest.raises(ScorerError, match=message):
        own(tmp_path, "measures.html", content)()


# Charts


def drawn(*scores: float, title: str = "") -> ET.Element:
    """The picture of scores over time, one a month; the first one counts."""
    row = scored_row("a", 0.1, 0.1, 1)
    entries = [
        replace(row.entries[0], received=START.replace(month=4 + n), is_counting=n == 0) for n in range(len(scores))
    ]
    views = [EntryView(n + 1, 1, entry, (score,)) for n, (entry, score) in enumerate(zip(entries, scores, strict=True))]
    return ET.fromstring(said("pictures.html", "timeline", views, title, 2))


def test_a_timeline_draws_its_scores() -> None:
    """Higher is up and later is right; equal scores are level, and texts are escaped."""
    drawing = drawn(0.1, 0.3, 0.2, title="<b>")
    assert drawing.findtext("title") == "<b>"
    text = "First 0.10 on 18 April 2011, best 0.30 on 18 May 2011, last 0.20 on 18 June 2011."
    assert drawing.findtext("desc") == text
    assert [dot.get("class") for dot in drawing.iter("circle")] == ["marked", None, None]
    assert [dot.findtext("title") for dot in drawing.iter("circle")][1] == "Entry 2: 0.30"
    across, down = ([float(dot.get(axis, "")) for dot in drawing.iter("circle")] for axis in ("cx", "cy"))
    assert across == sorted(across)
    assert down[1] < down[2] < down[0]
    assert len({dot.get("cy") for dot in drawn(0.2, 0.2).iter("circle")}) == 1


# Colours


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_has_contrast(site: dict[str, str], scheme: int) -> None:
    """Text has a contrast of at least 4.5:1 on every background, and marks have 3:1, in both colour schemes."""
    block = re.findall(r":root \{(.*?)\}", site["style.css"], re.DOTALL)[scheme]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block))
    for background in ("paper", "raised", "mark", "band"):
        for text in ("ink", "soft", "accent", "warning"):
            assert contrast(colours[text], colours[background]) >= 4.5, (text, background)
    for mark in ("bar", "reference"):
        assert contrast(colours[mark], colours["paper"]) >= 3, mark
    assert contrast(colours["bar"], colours["band"]) >= 3


# In a browser


class TestInBrowser:
    """Pages opened from disk in Chromium."""

    pytestmark = IN_BROWSER

    def test_pages_open_without_errors_or_network(self, tab: Page, address: str, site: dict[str, str]) -> None:
        """No errors, no violations of the content policy, requests for files of the site only, styles apply."""
        for path in ("index.html", "cold-start/index.html", "teams/tea-kettle.html", "measures.html"):
            tab.open(f"{address}/{path}")
            assert tab.errors == []
            assert {request.removeprefix(f"{address}/") for request in tab.requests} <= set(site)
            assert tab.ask("getComputedStyle(document.body).backgroundColor") == "rgb(253, 252, 248)"

    @pytest.mark.parametrize(
        "path",
        [
            *("index.html", "cold-start/index.html", "pooled-sequences/index.html", "measures.html"),
            *(f"teams/{team(name).slug}.html" for name in ("tea-kettle", HOSTILE[5], HOSTILE[1])),
        ],
    )
    def test_no_page_scrolls_sideways(self, tab: Page, address: str, path: str) -> None:
        """No page is wider than the window; a wide table scrolls in its own box."""
        tab.open(f"{address}/{path}")
        for width in (320, 390, 704, 760, 1024, 1280, 1440, 2560):
            tab.resize(width)
            assert tab.ask("document.documentElement.scrollWidth") <= width, width

    def test_pages_follow_the_colour_scheme(self, tab: Page, address: str) -> None:
        """The background is dark where the system prefers a dark scheme."""
        tab.open(f"{address}/index.html", dark=True)
        assert tab.ask("getComputedStyle(document.body).backgroundColor") == "rgb(23, 22, 19)"
