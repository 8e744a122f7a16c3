"""The page that compares two teams: its numbers are those of the board, of the team pages and of `scorer compare`."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from scorer.board.board import Board, QueryScores, RowPair
from scorer.board.site.folder import write
from scorer.scoring.evaluation import evaluate
from tests.accessibility import check_page
from tests.boards import HOSTILE, baseline_row, board, board_of, challenge, scored_row
from tests.browser import IN_BROWSER, Page
from tests.commands import here
from tests.pages import pages, read, rows
from tests.seeded_challenge import BASELINE, QUALITY, SETTINGS, write_challenge

PATH = "cold-start/compare.html"


def data(page: str) -> dict[str, Any]:
    """What the script of the page selects from."""
    found: dict[str, Any] = json.loads(
        next(each for each in read(page).all("section") if "data-of" in each.attributes).attributes["data-of"] or ""
    )
    return found


def names(page: str) -> list[str]:
    """The teams that can be chosen."""
    return [each.words() for each in read(page).all("option")]


def seeded(folder: Path, settings: str) -> str:
    """The page of a challenge that was run."""
    write_challenge(folder, SETTINGS + settings)
    assert here("run", folder).code == 0
    return (folder / "site/main/compare.html").read_text(encoding="utf-8")


def test_every_number_is_that_of_scorer_compare(tmp_path: Path) -> None:
    """Differences, intervals, p-values and counts of all pairs, and the scores of all queries that count."""
    page = seeded(tmp_path / "c", 'per_query = "public"\n')
    found, teams = data(page), names(page)
    answer = here("compare", "--challenge", tmp_path / "c", "--track", "main", *QUALITY, BASELINE, "--format", "json")
    expected = json.loads(answer.out)["differences"]
    assert len(found["pairs"]) == 15
    for one, other, difference, low, high, p, _, *counts, _ in found["pairs"]:
        pair = expected[teams[one]][teams[other]]
        assert f"{difference / 1000:.3f}" == f"{pair['difference']:.3f}"
        assert [f"{end / 1000:.3f}" for end in (low, high)] == [f"{end:.3f}" for end in pair["interval"]]
        assert p / 1000 == (round(pair["p"], 3) if pair["p"] >= 0.001 else 0)
        assert counts == [pair["wins"], pair["ties"], pair["losses"]]

    for team, shown in zip(teams, found["scores"], strict=True):
        (file,) = (tmp_path / "c/submissions/main").glob(f"*{team}.txt")
        scores = evaluate(tmp_path / "c/solutions/main.txt", file, "MARp@5,10", per_query=True).by_query()
        defined = {
            query: score for query, values in scores.items() for score in values.values() if not math.isnan(score)
        }
        assert found["ids"] == list(defined)
        assert [f"{score / 1000:.3f}" for score in shown] == [f"{score:.3f}" for score in defined.values()]


@pytest.mark.parametrize(("settings", "has_counts"), [("", True), ('per_query = "hidden"\n', True)])
def test_scores_of_queries_are_there_only_if_they_are_public(tmp_path: Path, settings: str, has_counts: bool) -> None:
    """Neither ids nor scores are in the page; the table against the first team is complete."""
    page = seeded(tmp_path / "c", settings)
    assert (data(page)["ids"], data(page)["scores"]) == ([], [])
    assert all((pair[7] is not None) == has_counts for pair in data(page)["pairs"])
    assert 'id="queries"' not in page
    assert [row[1].removesuffix(" baseline") for row in rows(page, "nearest")] == names(page)


def test_preliminary_scores_of_queries_are_hidden(tmp_path: Path) -> None:
    """Before final scores are shown, there are no counts, and numbers have the digits of the board."""
    settings = SETTINGS.replace('stage = "final"\ndecimals = 3', 'stage = "preliminary"')
    write_challenge(tmp_path / "c", settings)
    assert here("run", tmp_path / "c").code == 0
    found = data((tmp_path / "c/site/main/compare.html").read_text(encoding="utf-8"))
    assert (found["ids"], found["scores"]) == ([], [])
    assert {tuple(pair[7:10]) for pair in found["pairs"]} == {(None, None, None)}
    assert found["decimals"][2] == 2


@pytest.mark.parametrize("settings", ["", 'per_query = "public"\n'])
def test_the_pages_do_not_depend_on_hidden_grades(tmp_path: Path, settings: str) -> None:
    """Two solutions with the same preliminary queries and other items for the other queries give the same bytes."""
    text = SETTINGS.replace('stage = "final"\ndecimals = 3', 'stage = "preliminary"') + settings
    sites = []
    for twin in ("first", "second"):
        write_challenge(tmp_path / twin, text)
        solution = tmp_path / twin / "solutions/main.txt"
        lines = solution.read_text().splitlines()
        if twin == "second":
            lines = [line if ":1:" in line else line.replace("|3", "|1").replace(":i", ":j") for line in lines]
        solution.write_text("".join(f"{line}\n" for line in lines))
        assert here("run", tmp_path / twin).code == 0
        site = tmp_path / twin / "site"
        # The entries of a team have leaves, which depend on the key of the log.
        parts = [path.read_bytes().partition(b'<table class="entries"')[0] for path in sorted(site.glob("teams/*"))]
        sites.append([(site / "main/compare.html").read_bytes(), *parts])
    assert (tmp_path / "first/solutions/main.txt").read_text() != (tmp_path / "second/solutions/main.txt").read_text()
    assert sites[0] == sites[1]
    assert (b"q4" in sites[0][0]) == bool(settings)
    assert b"q1&" not in sites[0][0]


def test_every_row_with_a_score_links_to_the_page() -> None:
    """Each link has a name, and the row of a team without a score has none; without pairs, there is no page."""
    declared = challenge()
    boards = [board(track) for track in declared.tracks]
    site = pages(declared, boards)
    links = [each for each in read(site["cold-start/index.html"]).all("a") if "compare" in each.classes()]
    scored = [row.team for row in boards[0].rows if row.entry]
    assert [each.attributes["href"] for each in links] == [f"compare.html#a={team.slug}" for team in scored]
    assert [each.attributes["aria-label"] for each in links] == [f"Compare {team.name}" for team in scored]
    assert f"../{PATH}#a=tea-kettle" in site["teams/tea-kettle.html"]

    bare = pages(declared, [replace(each, pairs=()) for each in boards])
    assert PATH not in bare
    assert "compare.html" not in bare["cold-start/index.html"]


def long_board(teams: int, queries: int) -> Board:
    """A board of so many teams and four baselines, with the pairs of a long board and the scores of queries."""
    chance = np.random.default_rng(5)
    every = [scored_row(f"team-{number}", 0.9 - number / 999, 0.5, 5) for number in range(teams - 4)]
    every += [baseline_row(f"baseline-{number}", 0.1 - number / 99, 0.1, 5) for number in range(4)]
    one = board_of(challenge().tracks[0], *every)
    with_all = {0, *range(teams - 4, teams)}
    pairs = [
        RowPair(row, other, 0.1234, (-0.0123, 0.2345), 0.123, False, 101, 102, 103, 12345)
        for row, other in combinations(range(teams), 2)
        if other - row <= 3 or with_all & {row, other}
    ]
    scores = {row: tuple(chance.random(queries).round(4).tolist()) for row in range(teams)}
    ids = tuple(f"query-{number:05}" for number in range(queries))
    return replace(one, pairs=tuple(pairs), query_ids=ids, query_scores=QueryScores(tuple(range(queries)), scores))


def test_the_page_of_a_long_board_is_bounded() -> None:
    """At most 1 MB with 300 teams and 320 queries, whose scores are public; the note says which pairs there are."""
    page = pages(challenge(), [long_board(300, 320)])[PATH]
    assert len(data(page)["pairs"]) > 2000
    assert len(page.encode()) < 1_000_000
    assert "a team is compared with the first one" in page


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The URL of the folder of a site."""
    folder, declared = tmp_path_factory.mktemp("compare"), challenge()
    write(pages(declared, [board(track) for track in declared.tracks]), folder)
    return folder.as_uri()


