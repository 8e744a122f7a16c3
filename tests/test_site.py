"""The pages: content, links, escaping, and their behaviour in a browser."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from scorer.board.board import Board, Row, Team
from scorer.challenge.settings import Track
from scorer.charts.timeline import Point, timeline
from scorer.entries.entry import Status
from scorer.errors import LONGEST, Problem, ScorerError
from scorer.errors import SHOWN as MOST_SHOWN
from scorer.measures import KINDS, Kind
from scorer.site.folder import write
from scorer.site.pages import ASSETS, pages
from scorer.site.templates import shipped_templates
from scorer.wording import printable_name, utc_time
from tests.boards import ERRORS, HOSTILE, START, board, board_of, challenge, entry, scored_row, team, without_final
from tests.browser import Page, browser, chromium

VOID = frozenset({"meta", "link", "input", "br", "wbr", "img", "hr"})


@pytest.fixture(scope="module")
def site() -> dict[str, str]:
    """The site of two boards."""
    declared = challenge()
    return pages(declared, [board(track) for track in declared.tracks])


def html_of(site: dict[str, str]) -> dict[str, str]:
    """The files that are pages."""
    return {path: text for path, text in site.items() if path.endswith(".html")}


# Reading a page


@dataclass
class Element:
    """An element of a page."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str = "") -> Iterator[Element]:
        """The element and its descendants, of one tag or of any."""
        if tag in ("", self.tag):
            yield self
        for child in self.children:
            yield from child.all(tag)

    def words(self) -> str:
        return " ".join(self.text.split())


class Reader(HTMLParser):
    """Builds the tree of a page; an element that its own end tag does not close is an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open = [Element("", {})]
        self.feed(text)
        self.close()
        assert len(self.open) == 1, f"never closed: {[each.tag for each in self.open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), f"<{tag}> has an attribute twice"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data


def read(text: str) -> Element:
    """A page as a tree."""
    return Reader(text).open[0]


def rows(page: str, table: str) -> list[list[str]]:
    """The text of each cell in the body of a table."""
    found = next(each for each in read(page).all("table") if each.attributes.get("class") == table)
    body = next(found.all("tbody"))
    return [[cell.words() for cell in row.children if cell.tag in ("td", "th")] for row in body.all("tr")]


def row_of(page: str, name: str) -> list[str]:
    """The row of a team on a board."""
    return next(row for row in rows(page, "board") if name in row[1])


# Structure


def test_every_page_is_well_formed(site: dict[str, str]) -> None:
    """Every element is closed by its own end tag; each page has a language, a title and one h1."""
    for path, text in html_of(site).items():
        page = read(text)
        assert [each.attributes.get("lang") for each in page.all("html")] == ["en"], path
        assert next(page.all("title")).words(), path
        assert len(list(page.all("h1"))) == 1, path


def test_ids_are_unique(site: dict[str, str]) -> None:
    """No page has an id twice."""
    for path, text in html_of(site).items():
        ids = [each.attributes["id"] for each in read(text).all() if "id" in each.attributes]
        assert len(ids) == len(set(ids)), path


def test_every_link_has_a_target(site: dict[str, str]) -> None:
    """Links and sources are files of the site, fragments are ids in these files, references are ids in the page."""
    ids = {path: {each.attributes.get("id") for each in read(text).all()} for path, text in html_of(site).items()}
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
    """Every table has a caption, every heading a scope, and every row a heading."""
    for path, text in html_of(site).items():
        for table in read(text).all("table"):
            assert next(table.all("caption")).words(), path
            assert all(head.attributes.get("scope") in ("col", "row") for head in table.all("th")), path
            assert all(list(row.all("th")) for row in table.all("tr")), path


def test_the_same_boards_give_the_same_bytes(site: dict[str, str]) -> None:
    """Rendering depends on the boards only."""
    declared = challenge()
    assert pages(declared, [board(track) for track in declared.tracks]) == site


# Escaping


def test_hostile_names_are_shown_as_they_are(site: dict[str, str]) -> None:
    """The full name is text on the board and the heading of the team's page."""
    for name in HOSTILE:
        assert any(name in row[1] for row in rows(site["cold-start/index.html"], "board"))
        assert next(read(site[f"teams/{team(name).slug}.html"]).all("h1")).words() == name


