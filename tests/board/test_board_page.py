"""The page of a board and the front page: what they show, and how they behave in a browser."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scorer.board.board import Board
from scorer.board.site.folder import write
from scorer.board.site.views import LEADING_TEAMS, board_view, measure_columns
from scorer.wording import long_time
from tests.accessibility import has_axe, violations
from tests.board_certainty import with_certainty
from tests.boards import HOSTILE, baseline_row, board, board_of, challenge, rejected_row, scored_row, team
from tests.browser import IN_BROWSER, Page
from tests.pages import board_row, board_rows, pages, read

BOARD = "cold-start/index.html"


def page_of(*boards: Board) -> str:
    """The page of the first board."""
    declared = challenge()
    return pages(declared.model_copy(update={"tracks": tuple(one.track for one in boards)}), boards)[BOARD]


# What the table shows


def test_ranks_are_marked_and_ignore_baselines(site: dict[str, str]) -> None:
    """Equal scores show one rank with a sign; a baseline has a badge, no rank, and no part in changes."""
    table = board_rows(site[BOARD])
    ranks = [row["rank"] for row in table]
    assert ranks[:6] == ["1", "2", "=3", "=3", "5", "6"]
    index = next(index for index, row in enumerate(table) if "most popular" in row["team"])
    assert ranks[index - 1 : index + 2] == ["8", "–", "9"]
    assert table[index]["team"] == "most popular baseline"
    changes = {row["rank"]: row["change"] for row in table}
    assert changes["6"] == "▼ down 1"
    assert changes["11"].startswith("same")


def test_a_row_shows_its_tier_and_the_ranks_that_it_may_have(site: dict[str, str]) -> None:
    """Every row of a team with a rank has them, as the statistics of the board have them."""
    one = board(challenge().tracks[0])
    for row, shown in zip(one.rows, board_rows(site[BOARD]), strict=True):
        certainty = row.certainty[0] if row.certainty else None
        if certainty is None or certainty.rank_range is None or certainty.tier is None:
            assert (shown["tier"], shown["range"]) == ("", "")
            continue
        first, last = certainty.rank_range
        assert shown["range"] == (f"{first} only" if first == last else f"{first} to {last}")
        assert shown["tier"] == "ABCDEFGHIJKL"[certainty.tier]


def test_a_row_shows_its_scores(site: dict[str, str]) -> None:
    """Score, interval, measures, preliminary score, change of rank and last entry; or why it has none."""
    row, empty = (board_row(site[BOARD], name) for name in ("north-window", "quiet-harbour"))
    certainty = next(row for row in board(challenge().tracks[0]).rows if row.team.name == "north-window").certainty[0]
    assert certainty is not None
    assert certainty.interval is not None
    low, high = certainty.interval
    assert row["interval"] == f"{low:.3f} to {high:.3f}"
    assert (row["score"], row["nDCG@10"]) == ("0.3004", "0.4206")
    assert (row["preliminary"], row["before"], row["change"]) == ("0.2751", "4", "▲ up 2")
    assert (row["entries"], row["last"]) == ("4", "8 May")
    assert empty["strip"] == "Nothing scored. The file of 26 Apr, 08:28 was rejected: 12 errors. See why"
    assert empty["last"] == "26 Apr"
    one = board_of(challenge().tracks[0], scored_row("solo", -0.0, -0.0, 5))
    assert board_row(page_of(one), "solo")["score"] == "0.0000"


@pytest.mark.parametrize(
    ("equal_ranks", "changes", "before"),
    [("shared", ["same·", "▼ down 1"], ["=1", "=1"]), ("earlier", ["▲ up 1", "▼ down 1"], ["2", "1"])],
)
def test_equal_preliminary_scores_follow_the_rule_of_the_track(
    equal_ranks: str, changes: list[str], before: list[str]
) -> None:
    """Equal preliminary scores share a rank, or the earlier entry ranks higher."""
    declared = challenge(equal_ranks=equal_ranks)
    two = (scored_row("later-team", 0.3, 0.2, 5, entries=2), scored_row("early", 0.2, 0.2, 5))
    shown = board_rows(page_of(board_of(declared.tracks[0], *two)))
    assert [row["change"] for row in shown] == changes
    assert [row["before"] for row in shown] == before


def test_a_preliminary_board_shows_no_final_score(site: dict[str, str]) -> None:
    """While the stage is preliminary, the table has one score, no change of rank, and does not mention final scores."""
    page = site["pooled-sequences/index.html"]
    assert "final" not in next(read(page).all("table")).text.lower()
    row = board_row(page, "tea-kettle")
    assert row["score"] == "0.3127"
    assert not {"change", "before", "preliminary"} & set(row)
    assert "by preliminary scores" in next(each.words() for each in read(page).all("p") if "caption" in each.classes())


def test_marks_are_attributes(site: dict[str, str]) -> None:
    """The content policy allows no inline style; positions are those of the view. Each picture has a text."""
    view = board_view(one := board(challenge().tracks[0]), measure_columns([one]))
    rows = {row.attributes.get("id"): row for row in read(site[BOARD]).all("tr")}
    for each in view.rows:
        marks = {tuple(mark.classes()): mark.attributes for mark in rows[f"team-{each.row.team.slug}"].all()}
        if each.strip is None:
            assert ("mean",) not in marks
            continue
        assert marks["mean",]["cx"] == each.strip.mean
        assert each.strip.interval is not None
        assert (marks["interval",]["x"], marks["interval",]["width"]) == each.strip.interval
        assert marks["tick",]["x"] == each.strip.preliminary
        if each.strip.band:
            assert (marks["band",]["x"], marks["band",]["width"]) == (each.strip.band.x, each.strip.band.width)
    assert " style=" not in site[BOARD]
    for picture in read(site[BOARD]).all("svg"):
        titled = [child.tag for child in picture.children[:2]] == ["title", "desc"]
        assert titled or picture.attributes.get("aria-label") or picture.attributes.get("aria-hidden") == "true"


def test_the_year_is_in_the_heading_if_all_last_entries_have_it() -> None:
    """Otherwise each date has it."""
    track = challenge().tracks[0]
    early, late = scored_row("early", 0.3, 0.3, 5), scored_row("late", 0.2, 0.2, 5)
    assert "Last entry 2011" in next(read(page_of(board_of(track, early, late))).all("thead")).words()
    moved = replace(late.entries[0], received=late.entries[0].received.replace(year=2012))
    page = page_of(board_of(track, early, replace(late, entry=moved, entries=(moved,))))
    assert "Last entry 2" not in next(read(page).all("thead")).words()
    assert board_row(page, "late")["last"] == moved.received.strftime("%Y-%m-%d")


# What is around the table


def test_the_page_counts_alike_everywhere(site: dict[str, str]) -> None:
    """The numbers of the page are those of the front page."""
    counted = next(each for each in read(site[BOARD]).all("dl") if "counts" in each.classes())
    numbers = [each.words() for each in counted.all("dt")]
    assert numbers == ["14 teams", "35 entries", "500 queries"]
    front = read(site["index.html"]).words()
    assert f"All {numbers[0]}" in front
    assert " · ".join(numbers[1:]) in front
    assert ", ".join(numbers) in read(site[BOARD]).words()


def test_the_page_says_when_the_last_entry_was_received(site: dict[str, str]) -> None:
    """Not when it was recorded, which is the day of the first run if files are older than the database."""
    board = board_of(challenge().tracks[0], rejected_row("a", 5), scored_row("b", 0.5, 0.4, 5))
    last = max(row.last_received for row in board.rows if row.last_received)
    assert f"Final scores. Last entry {long_time(last)}." in read(page_of(board)).words()
    assert "Final scores. Last entry" in read(site[BOARD]).words()
    assert "Last entry" not in read(page_of(board_of(challenge().tracks[0]))).words()


def test_an_empty_board_says_so(site: dict[str, str]) -> None:
    """Without a table, controls, or a number of queries. Only a board with baselines has a box for them."""
    track = challenge().tracks[0]
    empty = Board(track, tuple(map(str, track.all_measures)), (), 0, 0, 0, None)
    page = page_of(empty)
    assert "No submissions yet." in read(page).words()
    assert "0 queries" not in read(page).words()
    assert not {"form"} & {each.tag for each in read(page).all()}
    assert 'id="board"' not in page
    assert 'name="baselines"' in site[BOARD]
    assert 'name="baselines"' not in page_of(board_of(challenge().tracks[0], scored_row("solo", 0.1, 0.1, 5)))


def test_teams_that_are_separable_within_a_tier_are_explained(site: dict[str, str]) -> None:
    """Only where there are any."""
    one = board(challenge().tracks[0])
    first, second, *rest = one.rows
    assert second.certainty[0] is not None
    apart = replace(second, certainty=(replace(second.certainty[0], separable_from_leader=True), *second.certainty[1:]))
    assert "No shade" not in site[BOARD]
    assert "No shade: separable from it" in page_of(replace(one, rows=(first, apart, *rest)))


def test_the_front_page_shows_the_first_tiers(site: dict[str, str]) -> None:
    """Their tier, rank, range and score are those of the board."""
    shown = board_rows(site["index.html"])
    full = [row for row in board_rows(site[BOARD]) if row["tier"]]
    assert [row["team"] for row in shown] == [row["team"] for row in full[: len(shown)]]
    tiers = [row["tier"] for row in shown]
    assert tiers == [row["tier"] for row in full[: len(tiers)]]
    assert len(tiers) >= LEADING_TEAMS or len(tiers) == len(full)
    assert len(tiers) == len(full) or full[len(tiers)]["tier"] != tiers[-1]
    for row, other in zip(shown, full, strict=False):
        assert (row["range"], row["score"]) == (other["range"], other["score"])


# Weight


def many(count: int, marks: int = 20) -> Board:
    """A board of many teams, with statistics that are all different."""
    track = challenge().tracks[0]
    names = [f"{first}-{second}" for first in ("keen", "faint", "early", "tidal", "mossy") for second in range(count)]
    template = board(track).rows[1]
    certainty = template.certainty[0]
    assert certainty is not None
    rows = []
    for number, name in enumerate(names[:count]):
        row = scored_row(
            name, round(0.9 - number / count / 2, 4), round(0.9 - (number * 7 % count) / count / 2, 4), 5, 3
        )
        score = 0.9 - number / count / 2
        own = replace(
            certainty,
            interval=(score - 0.02 - number / 9e4, score + 0.02),
            rank_range=(max(1, number - 9), number + 9),
            tier=number // 20,
            histogram=tuple((number * 31 + 17 * step) % 29 for step in range(marks)),
        )
        rows.append(replace(row, certainty=(own, *template.certainty[1:])))
    one = board_of(track, *rows)
    found = board(track).certainty[0]
    assert found is not None
    groups = tuple(
        replace(found.tiers[0], rows=tuple(range(start, min(start + 20, count)))) for start in range(0, count, 20)
    )
    return replace(one, certainty=(replace(found, tiers=groups), *board(track).certainty[1:]))


def weight(site: dict[str, str]) -> int:
    """The bytes that a visitor of the board loads, compressed as a server does."""
    return sum(len(gzip.compress(site[path].encode(), 6)) for path in (BOARD, "style.css", "board.js"))


@pytest.mark.parametrize("count", [300, pytest.param(2000, marks=pytest.mark.endurance)])
def test_a_long_board_is_small(count: int) -> None:
    """A row has under 30 elements and 1,250 bytes; compressed, page, style sheet and script are within 200 kB."""
    declared = challenge()
    one = many(count)
    site = pages(declared.model_copy(update={"tracks": (one.track,)}), [one])
    assert site[BOARD].count("<tr id=") == count
    assert "histograms, sparklines and lines are left out" in site[BOARD]
    assert sum(1 for _ in next(read(site[BOARD]).of_class("board").all("tbody")).all()) < 30 * count
    assert len(site[BOARD]) < 1250 * count + 50_000
    assert weight(site) < 200_000


def test_the_axis_of_a_long_board_is_near_its_scores() -> None:
    """With more than 100 rows; the notes say so. A shorter one begins at 0."""
    for count, first, says in ((100, "0", False), (101, "0.3", True)):
        one = many(count)
        site = pages(challenge().model_copy(update={"tracks": (one.track,)}), [one])
        axis = read(site[BOARD]).of_class("axis")
        assert next(axis.all("text")).words() == first
        assert ("the axis begins near the lowest score, and not at 0" in site[BOARD]) is says


# In a browser

SHOWN = "[...document.querySelectorAll('#board tbody:not(.first) tr')].filter(row => !row.hidden)"
NAMES = f"{SHOWN}.map(row => row.querySelector('bdi').textContent)"


def column(key: str) -> str:
    """A JavaScript expression for the text of each shown cell of a column."""
    index = f"document.querySelector('th[data-key={json.dumps(key)}]').cellIndex"
    return f"{SHOWN}.map(row => (row.cells[{index}].querySelector('a') ?? row.cells[{index}]).textContent.trim())"


def clicked(selector: str) -> str:
    """A JavaScript expression that clicks an element."""
    return f"document.querySelector({json.dumps(selector)}).click()"


def chosen(selector: str, value: str) -> str:
    """A JavaScript expression that chooses a value as a visitor does."""
    field = f"document.querySelector({json.dumps(selector)})"
    return f"{field}.value = {json.dumps(value)}; {field}.dispatchEvent(new Event('input', {{bubbles: true}}))"


STATUS = "document.getElementById('status').textContent"


class TestControls:
    """The controls of a board, opened from disk."""

    pytestmark = IN_BROWSER

    @pytest.fixture(autouse=True)
    def forget(self, tab: Page, address: str) -> None:
        """No pinned team is left from another test."""
        tab.open(f"{address}/{BOARD}")
        tab.ask("localStorage.clear()")

    @pytest.fixture
    def opened(self, tab: Page, address: str) -> Callable[..., Page]:
        def opened(state: str = "", **options: Any) -> Page:
            tab.open(f"{address}/{BOARD}{state}", **options)
            return tab

        return opened

    def test_the_url_sorts(self, opened: Callable[..., Page]) -> None:
        """The fragment of the URL sets the order; blanks come last in both directions."""
        up = opened("#sort=nDCG%4010&order=ascending").ask(column("nDCG@10"))
        down = opened("#sort=nDCG%4010").ask(column("nDCG@10"))
        assert up[-2:] == down[-2:] == ["", ""]
        assert [float(text) for text in up[:-2]] == sorted(float(text) for text in up[:-2])
        assert down[:-2] == up[:-2][::-1]

    def test_the_url_filters(self, opened: Callable[..., Page]) -> None:
        """Rows are filtered by part of a name, in any case, and by baseline; their ranks stay."""
        tab = opened("#team=ER")
        assert tab.ask(NAMES) == tab.ask(f"{NAMES}.filter(name => /er/i.test(name))")
        assert opened("#team=LANTERNS").ask(column("rank")) == ["6"]
        tab = opened("#baselines=no")
        assert len(tab.ask(NAMES)) == 14
        assert "14 of 16" in tab.ask(STATUS)

    def test_every_column_sorts(self, opened: Callable[..., Page]) -> None:
        """The heading of each column but the strip is a button; a second click reverses the order."""
        tab = opened()
        keys = tab.ask("[...document.querySelectorAll('thead th')].map(head => head.dataset.key)")
        assert len(keys) == 18
        for key in (key for key in keys if key != "strip"):
            orders = []
            for _ in range(2):
                tab.ask(clicked(f"th[data-key='{key}'] button"))
                head = f"document.querySelector('th[data-key={json.dumps(key)}]')"
                orders.append((tab.ask(f"{head}.getAttribute('aria-sort')"), tab.ask(NAMES)))
            assert {order for order, _ in orders} == {"ascending", "descending"}, key
            assert orders[0][1] != orders[1][1], key
            assert tab.ask("document.querySelectorAll('[aria-sort]').length") == 1
        assert tab.errors == []

    def test_headings_sort_by_value(self, opened: Callable[..., Page]) -> None:
        """Ranks, changes and ranges sort as numbers, times as times, tiers in their order."""
        for key, wanted in (
            ("rank", ["1", "2", "=3", "=3"]),
            ("range", ["1 to 4", "1 to 4", "1 to 4", "1 to 4"]),
            ("tier", ["A", "A", "A", "A"]),
            ("change", ["▲ up 2", "▲ up 1", "same·", "same·"]),
            ("last", ["19 Jul", "29 May", "16 May", "8 May"]),
        ):
            assert opened(f"#sort={key}").ask(column(key))[:4] == wanted, key

    def test_equal_values_stay_in_the_order_of_the_ranking(self, opened: Callable[..., Page]) -> None:
        """In both directions; reset restores the ranking and the URL."""
        tab = opened()
        ranked = tab.ask(NAMES)
        tab.ask(clicked("th[data-key=entries] button"))
        assert tab.ask("location.hash") == "#sort=entries"
        assert tab.ask(NAMES)[0] == "Slow Lanterns"
        tab.ask(clicked("th[data-key=entries] button"))
        single = [name for name in ranked if name in tab.ask(NAMES)[: len(ranked) - 5]]
        assert tab.ask(NAMES)[: len(single)] == single
        tab.ask(clicked("#controls [type=reset]"))
        assert tab.ask(NAMES) == ranked
        assert tab.ask("location.hash") == ""

    def test_typing_filters(self, opened: Callable[..., Page]) -> None:
        """Typing filters the rows, changes the URL, and is announced; tiers are not drawn across gaps."""
        tab = opened()
        tab.ask("document.querySelector('#controls [type=search]').focus()")
        tab.send("Input.insertText", text="paper")
        assert tab.ask(column("rank")) == ["=3"]
        assert tab.ask("location.hash") == "#team=paper"
        assert tab.ask(STATUS) == "1 of 16 rows, sorted by MARp@5…30, highest first"
        assert (
            tab.ask("getComputedStyle(document.querySelector('#board tbody tr:not([hidden]) svg > .band')).display")
            == "none"
        )

    def test_an_empty_result_says_so_and_moves_no_column(self, opened: Callable[..., Page]) -> None:
        """The headings stay where they are when rows disappear."""
        places = "[...document.querySelectorAll('thead th')].map(head => head.getBoundingClientRect().x)"
        top = "document.getElementById('board').getBoundingClientRect().top"
        tab = opened()
        before = tab.ask(places), tab.ask(top)
        tab.ask(chosen("[type=search]", "zzz"))
        assert (tab.ask(places), tab.ask(top)) == before
        assert tab.ask("document.querySelector('p.none').textContent") == "No team matches “zzz”."
        assert tab.ask(f"{SHOWN}.length") == 0
        tab.ask(chosen("[type=search]", "paper"))
        assert tab.ask("document.querySelector('p.none').hidden")

    def test_columns_can_be_chosen(self, opened: Callable[..., Page]) -> None:
        """The choice is in the URL; a measure that is off at first can be switched on."""
        shown = "getComputedStyle(document.querySelector('th[data-key=RR]')).display"
        tab = opened(width=1600)
        assert tab.ask(shown) == "none"
        assert tab.ask("document.querySelector('.menu small').textContent") == "3 of 4 measures"
        tab.ask(clicked(".menu [value=RR]"))
        tab.ask(clicked(".menu [value=entries]"))
        assert tab.ask("location.hash") == "#columns=RR+entries"
        tab = opened("#columns=RR+entries", width=1600)
        assert tab.ask(shown) == "table-cell"
        assert tab.ask("document.querySelector('.menu small').textContent") == "4 of 4 measures"
        assert tab.ask("getComputedStyle(document.querySelector('td.entries')).display") == "none"
        assert tab.ask("document.documentElement.scrollWidth") <= 1600

    def test_a_column_that_does_not_fit_is_shown_by_scrolling(self, opened: Callable[..., Page]) -> None:
        """At 1024 px the last entry is left out; choosing it makes the table scroll in a box, which can be focused."""
        tab = opened(width=1024)
        shown = "getComputedStyle(document.querySelector('td.last')).display"
        assert tab.ask(shown) == "none"
        tab.ask(clicked(".menu [value=last]"))
        tab.ask(clicked(".menu [value=last]"))
        assert tab.ask(shown) == "table-cell"
        assert tab.ask("location.hash") == "#keep=yes"
        assert tab.ask("document.documentElement.scrollWidth") <= 1024
        assert tab.ask("document.getElementById('box').tabIndex") == 0

    def test_a_team_can_be_pinned(self, opened: Callable[..., Page]) -> None:
        """It is in the URL, and kept for the next visit; reset removes it."""
        tab = opened()
        tab.ask(chosen("[name=pin]", "kingfisher"))
        pinned = "[...document.querySelectorAll('#board tbody .pinned bdi')].map(name => name.textContent)"
        assert tab.ask(pinned) == ["kingfisher"]
        assert tab.ask("location.hash") == "#pin=kingfisher"
        assert opened().ask(pinned) == ["kingfisher"]
        assert opened("#pin=tea-kettle").ask(pinned) == ["tea-kettle"]
        tab.ask(clicked("[type=reset]"))
        assert opened().ask(pinned) == []
        assert opened("#pin=nobody").ask(pinned) == []

    def test_a_pinned_team_holds_on_every_page(self, opened: Callable[..., Page], address: str) -> None:
        """On the other boards, the front page and a phone, with links to its page and to its row on each board."""
        tab = opened()
        mine = "[...document.querySelectorAll('a.own')].filter(link => link.checkVisibility())"
        assert tab.ask(f"{mine}.length") == 0
        tab.ask(chosen("[name=pin]", "tea-kettle"))
        pinned = "[...document.querySelectorAll('tbody .pinned bdi')].map(name => name.textContent)"
        assert tab.ask(f"{mine}.map(link => link.href)") == [f"{address}/teams/tea-kettle.html"]
        for path, width in (("pooled-sequences/index.html", 1280), ("index.html", 1280), ("index.html", 390)):
            tab.open(f"{address}/{path}", width=width)
            assert "tea-kettle" in tab.ask(pinned)
        boards = [f"{address}/{track}/index.html#team-tea-kettle" for track in ("cold-start", "pooled-sequences")]
        assert tab.ask(f"{mine}.map(link => link.href)") == [f"{address}/teams/tea-kettle.html", *boards]
        tab.open(f"{address}/teams/tea-kettle.html", scripts=False)
        assert tab.ask("document.querySelector('button.own').checkVisibility()") is False
        tab.open(f"{address}/teams/tea-kettle.html")
        assert tab.ask("document.querySelector('a.own').ariaCurrent") == "page"
        tab.ask(clicked("button.own"))
        assert tab.ask(f"{mine}.length") == 0
        assert opened().ask(pinned) == []
        tab.open(f"{address}/teams/kingfisher.html")
        tab.ask(clicked("button.own"))
        assert opened().ask(pinned) == ["kingfisher"]
        assert tab.errors == []

    def test_a_row_can_be_linked(self, opened: Callable[..., Page]) -> None:
        """The rank links to its row, which is highlighted below the heading; the order stays."""
        tab = opened("#team-kingfisher", height=400)
        assert tab.ask("document.querySelector('tr:target .rank a').textContent") == "11"
        assert tab.ask("document.querySelector('tr:target .rank a').hash") == "#team-kingfisher"
        assert tab.ask(column("rank"))[0] == "1"
        below = "document.querySelector('thead th').getBoundingClientRect().bottom"
        assert tab.ask(f"document.querySelector('tr:target').getBoundingClientRect().top >= {below}")

    @pytest.mark.parametrize("form", ["csv", "markdown"])
    def test_what_is_shown_can_be_copied(self, opened: Callable[..., Page], form: str) -> None:
        """Shown rows and columns in their order; no cell is a formula, and no name is markup."""
        tab = opened("#sort=team&order=ascending", width=1440)
        tab.ask(
            "window.copied = ''; Object.defineProperty(navigator, 'clipboard',"
            " {value: {writeText: async text => { window.copied = text; }}}); 0"
        )
        tab.ask(clicked(f"[name={form}]"))
        head, *lines = tab.ask("window.copied").splitlines()
        if form == "csv":
            assert head == (
                "Tier,Rank,Range,Team,MARp@5…30,95 % interval,nDCG@10,AP,P@10,"
                "Preliminary rank,Change,Entries,Last entry"
            )
            assert len(lines) == 16
            assert any(",'=cmd()|' /C calc'!A0," in line for line in lines)
            assert any('"""><img src=x onerror=alert(1)>"' in line for line in lines)
            assert not any(cell.startswith(("=", "+", "@")) for line in lines for cell in line.split(","))
            assert any(line.startswith("A,3,1 to 4,paper-boats,0.2871,") for line in lines)
        else:
            assert head.startswith("| Tier | Rank | Range | Team | MARp@5…30 |")
            assert lines[0] == "| --- | ---: | --- | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
            assert any("| &lt;script&gt;alert(1)&lt;/script&gt; |" in line for line in lines)
            assert any(r"| =cmd()\|' /C calc'!A0 |" in line for line in lines)
        assert tab.ask(STATUS) == "Copied 16 rows"

    def test_a_view_can_be_linked(self, opened: Callable[..., Page], address: str) -> None:
        """The copied address shows the same rows in the same order."""
        tab = opened()
        tab.ask(
            "window.copied = ''; Object.defineProperty(navigator, 'clipboard',"
            " {value: {writeText: async text => { window.copied = text; }}}); 0"
        )
        tab.ask(chosen("[name=pin]", "paper-boats"))
        tab.ask(chosen("[type=search]", "e"))
        tab.ask(clicked("th[data-key=AP] button"))
        names = tab.ask(NAMES)
        tab.ask(clicked("[name=link]"))
        copied = tab.ask("window.copied")
        assert copied == f"{address}/{BOARD}#sort=AP&team=e&pin=paper-boats"
        assert opened(copied.removeprefix(f"{address}/{BOARD}")).ask(NAMES) == names

    def test_the_board_works_without_scripts(self, opened: Callable[..., Page]) -> None:
        """Every row is shown, headings link to the measures, and columns can be chosen; other controls are hidden."""
        tab = opened(scripts=False, width=1440)
        visible = "[...document.querySelectorAll('button, input, select')].filter(each => each.checkVisibility())"
        assert tab.ask(f"{visible}.length") == 0
        assert len(tab.ask(NAMES)) == 16
        assert tab.ask("document.querySelectorAll('thead a').length") == 6
        tab.ask(
            "document.querySelector('.menu').open = true; document.querySelector('.menu [value=RR]').checked = true"
        )
        assert tab.ask("getComputedStyle(document.querySelector('th[data-key=RR]')).display") == "table-cell"

    def test_everything_works_by_keyboard(self, opened: Callable[..., Page]) -> None:
        """Tab reaches every control with a visible focus; the menu opens with Enter and closes with Escape."""
        tab = opened(width=1440)
        names = []
        for _ in range(60):
            tab.press("Tab")
            names.append(tab.ask("document.activeElement.name || document.activeElement.tagName"))
            if names[-1] != "BODY":
                assert tab.ask("getComputedStyle(document.activeElement).outlineStyle") != "none", names
        for control in ("team", "SUMMARY", "pin", "csv", "markdown", "link", "BUTTON"):
            assert control in names
        tab.ask("document.querySelector('.menu summary').focus()")
        tab.press("Enter")
        assert tab.ask("document.querySelector('.menu').open")
        tab.press("Tab")
        tab.press(" ")
        assert tab.ask("location.hash") == "#columns=tier"
        tab.press("Escape")
        assert not tab.ask("document.querySelector('.menu').open")
        assert tab.ask("document.activeElement.tagName") == "SUMMARY"
        tab.ask("document.querySelector('th[data-key=AP] button').focus()")
        tab.press("Enter")
        assert tab.ask("document.querySelector('th[data-key=AP]').ariaSort") == "descending"


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a site with a board of 60 teams and one of a track with long names of measures."""
    declared = challenge()
    wide = challenge(measures=["nDCG(gain=exp,discount=log2)@1000", "RBP(p=0.123456)", "AP"], decimals=12).tracks[0]
    second = wide.model_copy(update={"name": "wide", "title": "Wide"})
    folder = tmp_path_factory.mktemp("long")
    both = declared.model_copy(update={"tracks": (declared.tracks[0], second)})
    rows = [scored_row(f"team-{number}", round(0.5 - number / 200, 4), 0.4, 5, 2) for number in range(58)]
    rows += [baseline_row("random", 0.02, 0.02, 5), rejected_row("late", 5)]
    write(pages(both, [with_certainty(board_of(declared.tracks[0], *rows)), board(second)]), folder)
    return folder.as_uri()


@pytest.fixture(scope="module")
def very_long(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of a board of 300 teams."""
    folder, one = tmp_path_factory.mktemp("very-long"), many(300)
    write(pages(challenge().model_copy(update={"tracks": (one.track,)}), [one]), folder)
    return f"{folder.as_uri()}/{BOARD}"