class TestInBrowser:
    """The page in Chromium."""

    pytestmark = IN_BROWSER

    def cells(self, tab: Page) -> list[list[str]]:
        found: list[list[str]] = tab.ask(
            "[...document.querySelectorAll('#pair tr')]"
            ".map(row => [...row.cells].slice(1).map(cell => cell.textContent))"
        )
        return found

    def choose(self, tab: Page, name: str, slug: str) -> None:
        tab.ask(
            f"(() => {{ const s = document.querySelector('select[name={name}]'); s.value = '{slug}';"
            " s.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )

    def test_a_permalink_shows_the_pair(self, tab: Page, address: str) -> None:
        """In both directions, and after a choice; the numbers are those of the team's page."""
        shown = board(challenge().tracks[0])
        place = {row.team.slug: position for position, row in enumerate(shown.rows)}
        pair = next(
            each for each in shown.pairs if (each.row, each.other) == (place["north-window"], place["slow-lanterns"])
        )
        assert pair.interval
        tab.open(f"{address}/{PATH}#a=north-window&b=slow-lanterns")
        assert self.cells(tab) == [
            ["north-window", "Slow Lanterns", "Difference"],
            ["2", "6", ""],
            ["0.3004", "0.2120", f"+{pair.difference:.4f}"],
            [*self.cells(tab)[3][:2], f"+{pair.interval[0]:.3f} to +{pair.interval[1]:.3f}"],
            [f"{pair.wins} queries", f"{pair.losses} queries", f"{pair.ties} equal"],
            ["", "", f"{pair.p_value:.3f}"],
            ["", "", "yes"],
        ]
        assert tab.ask("document.getElementById('verdict').textContent") == (
            f"north-window scores {pair.difference:.4f} more than Slow Lanterns. The queries separate the two."
        )
        tab.ask("document.querySelector('[name=swap]').click()")
        assert tab.ask("location.hash") == "#a=slow-lanterns&b=north-window"
        assert self.cells(tab)[2] == ["0.2120", "0.3004", f"−{pair.difference:.4f}"]
        assert self.cells(tab)[3][2] == f"−{pair.interval[1]:.3f} to −{pair.interval[0]:.3f}"
        assert self.cells(tab)[4][:2] == [f"{pair.losses} queries", f"{pair.wins} queries"]
        self.choose(tab, "b", "tea-kettle")
        assert tab.ask("location.hash") == "#a=slow-lanterns&b=tea-kettle"
        assert self.cells(tab)[0][:2] == ["Slow Lanterns", "tea-kettle"]
        self.choose(tab, "a", "north-window")
        assert self.cells(tab)[-1][2] == "too close to call"
        assert "It is too close to call: the queries do not" in tab.ask(
            "document.getElementById('verdict').textContent"
        )
        labels = "[...document.querySelectorAll('#picture .ticks text')].map(each => each.textContent)"
        assert tab.ask(labels) == [f"{step / 100:.2f}".replace("-", "−") if step else "0" for step in range(-4, 5)]
        tab.ask("location.hash = '#a=paper-boats&b=nobody'")
        assert tab.ask("document.querySelector('select[name=a]').value") == "paper-boats"
        assert tab.errors == []

    def test_queries_are_shared_or_opposite(self, tab: Page, address: str) -> None:
        """Against the median of the other ranked teams, counted one by one from the scores of the board."""
        shown = board(challenge().tracks[0])
        assert shown.query_scores
        place = {row.team.slug: position for position, row in enumerate(shown.rows)}
        scores = {
            row: [round(score, 4) for score in values if score is not None]
            for row, values in shown.query_scores.of_rows.items()
        }
        first, second = place["paper-boats"], place["kingfisher"]
        others = [row for row in scores if shown.rows[row].rank and row not in (first, second)]
        wanted: list[list[tuple[float, str]]] = [[], [], [], []]
        for query, name in enumerate(shown.query_ids):
            middle = median(scores[row][query] for row in others)
            up, down = scores[first][query] - middle, scores[second][query] - middle
            if up * down < 0:
                wanted[0 if up > 0 else 1].append((abs(up - down), name))
            elif up and down:
                wanted[2 if up > 0 else 3].append((min(abs(up), abs(down)), name))
        tab.open(f"{address}/{PATH}#a=paper-boats&b=kingfisher")
        bodies = tab.ask(
            "[...document.querySelectorAll('#queries tbody')].map(b => [...b.rows].map(r => r.cells[0].textContent))"
        )
        titles = ["paper-boats above the field, kingfisher below", "kingfisher above the field, paper-boats below"]
        titles += ["Both above the field", "Both below the field"]
        for title, members, body in zip(titles, wanted, bodies, strict=True):
            unit = "query" if len(members) == 1 else "queries"
            assert body[0] == f"{title}: {len(members)} {unit}"
            listed = [size for size, name in members if name in body[1:]]
            assert sorted(listed, reverse=True) == pytest.approx(sorted((s for s, _ in members), reverse=True)[:5])

    def test_without_scripts_there_is_the_table_against_the_first_team(self, tab: Page, address: str) -> None:
        """The form needs the script, so it is hidden."""
        tab.open(f"{address}/{PATH}", scripts=False)
        assert not tab.ask("document.getElementById('choose').checkVisibility()")
        assert tab.ask("document.querySelectorAll('table.nearest tbody tr').length") == 14
        assert tab.ask("document.querySelector('noscript').checkVisibility()")

    @pytest.mark.parametrize("width", [320, 390, 768, 1024, 1440])
    def test_the_page_is_sound(self, tab: Page, address: str, width: int) -> None:
        """Also with the longest names."""
        check_page(tab, f"{address}/{PATH}#a=north-window&b=slow-lanterns", width, dark=width == 390)
        slugs = [row.team.slug for row in board(challenge().tracks[0]).rows if row.team.name in HOSTILE and row.entry]
        for one, other in ((slugs[0], slugs[1]), (slugs[1], "random")):
            tab.open(f"{address}/{PATH}#a={one}&b={other}", width=width)
            assert tab.ask("document.documentElement.scrollWidth") <= width
            right = "document.querySelector('#pair {} tr > :last-child').getBoundingClientRect().right"
            assert tab.ask(f"{right.format('thead')} === {right.format('tbody')}")