def test_hostile_text_adds_no_element(site: dict[str, str]) -> None:
    """Names and messages add no script, image, event handler or inline style."""
    for path, text in html_of(site).items():
        elements = list(read(text).all())
        scripts = [each.attributes.get("src") for each in elements if each.tag == "script"]
        assert scripts == (["../board.js"] if path.endswith("/index.html") else []), path
        assert not {"img", "iframe", "object", "b" if path == "cold-start/index.html" else "i"} & {
            each.tag for each in elements
        }
        attributes = {name for each in elements for name in each.attributes}
        assert not any(name.startswith("on") or name == "style" for name in attributes), path


def test_paths_come_from_slugs(site: dict[str, str]) -> None:
    """Paths consist of safe characters only."""
    assert all(re.fullmatch(r"([a-z0-9-]+/)?[a-z0-9-]+(\.[0-9]+)?\.(html|css|js|csv|json)", path) for path in site)


# Content of the pages


def test_a_shared_rank_is_marked(site: dict[str, str]) -> None:
    """Equal scores show the same rank with a sign; the next rank is skipped."""
    ranks = [row[0] for row in rows(site["cold-start/index.html"], "board")]
    assert ranks[:6] == ["1", "2", "=3", "=3", "5", "6"]


def test_the_front_page_shows_all_teams_of_the_first_three_ranks(site: dict[str, str]) -> None:
    """Teams that share the third rank are all listed, with their scores."""
    found = [row for row in rows(site["index.html"], "top") if row]
    assert [(row[0], row[2]) for row in found] == [("1", "0.3127"), ("2", "0.3004"), ("=3", "0.2871"), ("=3", "0.2871")]


def test_a_baseline_is_listed_by_score_without_a_rank(site: dict[str, str]) -> None:
    """A baseline has a badge and no rank; the ranks around it are consecutive."""
    table = rows(site["cold-start/index.html"], "board")
    index = next(index for index, row in enumerate(table) if "most popular" in row[1])
    assert table[index][0] == "–"
    assert "baseline" in table[index][1]
    assert (table[index - 1][0], table[index + 1][0]) == ("8", "9")


def test_a_row_shows_its_scores(site: dict[str, str]) -> None:
    """A row shows final and preliminary score, the change of rank, the number of entries and the last entry."""
    row = row_of(site["cold-start/index.html"], "north-window")
    assert row[2:5] == ["0.3004", "0.2751", "▲ up 2"]
    assert row[-2:] == ["4", "2011-05-08 14:07"]


def test_bars_and_marks_share_a_scale(site: dict[str, str]) -> None:
    """The highest score on the board, final or preliminary, has the full width; the others are in proportion."""
    page = read(site["cold-start/index.html"])
    first = next(row for row in page.all("tr") if row.attributes.get("id") == "team-tea-kettle")
    assert [bar.attributes["width"] for bar in first.all("rect")] == [f"{100 * 0.3127 / 0.3290:.1f}"]
    assert [mark.attributes["d"] for mark in first.all("path")] == ["M100.0 0v8"]


def test_a_change_of_rank_ignores_baselines(site: dict[str, str]) -> None:
    """Preliminary ranks skip baselines, as final ranks do."""
    changes = {row[0]: row[4] for row in rows(site["cold-start/index.html"], "board")}
    assert changes["6"] == "▼ down 1"
    assert changes["11"] == "same"


@pytest.mark.parametrize(
    ("equal_ranks", "changes"), [("shared", ["same", "▼ down 1"]), ("earlier", ["▲ up 1", "▼ down 1"])]
)
def test_equal_preliminary_scores_follow_the_rule_of_the_track(equal_ranks: str, changes: list[str]) -> None:
    """Equal preliminary scores share a rank, or the earlier entry ranks higher."""
    declared = challenge(equal_ranks=equal_ranks)
    two = (scored_row("later-team", 0.3, 0.2, 5, entries=2), scored_row("early", 0.2, 0.2, 5))
    page = pages(declared, [board_of(declared.tracks[0], *two)])["cold-start/index.html"]
    assert [row[4] for row in rows(page, "board")] == changes


def test_a_team_without_a_scored_entry_sees_why(site: dict[str, str]) -> None:
    """Its row links to its page, which lists the first errors with their lines and counts the others."""
    assert "why" in row_of(site["cold-start/index.html"], "quiet-harbour")[1]
    shown = [item.words() for item in read(site["teams/quiet-harbour.html"]).all("li")]
    assert ERRORS[0].text in shown
    assert f"line 17 {ERRORS[1].text}" in shown
    assert f"line 1,234 {ERRORS[2].text}" in shown
    assert "and 9 more" in shown