class TestLayout:
    """The board at every width, in every medium."""

    pytestmark = IN_BROWSER

    def test_the_heading_stays_in_view(self, tab: Page, long: str) -> None:
        """When the page is scrolled, the heading of the table is at the top of the window, at every width."""
        tab.open(f"{long}/{BOARD}")
        for width in (320, 390, 704, 768, 1024, 1440, 1920, 2560):
            tab.resize(width)
            tab.ask("document.querySelectorAll('#board tbody tr')[40].scrollIntoView({block: 'center'})")
            tops = tab.ask(
                "[...document.querySelectorAll('thead th')].filter(head => head.checkVisibility())"
                ".map(head => head.getBoundingClientRect().top)"
            )
            assert all(0 <= top <= 20 for top in tops), width

    @pytest.mark.parametrize("path", [BOARD, "wide/index.html"])
    def test_no_cell_covers_another(self, tab: Page, long: str, path: str) -> None:
        """No text of a cell is wider than its column, and the table is not wider than the page."""
        tab.open(f"{long}/{path}")
        for width in (320, 705, 768, 900, 1024, 1180, 1280, 1408, 1440, 1920):
            tab.resize(width)
            wide = tab.ask(
                "[...document.querySelectorAll('#board :is(th, td):not(.strip, .team)')]"
                ".filter(cell => cell.checkVisibility() && cell.scrollWidth > cell.clientWidth + 1)"
                ".map(cell => cell.className + ': ' + cell.textContent)"
            )
            assert wide == [], width
            assert tab.ask("document.documentElement.scrollWidth") <= width
            assert tab.ask("document.getElementById('board').getBoundingClientRect().right") <= width

    @pytest.mark.parametrize("width", [705, 768, 900, 1024, 1152, 1280, 1408, 1440, 1600, 1920, 2560])
    def test_the_table_takes_the_page_and_the_axis_keeps_its_room(self, tab: Page, address: str, width: int) -> None:
        """The axis has 260 px: columns are left out before it is shorter. The table begins within 310 px."""
        tab.open(f"{address}/{BOARD}", width=width)
        top, across = (f"document.getElementById('board').getBoundingClientRect().{each}" for each in ("top", "width"))
        assert tab.ask("document.querySelector('th.strip .axis').getBoundingClientRect().width") >= 260
        if width >= 1024:
            assert tab.ask(across) >= 0.75 * width
        if width == 1440:
            assert tab.ask(top) <= 310

    def test_headings_are_above_their_numbers(self, tab: Page, address: str) -> None:
        """The right edge of a heading is that of its numbers."""
        tab.open(f"{address}/{BOARD}", width=1440)
        edges = tab.ask(
            "['score', 'interval', 'measure', 'entries'].map(name => ['thead th', 'tbody td'].map(cell => {"
            " const range = document.createRange();"
            " range.selectNodeContents(document.querySelector(`${cell}.${name}`));"
            " return Math.max(...[...range.getClientRects()].map(each => each.right)); }))"
        )
        assert all(abs(head - number) <= 8 for head, number in edges), edges

    def test_on_a_phone_the_other_columns_unfold(self, tab: Page, address: str) -> None:
        """Tier, rank, range, team, score and strip are shown; the other columns unfold, also without scripts."""
        tab.open(f"{address}/{BOARD}", width=390, scripts=False)
        shown = "[...document.querySelector('#team-tea-kettle').cells].filter(each => each.checkVisibility()).length"
        assert tab.ask(shown) == 6
        tab.ask("document.querySelector('#team-tea-kettle details').open = true")
        assert tab.ask(shown) == 16
        assert tab.ask("getComputedStyle(document.querySelector('#team-tea-kettle td.measure'), '::before').content")

    def test_a_tap_on_a_row_opens_it(self, tab: Page, address: str) -> None:
        """On a phone, anywhere in the row."""
        tab.open(f"{address}/{BOARD}", width=390)
        tab.ask(clicked("#team-tea-kettle .score"))
        assert tab.ask("document.querySelector('#team-tea-kettle details').open")

    def test_a_phone_can_sort_by_every_column(self, tab: Page, address: str) -> None:
        """Headings are hidden there, so a control has all of them."""
        tab.open(f"{address}/{BOARD}", width=390)
        options = tab.ask("[...document.querySelector('[name=sort]').options].map(each => each.value)")
        heads = tab.ask("[...document.querySelectorAll('thead th:not(.strip)')].map(each => each.dataset.key)")
        assert options == heads
        assert tab.ask("document.querySelector('[name=sort]').checkVisibility()")
        tab.ask(chosen("[name=sort]", "entries"))
        assert tab.ask(NAMES)[0] == "Slow Lanterns"
        tab.ask(clicked("[name=order]"))
        assert tab.ask("location.hash") == "#sort=entries&order=ascending"

    @pytest.mark.parametrize(
        "path",
        [
            "index.html",
            BOARD,
            "teams/tea-kettle.html",
            "cold-start/rules.html",
            "cold-start/compare.html",
            "measures.html",
        ],
    )
    def test_targets_on_a_phone_are_large(self, tab: Page, address: str, path: str) -> None:
        """At least 24 px high and wide, except for links in sentences and short names of measures."""
        tab.open(f"{address}/{path}", width=390)
        small = tab.ask("""[...document.querySelectorAll('a, button, summary, select, label, input:not(label input)')]
          .filter(each => each.checkVisibility() && !each.matches('.measures a, .skip'))
          .filter(each => {
            const {width, height} = each.getBoundingClientRect();
            const around = each.closest('p, li, dd, td, th, figcaption, h2, span');
            const words = node => node.nodeType === Node.TEXT_NODE && node.textContent.trim().length > 2;
            return width && Math.min(width, height) < 24 && !(around && [...around.childNodes].some(words));
          }).map(each => each.outerHTML)""")

        assert small == []

    def test_a_pinned_team_is_also_first_on_a_long_board(self, tab: Page, long: str) -> None:
        """The copy has no id; on a short board the row is only tinted in its place."""
        tab.open(f"{long}/{BOARD}#pin=team-40")
        assert tab.ask("document.querySelector('#board tbody bdi').textContent") == "team-40"
        assert tab.ask("document.querySelectorAll('#team-team-40').length") == 1

    def test_the_later_rows_of_a_long_board_come_when_the_page_is_complete(self, tab: Page, very_long: str) -> None:
        """All rows are there then, without scripts, and at once behind a link to a row."""
        count = "[...document.querySelectorAll('#board tbody tr')].filter(row => row.checkVisibility()).length"
        script = (
            "globalThis.counts = []; addEventListener('DOMContentLoaded', () => counts.push("
            f"{count}), {{ capture: true }})"
        )
        added = tab.send("Page.addScriptToEvaluateOnNewDocument", source=script)["identifier"]
        for state, at_first in (("", 40), ("#team-keen-200", 300)):
            tab.open(f"{very_long}{state}")
            tab.send("Runtime.evaluate", expression="rows", awaitPromise=True)
            assert tab.ask("counts[0]") == at_first
            assert tab.ask(count) == 300
        assert tab.ask("document.querySelector('#team-keen-200').getBoundingClientRect().top") < 900
        tab.send("Page.removeScriptToEvaluateOnNewDocument", identifier=added)
        tab.open(very_long, scripts=False)
        assert tab.ask(count) == 300

    def test_a_row_of_a_long_board_unfolds_on_a_phone(self, tab: Page, very_long: str) -> None:
        """By a tap on it; without scripts by the link to the row."""
        measure = "document.querySelector('#team-keen-7 td.measure').checkVisibility()"
        tab.open(very_long, width=390)
        assert not tab.ask(measure)
        for selector, shown in ((".score", True), (".rank a", False)):
            tab.ask(clicked(f"#team-keen-7 {selector}"))
            assert tab.ask(measure) is shown
        tab.open(f"{very_long}#team-keen-7", width=390, scripts=False)
        assert tab.ask(measure)

    def test_teams_that_could_be_first_are_a_filter(self, tab: Page, very_long: str) -> None:
        """Those whose range of ranks begins with 1; it is in the URL, and reset removes it."""
        tab.open(very_long)
        tab.ask(clicked("[name=first]"))
        assert tab.ask(NAMES) == [f"keen-{number}" for number in range(11)]
        assert tab.ask(STATUS).startswith("11 of 300 rows")
        assert tab.ask("location.hash") == "#first=yes"
        tab.open(f"{very_long}#first=yes&team=keen-2")
        assert tab.ask(NAMES) == ["keen-2"]
        assert tab.ask("document.querySelector('[name=first]').checked")
        tab.ask(clicked("[type=reset]"))
        assert len(tab.ask(NAMES)) == 300

    def test_a_long_board_opens_at_the_pinned_team_on_a_phone(self, tab: Page, long: str) -> None:
        """Nowhere else: not in a wide window, and not if a link leads to another row."""
        visible = """(() => {
          const box = document.getElementById('team-team-40').getBoundingClientRect();
          return box.top > 0 && box.bottom < innerHeight;
        })()"""
        for state, width, there in (
            ("pin=team-40", 390, True),
            ("pin=team-40", 1280, False),
            ("team-team-3", 390, False),
        ):
            tab.open(f"{long}/{BOARD}#{state}", width=width)
            assert tab.ask(visible) is there
            assert (tab.ask("scrollY") > 1000) is there

    def test_paper_has_the_table(self, tab: Page, address: str) -> None:
        """Upright and on its side, with the rules of its heading; controls are not printed."""
        for width, height in ((688, 1000), (1017, 690)):
            tab.open(f"{address}/{BOARD}", width=width, height=height, medium="print")
            assert tab.ask("getComputedStyle(document.querySelector('#team-tea-kettle')).display") == "table-row"
            assert not tab.ask("document.getElementById('controls').checkVisibility()")
            head = "document.querySelector('thead th')"
            for side in ("Top", "Bottom"):
                assert tab.ask(f"parseFloat(getComputedStyle({head}).border{side}Width)") >= 1
            assert tab.ask("document.documentElement.scrollWidth") <= width

    def test_marks_have_the_colours_of_the_system_where_they_are_forced(self, tab: Page, address: str) -> None:
        """Dot and interval have the colour of text there, which differs from the background."""
        tab.open(f"{address}/{BOARD}", forced_colours=True)
        for mark in (".mean", ".interval", ".tick"):
            fill = tab.ask(f"getComputedStyle(document.querySelector('tbody svg > {mark}')).fill")
            assert fill != tab.ask("getComputedStyle(document.body).backgroundColor"), mark
        text = tab.ask("getComputedStyle(document.body).color")
        assert tab.ask("getComputedStyle(document.querySelector('tbody svg > .mean')).fill") == text

    def test_fonts_of_this_machine_are_not_the_last_resort(self, tab: Page, address: str) -> None:
        """Both stacks name fonts of Linux, so that it does not show Times."""
        tab.open(f"{address}/{BOARD}")
        for element in ("body", "td.score"):
            family = tab.ask(f"getComputedStyle(document.querySelector('{element}')).fontFamily")
            assert "DejaVu" in family
            assert "Times" not in family


