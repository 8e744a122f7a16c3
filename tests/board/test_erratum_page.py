"""The pages of errata: what changed, the boards before and after, and nothing that is secret."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scorer.live.errata import ChangedFile, PublishedErratum, Scale
from scorer.live.rules import SaltedDigest, value_text
from scorer.organising.teams import merge, rename
from tests.boards import HOSTILE, board, challenge, digest, erratum, timeline
from tests.live_challenges import BEFORE, CORRECTED, GOOD, OTHER, PHASES, POOR, SOLUTION, Live, day
from tests.pages import pages, read

PAGE = "main/errata/1.html"


def site(*errata: PublishedErratum) -> dict[str, str]:
    """The files of a site with errata of the first track."""
    declared = challenge()
    return pages(declared, [board(track) for track in declared.tracks], timeline=timeline(*errata))


def table(page: str, name: str) -> list[list[str]]:
    """The words of the cells of the body of a table with this class."""
    found = read(page).of_class(name)
    (body,) = found.all("tbody")
    return [[cell.words() for cell in row.children] for row in body.children]


@pytest.fixture
def live(tmp_path: Path) -> Live:
    """A challenge with an erratum that was applied on 12 January."""
    return corrected(Live.graded(tmp_path / "live"))


def corrected(live: Live, number: int = 12) -> Live:
    """The challenge with three teams and an erratum that was applied on this day of January."""
    live.run(BEFORE)
    for hour, (team, lists) in enumerate((("amber", GOOD), ("birch", OTHER), ("cedar", POOR))):
        live.put(f"{team}/1.txt", lists, day(10, hour))
    live.run(day(number, 1))
    live.write_solution(CORRECTED)
    live.preview(day(number, 2))
    live.apply(day(number), "two grades were <b>swapped</b>\n in q1\x07")
    return live


def test_the_tables_have_every_team_and_what_changed() -> None:
    """In the order after the erratum; shared ranks and rows that changed are marked. Of a file, the salted digests."""
    page = site(erratum())["cold-start/errata/1.html"]

    assert table(page, "erratum") == [
        ["•changed", "=1", "=2", "▲ up 1", "tea-kettle", "0.3127", "0.3004", "+0.0123"],
        ["•changed", "=1", "=2", "▲ up 1", HOSTILE[0], "0.3127", "0.3004", "+0.0123"],
        ["•changed", "3", "1", "▼ down 2", "north-window", "0.3004", "0.3127", "−0.0123"],
        ["", "–", "–", "–", "most popular baseline", "0.1215", "0.1215", "0.0000"],
        ["", "–", "–", "–", "quiet-harbour", "–", "–", "–"],
    ]
    assert table(page, "changed") == [
        ["list_length", "30", "20"],
        ["solution (salted digest)", digest("before"), digest("after")],
    ]


def test_other_measures_and_files_have_no_difference() -> None:
    """The columns name the measures, each with its decimals; a list of items may have been added."""
    shown = erratum()
    changes = replace(shown.changes, before=Scale("AP", 2, "preliminary"))
    files = (ChangedFile("items", None, SaltedDigest(digest("items"))),)
    page = site(replace(shown, changes=changes, files=files))["cold-start/errata/1.html"]

    assert [row[5:] for row in table(page, "erratum")[:1]] == [["0.3127", "0.30", "–"]]
    assert "AP before" in page
    assert table(page, "changed")[1] == ["items (salted digest)", "none", digest("items")]


def test_hostile_texts_are_text() -> None:
    """In reasons and in values of rules."""
    errata = [erratum(number=number, reason=text) for number, text in enumerate([*HOSTILE, "]]></script>"], start=1)]
    files = site(
        *(replace(shown, rules=(replace(shown.rules[0], before=shown.reason, after=shown.reason),)) for shown in errata)
    )

    for path in (*(shown.path for shown in errata), "cold-start/errata.html", "timeline.html"):
        elements = list(read(files[path]).all())
        assert [each.attributes for each in elements if each.tag == "script" and "src" not in each.attributes] == []
        assert "img" not in {each.tag for each in elements}, path


def test_the_board_links_the_last_erratum_and_the_list() -> None:
    """The list has the latest first. Other tracks have none."""
    files = site(erratum(), erratum(number=2, reason="Again."))
    link = read(files["cold-start/index.html"]).of_class("errata")
    rows = table(files["cold-start/errata.html"], "timeline")

    assert link.words().startswith("Erratum 2")
    assert [each.attributes["href"] for each in link.all("a")] == ["errata/2.html", "errata.html"]
    assert [row[1] for row in rows] == ["Erratum 2", "Erratum 1"]
    assert rows[0][2] == ("Again. Changed: list_length, solution. Of 4 teams, 3 have another score and 3 another rank.")
    assert "pooled-sequences/errata.html" not in files
    assert "Erratum" not in files["pooled-sequences/index.html"]


def test_teams_link_to_pages_that_exist() -> None:
    """A team may have withdrawn all its files since."""
    shown = erratum()
    gone = replace(shown.changes.teams[0].team, slug="gone")
    teams = (replace(shown.changes.teams[0], team=gone), *shown.changes.teams[1:])
    page = read(site(replace(shown, changes=replace(shown.changes, teams=teams)))["cold-start/errata/1.html"])
    links = [each.attributes["href"] for each in page.of_class("erratum").all("a")]

    assert len(links) == len(teams) - 1
    assert "../../teams/north-window.html" in links


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (5, "5"),
        (None, "none"),
        ([], "none"),
        ([1, 5], "1, 5"),
        ("best", "best"),
        ({"per_day": 5, "total": None, "zone": "UTC"}, "per_day 5, zone UTC"),
        ({"preliminary": "0.2", "key_file": "/home/x/split.key", "key_sha256": "ab"}, "preliminary 0.2, key_sha256 ab"),
        (["a\nb\x00"], "a b\\x00"),
    ],
)
def test_values_are_shown_as_people_write_them(value: object, text: str) -> None:
    """Paths of the organiser's machine are left out."""
    assert value_text(value) == text