def test_a_team_page_shows_every_entry(site: dict[str, str]) -> None:
    """All entries are listed, latest first, with final and preliminary scores; a badge marks the one that counts."""
    found = rows(site["teams/tea-kettle.html"], "entries")
    assert [row[0] for row in found] == ["6", "5", "4", "3", "2", "1"]
    assert [("counts" in row[2]) for row in found] == [True] + [False] * 5
    assert found[0][3] == "0.3127, preliminary 0.3290"


def test_notes_on_the_entry_that_counts_are_flagged() -> None:
    """The status of a scored entry counts its notes; the result of the team links to those on the counting entry."""
    declared = challenge()
    scores = (0.3, 0.2, 0.2, 0.2, 0.2)
    noted = entry("solo", 1, scores, scores, counting=True, findings=ERRORS[:1], more=1)
    row = replace(scored_row("solo", 0.3, 0.3, 5), entry=noted, entries=(noted,))
    page = pages(declared, [board_of(declared.tracks[0], row)])["teams/solo.html"]
    assert rows(page, "entries")[0][2] == "scored, 2 notes counts"
    result = next(each for each in read(page).all("p") if each.attributes.get("class") == "result")
    assert result.words().endswith("There are 2 notes on the entry that counts.")
    assert [each.attributes["href"] for each in result.all("a")] == ["#entry-cold-start-1"]
    assert ERRORS[0].text in [item.words() for item in read(page).all("li")]


def test_notes_on_other_entries_do_not_change_the_result(site: dict[str, str]) -> None:
    """A note on an earlier entry is in its status only."""
    page = site["teams/tea-kettle.html"]
    assert rows(page, "entries")[-1][2] == "scored, 1 note"
    assert "on the entry that counts" not in page


def with_entries(row: Row, *statuses: Status) -> Row:
    """The row with a later entry of each status."""
    blank = (None,) * 5
    later = (entry(row.team.name, number, blank, blank, status=each) for number, each in enumerate(statuses, 2))
    return replace(row, entries=(*reversed(tuple(later)), *row.entries))


@pytest.mark.parametrize("status", ["pending", "failed"])
def test_entries_without_a_result_are_shown_alike(status: Status) -> None:
    """Pages say that an entry is not scored yet, whether it was tried or not, and the board counts such entries."""
    declared = challenge()
    row = with_entries(scored_row("solo", 0.3, 0.3, 5), status)
    site = pages(declared, [board_of(declared.tracks[0], row)])
    page = site["teams/solo.html"]
    assert [cells[2] for cells in rows(page, "entries")] == ["not scored yet", "scored, 1 note counts"]
    assert "The team need not do anything." in page
    assert "failed" not in page
    assert "1 not scored yet" in site["cold-start/index.html"]
    assert row_of(site["cold-start/index.html"], "solo")[-2] == "2"


def test_an_entry_without_a_possible_time_is_explained() -> None:
    """Its status and a sentence say that the organisers must confirm the time; the board ignores that time."""
    declared = challenge()
    row = scored_row("solo", 0.3, 0.3, 5)
    far = replace(
        entry("solo", 2, (0.9,) * 5, (0.9,) * 5, status="misdated"), received=datetime(9999, 12, 31, tzinfo=UTC)
    )
    site = pages(declared, [board_of(declared.tracks[0], replace(row, entries=(far, *row.entries)))])
    page, table = site["teams/solo.html"], site["cold-start/index.html"]
    assert rows(page, "entries")[0][2] == "time not confirmed"
    assert "The organisers must confirm the time of receipt" in page
    assert "timeline" not in page
    assert "1 whose time of receipt is not confirmed" in table
    assert row_of(table, "solo")[-2:] == ["2", utc_time(row.entries[0].received)]
    alone = replace(row, entry=None, entries=(far,))
    table = pages(declared, [board_of(declared.tracks[0], alone)])["cold-start/index.html"]
    assert row_of(table, "solo")[-2:] == ["1", "–"]