@pytest.mark.skipif(not has_axe(), reason="axe_playwright_python, which brings axe-core, is not installed")
class TestAccessibility:
    """The rules of axe-core for WCAG 2.2 AA, and its best practices."""

    pytestmark = IN_BROWSER

    # axe-core takes a second for each.
    @pytest.mark.parametrize(
        ("width", "dark"),
        [
            pytest.param(1440, False, id="wide-light"),
            pytest.param(390, True, id="narrow-dark"),
            pytest.param(1440, True, id="wide-dark", marks=pytest.mark.endurance),
            pytest.param(390, False, id="narrow-light", marks=pytest.mark.endurance),
        ],
    )
    @pytest.mark.parametrize(
        "path", ["index.html", BOARD, f"{BOARD}#team=zzz", f"{BOARD}#pin=paper-boats&keep=yes&columns=RR"]
    )
    def test_no_rule_is_broken(self, tab: Page, address: str, path: str, width: int, dark: bool) -> None:
        """On the front page, on the board, and on the board in other states."""
        tab.open(f"{address}/{path}", width=width, dark=dark)
        assert violations(tab) == []

    def test_a_broken_rule_is_found(self, tab: Page, tmp_path: Path) -> None:
        """A picture without a text."""
        (tmp_path / "bad.html").write_text("<html lang='en'><title>x</title><main><h1>x</h1><img src='x.png'></main>")
        tab.open((tmp_path / "bad.html").as_uri())
        assert any(each.startswith("image-alt") for each in violations(tab))


def test_hostile_names_are_options_and_rows(site: dict[str, str]) -> None:
    """A row per team, also for names that imitate markup."""
    ids = {each.attributes.get("id") for each in read(site[BOARD]).all("tr")}
    assert {f"team-{team(name).slug}" for name in HOSTILE} <= ids