# From the record


def test_the_page_of_an_applied_erratum(live: Live) -> None:
    """It has the reason on one line, the salted digests, and the boards at that time, also after the end."""
    live.render(day(13))
    page = live.page(PAGE)

    digests = [digest(text) for text in (SOLUTION, CORRECTED)]
    salted = live.do(day(13), lambda _, store: store.read(lambda view: list(map(view.salted_digest, digests))))
    assert read(page).of_class("reason").words() == "two grades were <b>swapped</b> in q1\\x07"
    assert table(page, "changed") == [["solution (salted digest)", *salted]]
    assert not any(each in page for each in digests)
    assert [row[4] for row in table(page, "erratum")] == ["birch", "amber", "cedar"]
    assert [row[:4] for row in table(page, "erratum")] == [
        ["•changed", "1", "2", "▲ up 1"],
        ["•changed", "2", "1", "▼ down 1"],
        ["", "3", "3", "same·"],
    ]

    before = {path: live.page(path) for path in (PAGE, "main/errata.html", "timeline.html", "feed.xml")}
    live.render(day(14))

    assert {path: live.page(path) for path in before} == before

    live.run(day(31))
    live.render(day(31))

    assert "Final scores." in live.page("main/index.html")
    assert table(live.page(PAGE), "erratum") == table(page, "erratum")


def test_a_revealed_solution_reveals_both_digests(tmp_path: Path) -> None:
    """With the salt, everybody can compute the salted digests."""
    live = corrected(Live.graded(tmp_path / "live", rules="reveal_solution = true\n"))
    live.render(day(13))
    page = live.page(PAGE)

    assert all(digest(text) in page for text in (SOLUTION, CORRECTED))
    assert "Salt:" in page


def test_a_frozen_board_shows_no_later_erratum(tmp_path: Path) -> None:
    """Not before the freeze is over; an earlier one stays."""
    live = corrected(Live.graded(tmp_path / "live"))
    live.write_solution(SOLUTION)
    live.preview(day(19, 1))
    live.apply(day(19, 2), "the first solution was right")
    live.render(day(19, 3))
    assert live.has_page(PAGE)
    assert not live.has_page("main/errata/2.html")
    for path in (PAGE, "main/errata.html", "main/index.html", "timeline.html", "feed.xml", "index.html"):
        assert "was right" not in live.page(path)
        assert "Erratum 2" not in live.page(path)

    live.render(day(20, 1))
    assert "the first solution was right" in live.page("main/errata/2.html")


def test_an_erratum_after_the_end_compares_final_scores(tmp_path: Path) -> None:
    """Both were public."""
    live = corrected(Live.graded(tmp_path / "live"), 31)
    live.render(day(31, 13))

    assert "All teams by final nDCG@3" in live.page(PAGE)


def test_a_board_without_scores_has_a_page_without_tables_of_teams(tmp_path: Path) -> None:
    """Its phase shows nothing; the page says so, also later."""
    live = corrected(Live.graded(tmp_path / "live", phases=PHASES.replace('freeze = "24h"', 'shows = "nothing"')))
    for moment in (day(13), day(26)):
        live.render(moment)
        page = live.page(PAGE)
        assert "The board showed no scores at that time" in page
        assert 'class="erratum"' not in page


def test_teams_have_their_present_names(live: Live) -> None:
    """Also those that were merged since, which link to their own pages."""
    live.do(day(13), lambda declared, store: rename(declared, store, "amber", "Ámber"))
    live.do(day(13), lambda declared, store: merge(declared, store, "cedar", "amber", "one group"))
    live.render(day(14))

    assert [row[4] for row in table(live.page(PAGE), "erratum")] == ["birch", "Ámber", "cedar"]