def test_findings_of_an_entry_that_has_no_scores_are_errors() -> None:
    """A rejected entry that was withdrawn has errors, not notes."""
    declared = challenge()
    blank = (None,) * 5
    gone = entry("solo", 2, blank, blank, status="withdrawn", findings=ERRORS)
    row = scored_row("solo", 0.3, 0.3, 5)
    page = pages(declared, [board_of(declared.tracks[0], replace(row, entries=(gone, *row.entries)))])[
        "teams/solo.html"
    ]
    assert rows(page, "entries")[0][2] == "withdrawn, 3 errors"
    assert next(read(page).all("h3")).words().startswith("Errors in entry 2")


# Pages of a team with many entries


def many_entries(count: int, counting: int, columns: int) -> Row:
    """The row of a team with this many scored entries; `counting` is the number of the one that counts."""
    sent = tuple(
        entry(
            "solo",
            number,
            (number / 10_000,) * columns,
            (0.1,) * columns,
            counting=number == counting,
            findings=ERRORS[:1] if number == counting else (),
        )
        for number in range(count, 0, -1)
    )
    return Row(None, None, team("solo"), False, sent[count - counting], sent)


@pytest.fixture(scope="module")
def long() -> dict[str, str]:
    """The site of a team with 120 entries in one track, the third of which counts, and 51 in another."""
    declared = challenge()
    first, second = declared.tracks
    return pages(
        declared,
        [
            board_of(first, many_entries(120, 3, 5), scored_row("short", 0.3, 0.3, 5)),
            board_of(second, without_final(many_entries(51, 51, 2))),
        ],
    )


SOLO = ("teams/solo.html", "teams/solo.2.html", "teams/solo.3.html")


def test_the_entries_of_a_team_are_on_several_pages(long: dict[str, str]) -> None:
    """Each page has at most 50 entries of each track, the latest first; every entry is on one page."""
    assert [path for path in sorted(long) if path.startswith("teams/solo")] == sorted(SOLO)
    numbers = [[row.words() for row in read(long[path]).all("caption")] for path in SOLO]
    assert [[re.sub(r"[;,].*", "", words) for words in page] for page in numbers] == [
        ["Entries 71 to 120 of 120", "Entries 2 to 51 of 51"],
        ["Entries 21 to 70 of 120", "Entries 1 to 1 of 51"],
        ["Entries 1 to 20 of 120"],
    ]
    found = [
        (table.attributes["aria-labelledby"], int(next(row.all("td")).words()))
        for path in SOLO
        for table in read(long[path]).all("div")
        if "aria-labelledby" in table.attributes
        for body in table.all("tbody")
        for row in body.all("tr")
    ]
    assert sorted(found) == sorted(
        [("entries-cold-start", number) for number in range(1, 121)]
        + [("entries-pooled-sequences", number) for number in range(1, 52)]
    )


def test_the_pages_of_a_team_are_linked(long: dict[str, str]) -> None:
    """Each page names its number and links to its neighbours; every link has a target, and ids are unique."""
    test_every_link_has_a_target(long)
    test_ids_are_unique(long)
    test_every_page_is_well_formed(long)
    bars = [
        next(each for each in read(long[path]).all("nav") if each.attributes.get("class") == "pages") for path in SOLO
    ]
    assert [bar.words() for bar in bars] == [
        "Page 1 of 3 Older entries",
        "Newer entries Page 2 of 3 Older entries",
        "Newer entries Page 3 of 3",
    ]
    assert [[link.attributes["href"] for link in bar.all("a")] for bar in bars] == [
        ["solo.2.html"],
        ["solo.html", "solo.3.html"],
        ["solo.2.html"],
    ]
    assert 'class="pages"' not in long["teams/short.html"]


def test_the_first_page_has_the_result_and_the_chart(long: dict[str, str]) -> None:
    """Other pages have entries only. The result links to the entry that counts on its page."""
    shown = [
        [each.words() for each in read(long[path]).all("p") if each.attributes.get("class") == "result"]
        for path in SOLO
    ]
    assert [len(page) for page in shown] == [2, 0, 0]
    assert "Rank 2" in shown[0][0]
    assert "The entry that counts is entry 3." in shown[0][0]
    assert 'href="solo.3.html#counts-cold-start"' in long[SOLO[0]]
    assert 'href="solo.3.html#entry-cold-start-3"' in long[SOLO[0]]
    assert [long[path].count("<figure>") for path in SOLO] == [2, 0, 0]


def test_a_chart_has_the_latest_entries_and_the_one_that_counts(long: dict[str, str]) -> None:
    """A long chart is bounded, and its caption says what it shows."""
    figure = next(read(long[SOLO[0]]).all("figure"))
    assert len(list(figure.all("circle"))) == 101
    assert [dot.words() for dot in figure.all("circle") if "class" in dot.attributes] == ["Entry 3: 0.0003"]
    assert "of each of the latest 100 scored entries and of the one that counts." in figure.words()


def test_the_size_of_a_page_is_bounded() -> None:
    """A thousand rejected entries with the most and the longest errors give 20 pages of similar size."""
    declared = challenge()
    blank = (None,) * 5
    errors = tuple(Problem(line, "<" * 1000) for line in range(1, MOST_SHOWN + 1))
    sent = tuple(
        entry("solo", number, blank, blank, status="rejected", findings=errors, more=9) for number in range(1000, 0, -1)
    )
    site = pages(declared, [board_of(declared.tracks[0], Row(None, None, team("solo"), False, None, sent))])
    sizes = [len(text.encode()) for path, text in site.items() if path.startswith("teams/")]
    assert len(sizes) == 20
    assert max(sizes) < 50 * MOST_SHOWN * (len("&lt;") * LONGEST + 100)


@pytest.mark.parametrize("name", ["main", "board", "a-1"])
def test_the_name_of_a_track_is_no_id(name: str) -> None:
    """A track may be called like an id of the layout, or like another track with a number."""
    declared = challenge(name=name)
    first = declared.tracks[0]
    second = first.model_copy(update={"name": "a", "title": "Second"})
    both = declared.model_copy(update={"tracks": (first, second)})
    site = pages(both, [board(track) for track in both.tracks])
    test_ids_are_unique(site)
    test_every_link_has_a_target(site)


def test_a_preliminary_board_shows_no_final_score(site: dict[str, str]) -> None:
    """While the stage is preliminary, the table has one score, no change of rank, and does not mention final scores."""
    page = site["pooled-sequences/index.html"]
    assert "Change" not in page
    assert "final" not in next(read(page).all("table")).text.lower()
    assert row_of(page, "tea-kettle")[2] == "0.3127"


def test_negative_zero_is_zero() -> None:
    """A negative score that rounds to zero is printed without a sign."""
    declared = challenge()
    one = board_of(declared.tracks[0], scored_row("solo", -0.0, -0.0, 5))
    assert row_of(pages(declared, [one])["cold-start/index.html"], "solo")[2] == "0.0000"


def test_a_challenge_without_submissions_has_pages() -> None:
    """The pages say that there are no submissions yet."""
    declared = challenge()
    empty = [Board(track, tuple(map(str, track.all_measures)), (), 0, 0, 0, None) for track in declared.tracks]
    site = pages(declared, empty)
    assert "No scored entries yet." in site["index.html"]
    assert "No submissions yet." in site["cold-start/index.html"]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_measure_is_explained(kind: Kind) -> None:
    """The page of measures has the title, the formula, the edge cases and the source of every kind."""
    name = kind.name + {"none": "", "optional": "", "required": "@10", "list": "@5,10", "level": "@0.1"}[kind.cutoff]
    declared = challenge(measures=[name])
    page = read(pages(declared, [board(declared.tracks[0])])["measures.html"]).words()
    for text in (kind.title, kind.summary, kind.formula, kind.edge_cases, kind.source):
        assert " ".join(text.split()) in page


def test_no_two_measures_share_an_anchor() -> None:
    """Different measures have different anchors on the page of measures, also if their names look alike."""
    declared = challenge(measures=["AP(rel=1.5)", "AP(rel=1)@5", "P@10", "Rp@10"])
    track: Track = declared.tracks[0]
    page = read(pages(declared, [board(track)])["measures.html"])
    ids = [each.attributes["id"] for each in page.all("li") if "id" in each.attributes]
    assert len(ids) == len(set(ids)) == len(track.all_measures)


def test_a_thousand_teams_fit_in_a_megabyte() -> None:
    """The board of 1,000 teams and ten measures stays under 1 MB."""
    measures = ["nDCG@10", "AP", "P@10", "RR", "R@10", "P@5", "nDCG@5", "R@5", "Rprec"]
    declared = challenge(measures=measures)
    track = declared.tracks[0]
    scores = tuple(0.1234 for _ in track.all_measures)
    row = scored_row("a", 0.1, 0.1, 1)
    full = replace(row.entries[0], final=scores, preliminary=scores)
    many = tuple(
        replace(row, rank=1, team=team(f"team-with-a-name-{n}"), entry=full, entries=(full,)) for n in range(1000)
    )
    page = pages(declared, [replace(board(track), rows=many)])["cold-start/index.html"]
    assert page.count("<tr") == 1001
    assert len(page.encode()) < 1_000_000


# Templates of the organiser


def test_the_shipped_templates_are_found() -> None:
    """The folder of shipped templates holds every template and asset."""
    names = {path.name for path in shipped_templates().iterdir()}
    assert {*ASSETS, "layout.html", "index.html", "board.html", "team.html", "measures.html"} <= names


def own(folder: Path, name: str, content: bytes) -> Callable[[], dict[str, str]]:
    """A function that renders a challenge with this file in its folder of templates."""
    (folder / "templates").mkdir()
    (folder / "templates" / name).write_bytes(content)
    declared = challenge(folder)
    return lambda: pages(declared, [board(track) for track in declared.tracks])


def test_an_organisers_template_comes_first(tmp_path: Path) -> None:
    """A template next to challenge.toml replaces the shipped one of the same name, and may extend the others."""
    render = own(tmp_path, "measures.html", b'{% extends "layout.html" %}{% block main %}<h1>Ours</h1>{% endblock %}')
    site = render()
    assert "<h1>Ours</h1>" in site["measures.html"]
    assert "<h1>Cold start</h1>" in site["cold-start/index.html"]


def test_an_organisers_style_sheet_comes_first(tmp_path: Path) -> None:
    """A style sheet replaces the shipped one, and is copied without rendering."""
    assert own(tmp_path, "style.css", b"p { color: {{ red }} }")()["style.css"] == "p { color: {{ red }} }"


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


def points(*scores: float, label: str = "") -> list[Point]:
    """One score a month; the first one is marked."""
    return [Point(START.replace(month=4 + n), score, label, n == 0) for n, score in enumerate(scores)]


def test_a_timeline_has_a_description() -> None:
    """The description gives the first, the best and the last score; the marked point has a class."""
    drawing = ET.fromstring(timeline(points(0.1, 0.3, 0.2), "Score over time", 2).text)
    assert drawing.findtext("title") == "Score over time"
    assert drawing.findtext("desc") == "First 0.10 on 2011-04-18, best 0.30 on 2011-05-18, last 0.20 on 2011-06-18."
    assert [dot.get("class") for dot in drawing.iter("circle")] == ["marked", None, None]


def test_a_timeline_rises_with_the_score() -> None:
    """Higher scores are drawn higher and later scores further right, in any order of the points."""
    drawing = ET.fromstring(timeline(points(0.1, 0.3, 0.2)[::-1], "", 2).text)
    across, down = ([float(dot.get(axis, "")) for dot in drawing.iter("circle")] for axis in ("cx", "cy"))
    assert across == sorted(across)
    assert down[1] < down[2] < down[0]


def test_a_timeline_of_equal_scores_is_level() -> None:
    """Equal scores are drawn at one height."""
    drawing = ET.fromstring(timeline(points(0.2, 0.2), "", 2).text)
    assert len({dot.get("cy") for dot in drawing.iter("circle")}) == 1


def test_text_in_a_chart_is_escaped() -> None:
    """Labels and titles add no elements."""
    drawing = ET.fromstring(timeline(points(0.1, label="</svg><script>"), "<b>", 2).text)
    assert drawing.find(".//script") is None
    assert drawing.findtext("title") == "<b>"


# Colours


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb, as WCAG 2.2 defines it."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, as WCAG 2.2 defines it."""
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_has_contrast(site: dict[str, str], scheme: int) -> None:
    """Text has a contrast of at least 4.5:1 on every background, and bars have 3:1, in both colour schemes."""
    block = re.findall(r":root \{(.*?)\}", site["style.css"], re.DOTALL)[scheme]
    colours = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", block))
    for background in ("paper", "raised", "mark"):
        for text in ("ink", "soft", "accent", "up", "down"):
            assert contrast(colours[text], colours[background]) >= 4.5, (text, background)
    assert contrast(colours["bar"], colours["paper"]) >= 3


# In a browser

in_browser = [pytest.mark.browser, pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine")]


@pytest.fixture(scope="module")
def address(site: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of the site, written to a folder."""
    folder = tmp_path_factory.mktemp("site")
    write(site, folder, 1)
    return folder.as_uri()


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """One browser for all tests of this module."""
    with browser(tmp_path_factory.mktemp("profile")) as page:
        yield page


SHOWN = "[...document.querySelectorAll('#board tbody tr')].filter(row => !row.hidden)"
RANKS = f"{SHOWN}.map(row => row.cells[0].textContent)"


def column(number: int) -> str:
    """A JavaScript expression for the text of each shown cell of a column."""
    return f"{SHOWN}.map(row => row.cells[{number}].textContent.trim())"


class TestInBrowser:
    """Pages opened from disk in Chromium."""

    pytestmark = in_browser

    def test_pages_open_without_errors_or_network(self, tab: Page, address: str, site: dict[str, str]) -> None:
        """No errors, no violations of the content policy, requests for files of the site only, styles apply."""
        for path in ("index.html", "cold-start/index.html", "teams/tea-kettle.html", "measures.html"):
            tab.open(f"{address}/{path}")
            assert tab.errors == []
            assert {request.removeprefix(f"{address}/") for request in tab.requests} <= set(site)
            assert tab.ask("getComputedStyle(document.body).backgroundColor") == "rgb(252, 251, 248)"

    def test_the_url_sorts(self, tab: Page, address: str) -> None:
        """The fragment of the URL sets the order; blanks come last in both directions."""
        tab.open(f"{address}/cold-start/index.html#sort=nDCG%4010&order=ascending")
        up = tab.ask(column(5))
        tab.open(f"{address}/cold-start/index.html#sort=nDCG%4010")
        down = tab.ask(column(5))
        assert up[-2:] == down[-2:] == ["–", "–"]
        assert [float(text) for text in up[:-2]] == sorted(float(text) for text in up[:-2])
        assert down[:-2] == up[:-2][::-1]
        assert tab.errors == []

    def test_the_url_filters(self, tab: Page, address: str) -> None:
        """Rows are filtered by part of a name, in any case, and by baseline; their ranks stay."""
        tab.open(f"{address}/cold-start/index.html#team=ER")
        assert tab.ask(column(1)) == tab.ask(f"{column(1)}.filter(name => /er/i.test(name))")
        tab.open(f"{address}/cold-start/index.html#team=LANTERNS")
        assert tab.ask(RANKS) == ["6"]
        tab.open(f"{address}/cold-start/index.html#baselines=no")
        assert len(tab.ask(RANKS)) == 14
        assert "14 of 16" in tab.ask("document.getElementById('status').textContent")

    def test_a_second_click_reverses_the_order(self, tab: Page, address: str) -> None:
        """The heading and the URL give the order; equal values stay in the order of the ranking."""
        tab.open(f"{address}/cold-start/index.html")
        ranked = tab.ask(column(1))
        head = "document.querySelector('th[data-key=entries]')"
        tab.ask(f"{head}.querySelector('button').click()")
        assert tab.ask(f"{head}.getAttribute('aria-sort')") == "descending"
        assert tab.ask("document.querySelectorAll('[aria-sort]').length") == 1
        assert tab.ask("location.hash") == "#sort=entries"
        first = tab.ask(column(1))
        tab.ask(f"{head}.querySelector('button').click()")
        second = tab.ask(column(1))
        single = [name for name in ranked if name in second[: len(ranked) - 5]]
        assert first[0].startswith("Slow Lanterns")
        assert second[: len(single)] == single
        tab.ask("document.querySelector('#controls button').click()")
        assert tab.ask(column(1)) == ranked
        assert tab.ask("location.hash") == ""

    def test_headings_sort_by_value(self, tab: Page, address: str) -> None:
        """Ranks and changes sort as numbers, times as times."""
        for key, wanted in (
            ("rank", ["1", "2", "=3", "=3"]),
            ("change", ["2", "1", "0", "0"]),
            ("last", ["2011-07-19 01:28", "2011-05-29 17:12", "2011-05-16 07:33", "2011-05-08 14:07"]),
        ):
            tab.open(f"{address}/cold-start/index.html#sort={key}")
            cell = f"row.cells[document.querySelector('th[data-key={key}]').cellIndex]"
            text = f"({cell}.querySelector('data')?.value ?? {cell}.textContent.trim())"
            assert tab.ask(f"{SHOWN}.map(row => {text})")[:4] == wanted

    def test_typing_filters(self, tab: Page, address: str) -> None:
        """Typing into the search field filters the rows and changes the URL."""
        tab.open(f"{address}/cold-start/index.html")
        tab.ask("document.querySelector('#controls [type=search]').focus()")
        tab.send("Input.insertText", text="paper")
        assert tab.ask(RANKS) == ["=3"]
        assert tab.ask("location.hash") == "#team=paper"

    def test_the_board_works_without_scripts(self, tab: Page, address: str) -> None:
        """Every row is shown, headings link to the measures, and no control is visible."""
        tab.open(f"{address}/cold-start/index.html", scripts=False)
        visible = "[...document.querySelectorAll('button, input')].filter(each => each.checkVisibility())"
        assert tab.ask(f"{visible}.length") == 0
        assert len(tab.ask(RANKS)) == 16
        assert tab.ask("document.querySelectorAll('thead a').length") == 6

    @pytest.mark.parametrize("width", [320, 390, 600, 760, 1000, 1024, 1248, 1280, 1472, 1900])
    def test_no_page_scrolls_sideways(self, tab: Page, address: str, width: int) -> None:
        """No page is wider than the window; a wide table scrolls in its own box."""
        for path in ("index.html", "cold-start/index.html", "pooled-sequences/index.html", "measures.html"):
            tab.open(f"{address}/{path}", width=width)
            assert tab.ask("document.documentElement.scrollWidth") <= width, path
        for name in ("tea-kettle", HOSTILE[5], HOSTILE[1]):
            tab.open(f"{address}/teams/{team(name).slug}.html", width=width)
            assert tab.ask("document.documentElement.scrollWidth") <= width, name

    @pytest.mark.parametrize("width", [320, 760, 1280])
    def test_long_pages_and_names_fit(self, tab: Page, long: dict[str, str], tmp_path: Path, width: int) -> None:
        """The pages of a team with many entries and of one whose name is 255 escaped bytes do not scroll sideways."""
        declared = challenge()
        name = Team(printable_name("\udcff" * 255), "escaped")
        row = scored_row("solo", 0.3, 0.3, 5, entries=2)
        named = tuple(replace(each, file=f"cold-start/{name.name}/{name.name}.txt") for each in row.entries)
        row = replace(row, team=name, entry=named[0], entries=named)
        write(pages(declared, [board_of(track, row) for track in declared.tracks[:1]]), tmp_path / "escaped", 1)
        write(long, tmp_path / "long", 1)
        for path in ("index.html", "cold-start/index.html", "teams/escaped.html"):
            tab.open(f"{(tmp_path / 'escaped').as_uri()}/{path}", width=width)
            assert tab.ask("document.documentElement.scrollWidth") <= width, path
        for path in SOLO:
            tab.open(f"{(tmp_path / 'long').as_uri()}/{path}", width=width)
            assert tab.errors == []
            assert tab.ask("document.documentElement.scrollWidth") <= width, path

    def test_on_a_phone_the_other_scores_unfold(self, tab: Page, address: str) -> None:
        """Rank, team and primary score are shown; the other columns unfold, also without scripts."""
        tab.open(f"{address}/cold-start/index.html", width=390, scripts=False)
        shown = "[...document.querySelector('#team-tea-kettle').cells].filter(each => each.checkVisibility()).length"
        assert tab.ask(shown) == 3
        tab.ask("document.querySelector('#team-tea-kettle details').open = true")
        assert tab.ask(shown) == 11

    def test_a_row_can_be_linked(self, tab: Page, address: str) -> None:
        """The anchor of a team highlights its row and does not change the order."""
        tab.open(f"{address}/cold-start/index.html#team-kingfisher")
        assert tab.ask("document.querySelector('tr:target').cells[0].textContent") == "11"
        assert tab.ask(RANKS)[0] == "1"
        assert tab.ask("scrollY") > 0

    def test_pages_follow_the_colour_scheme(self, tab: Page, address: str) -> None:
        """The background is dark where the system prefers a dark scheme."""
        tab.open(f"{address}/index.html", dark=True)
        assert tab.ask("getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"
