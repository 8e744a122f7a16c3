"""The boards of slices: every number by a slow loop, what is hidden until the end, and the page."""

from __future__ import annotations

import csv
import json
import math
from datetime import timedelta
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from scorer.board.site.track_pages import SHADES
from scorer.scoring.evaluation import evaluate
from tests.accessibility import check_page
from tests.browser import IN_BROWSER, Page
from tests.bundles import exported, imported
from tests.colours import contrast
from tests.commands import here
from tests.live_challenges import ANNOUNCED, END, ONE, QUERIES, START, Live
from tests.oracles import mean_interval
from tests.pages import read
from tests.seeded_challenge import BASELINE, QUALITY, SETTINGS, write_challenge
from tests.seeded_challenge import QUERIES as SEEDED

LABELS = {f"q{number}": ["even" if number % 2 == 0 else "odd"] for number in range(len(SEEDED))}
LABELS["q0"].append('<b>"few"</b>')
LABELS["q1"].append('<b>"few"</b>')


def write_slices(folder: Path, labels: dict[str, list[str]]) -> None:
    """Write the file of slices."""
    with (folder / "slices.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows((query, label) for query, own in labels.items() for label in own)


def seeded(folder: Path, settings: str = "") -> Path:
    """The site of a challenge with slices that was run."""
    write_challenge(folder, f'{SETTINGS}slices = "slices.csv"\n{settings}')
    write_slices(folder, LABELS)
    assert here("run", folder).code == 0
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site of a challenge with slices."""
    return seeded(tmp_path_factory.mktemp("slices") / "c")


def document(site: Path) -> dict[str, Any]:
    """The slices for programs."""
    found: dict[str, Any] = json.loads((site / "main/slices.json").read_text(encoding="utf-8"))
    return found


def test_every_number_is_that_of_a_loop(site: Path) -> None:
    """Scores and ranks by a plain loop, intervals from the queries of the slice only."""
    scores = {}
    for team in (*QUALITY, BASELINE):
        (file,) = (site.parent / "submissions/main").glob(f"*{team}.txt")
        by_query = evaluate(site.parent / "solutions/main.txt", file, "MARp@5,10").by_query()
        scores[team] = {query: sum(values.values()) / len(values) for query, values in by_query.items()}
        scores[team] = {query: score for query, score in scores[team].items() if not math.isnan(score)}
    slices = document(site)["slices"]
    assert [part["label"] for part in slices] == ["even", '<b>"few"</b>', "odd"]
    for part in slices:
        own = [query for query in SEEDED if part["label"] in LABELS[query]]
        assert part["queries"] == len(own)
        rounded = {}
        for row in part["rows"]:
            values = [scores[row["team"]][query] for query in own if query in scores[row["team"]]]
            assert row["score"] == pytest.approx(sum(values) / len(values), abs=0.0005 + 1e-9)
            rounded[row["team"]] = row["score"]
            low, high = mean_interval(values)
            assert [row["low"], row["high"]] == (
                [None, None] if low == high else [pytest.approx(end, abs=0.0005 + 1e-9) for end in (low, high)]
            )
            assert row["baseline"] == (row["team"] == BASELINE)
        assert list(rounded.values()) == sorted(rounded.values(), reverse=True)
        for row in part["rows"]:
            above = [team for team in QUALITY if rounded[team] > rounded[row["team"]]]
            assert row["rank"] == (None if row["baseline"] else 1 + len(above))


def test_ranges_of_ranks_are_those_of_compare_on_the_queries_of_the_slice(site: Path, tmp_path: Path) -> None:
    """A challenge whose solution has only these queries has the same ranges, and two queries separate no teams."""
    found = {part["label"]: part for part in document(site)["slices"]}
    write_challenge(tmp_path / "c", SETTINGS)
    solution = tmp_path / "c/solutions/main.txt"
    lines = solution.read_text(encoding="utf-8").splitlines(keepends=True)
    solution.write_text("".join(line for line in lines if "even" in LABELS[line.partition(":")[0]]), encoding="utf-8")
    assert here("run", tmp_path / "c").code == 0

    board = json.loads((tmp_path / "c/site/main/leaderboard.json").read_text(encoding="utf-8"))

    expected = {row["team"]: (row["rank"], row["rank from"], row["rank to"]) for row in board["rows"]}
    assert {row["team"]: (row["rank"], row["rank from"], row["rank to"]) for row in found["even"]["rows"]} == expected
    assert found["even"]["separates"] is True
    assert found['<b>"few"</b>']["separates"] is False
    assert {(row["rank from"], row["rank to"]) for row in found['<b>"few"</b>']["rows"] if row["rank"]} == {(1, 5)}


def test_one_more_file_gives_the_boards_of_a_computation_from_nothing(site: Path, tmp_path: Path) -> None:
    """What is kept of the other rows stays valid, and another file of slices changes the boards."""
    folder = tmp_path / "c"
    write_challenge(folder, f'{SETTINGS}slices = "slices.csv"\n')
    write_slices(folder, {query: ["other"] for query in SEEDED})
    (last,) = (folder / "submissions/main").glob("*even-tide.txt")
    aside = last.rename(tmp_path / last.name)
    assert here("run", folder).code == 0
    assert [part["label"] for part in document(folder / "site")["slices"]] == ["other"]
    aside.rename(last)
    write_slices(folder, LABELS)

    assert here("run", folder).code == 0

    assert document(folder / "site") == document(site)


def test_pairs_are_not_tested_in_very_many_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then slices have no ranges, and nothing is said about what they separate."""
    monkeypatch.setattr("scorer.board.build.MOST_TESTED", 17)

    found = document(seeded(tmp_path / "c"))["slices"]

    assert {part["separates"] for part in found} == {None}
    assert {row["rank from"] for part in found for row in part["rows"]} == {None}
    assert all(row["low"] for part in found for row in part["rows"] if part["queries"] > 2)


def test_the_page_has_the_numbers_and_says_where_queries_are_too_few(site: Path) -> None:
    """It is linked from the board, names from files are escaped, and CSV has the rows of JSON."""
    text = (site / "main/slices.html").read_text(encoding="utf-8")
    assert 'href="slices.html"' in (site / "main/index.html").read_text(encoding="utf-8")
    assert "<b>&#34;" not in text
    assert '<b>"few"' not in text
    assert text.count("too few to separate any two teams") == 1
    shades = {
        each.attributes["class"] for each in read(text).all("td") if "shade" in (each.attributes.get("class") or "")
    }
    assert {"shade0", f"shade{SHADES - 1}"} <= shades
    rows = list(csv.DictReader((site / "main/slices.csv").read_text(encoding="utf-8").splitlines()))
    listed = [(part["label"], row) for part in document(site)["slices"] for row in part["rows"]]
    assert len(rows) == len(listed) == 18
    for row, (label, expected) in zip(rows, listed, strict=True):
        assert (row["slice"], row["team"]) == (label, expected["team"])
        assert row["score"] == f"{expected['score']:.3f}"


def test_a_file_that_cannot_be_read_is_a_note(tmp_path: Path) -> None:
    """With the line, and the board is there without slices."""
    folder = tmp_path / "c"
    write_challenge(folder, f'{SETTINGS}slices = "slices.csv"\n')
    (folder / "slices.csv").write_text("q0,even\nnone,even\n", encoding="utf-8")

    answer = here("run", folder)

    assert answer.code == 0
    assert 'slices.csv:2: query "none" is not in the solution' in answer.out + answer.err
    assert not (folder / "site/main/slices.html").exists()


def live_challenge(folder: Path, public: str, labels: dict[str, list[str]]) -> Live:
    """A live challenge with slices and two teams."""
    live = Live.of(folder, ONE, settings=f'slices = "slices.csv"\nslices_public = "{public}"')
    write_slices(folder, labels)
    live.run(ANNOUNCED)
    for number, team in enumerate(("amber", "birch")):
        content = "".join(f"q{query}:{'a' if query % (number + 2) else 'x'}\n" for query in range(QUERIES))
        live.put(f"{team}.txt", content, START + timedelta(hours=1))
    return live


def test_hidden_slices_are_in_no_public_byte_until_the_end(tmp_path: Path) -> None:
    """Another file changes no byte of the site during the phase, and the boards of slices afterwards."""
    one = {f"q{number}": ["long"] for number in range(QUERIES)}
    other = {f"q{number}": ["short", "new"] for number in range(3)}

    live = live_challenge(tmp_path / "c", "end", one)
    running, ended = START + timedelta(days=1), END + timedelta(days=1)
    before = live.run_and_render(running)
    write_slices(live.folder, other)

    assert live.site(running) == before
    assert "main/slices.html" not in before
    assert "They are shown once final scores are shown, not before." in before["main/rules.html"]
    after = live.run_and_render(ended)
    assert "short" in after["main/slices.csv"]
    write_slices(live.folder, one)
    assert "long" in live.site(ended)["main/slices.csv"]


@pytest.mark.parametrize("solutions", [True, False])
def test_a_bundle_has_the_file_only_with_the_solutions(tmp_path: Path, solutions: bool) -> None:
    """Its path is changed as those of other files, and an import of all has the same boards of slices."""
    live = live_challenge(tmp_path / "c", "end", {f"q{number}": ["long"] for number in range(QUERIES)})
    ended = END + timedelta(days=1)
    before = live.run_and_render(ended)

    exported(live, tmp_path / "b.zip", ended, solutions=solutions)

    with ZipFile(tmp_path / "b.zip") as bundle:
        assert ("challenge/slices.csv" in bundle.namelist()) == solutions
    after = imported(tmp_path / "b.zip", tmp_path / "other", ended)
    assert after.has_page("main/slices.csv") == solutions
    assert not solutions or after.site(ended)["main/slices.csv"] == before["main/slices.csv"]


def test_preliminary_scores_of_few_queries_are_not_shown(tmp_path: Path) -> None:
    """Five preliminary queries of a slice are too few; the size of the slice is not shown either."""
    live = live_challenge(tmp_path / "c", "now", {f"q{number}": ["long"] for number in range(QUERIES)})
    site = live.run_and_render(START + timedelta(days=1))

    (part,) = json.loads(site["main/slices.json"])["slices"]

    assert part == {"label": "long", "queries": None, "separates": None, "rows": []}
    assert "too few preliminary queries" in site["main/slices.html"]


def test_without_slices_no_page_has_a_word_of_them(tmp_path: Path) -> None:
    """There are no files, and the rules do not name them."""
    write_challenge(tmp_path / "c")
    assert here("run", tmp_path / "c").code == 0
    assert not list((tmp_path / "c/site/main").glob("slices*"))
    assert "Slices" not in (tmp_path / "c/site/main/rules.html").read_text(encoding="utf-8")


class TestInBrowser:
    """The page in Chromium."""

    pytestmark = IN_BROWSER

    @pytest.mark.parametrize("width", [390, 1440])
    @pytest.mark.parametrize("medium", ["", "print"])
    def test_nothing_is_wider_than_the_page(self, tab: Page, site: Path, width: int, medium: str) -> None:
        """Without scripts, too: the heat table scrolls in its own box."""
        tab.open(f"{site.as_uri()}/main/slices.html", width=width, scripts=False, medium=medium)
        assert tab.send("Page.getLayoutMetrics")["cssContentSize"]["width"] <= width

    @pytest.mark.parametrize(("dark", "medium"), [(False, ""), (True, ""), (False, "print")])
    def test_every_shade_keeps_its_contrast(self, tab: Page, site: Path, dark: bool, medium: str) -> None:
        """With the text of its cells, and each shade differs from the others."""
        tab.open(f"{site.as_uri()}/main/slices.html", dark=dark, medium=medium)
        colours = tab.ask(
            "[...document.querySelectorAll('.heat td[class]')].map(cell => {"
            " const c = document.createElement('canvas').getContext('2d', {willReadFrequently: true});"
            " const hex = colour => { c.fillStyle = 'white'; c.fillRect(0, 0, 1, 1); c.fillStyle = colour;"
            " c.fillRect(0, 0, 1, 1); return '#' + [...c.getImageData(0, 0, 1, 1).data].slice(0, 3)"
            ".map(v => v.toString(16).padStart(2, '0')).join(''); };"
            " const of = getComputedStyle(cell);"
            " return [cell.className, hex(of.color), hex(of.backgroundColor)]; })"
        )
        shown = {name: (ink, paper) for name, ink, paper in colours if name != "shade0"}
        assert len(shown) >= 2
        assert all(contrast(ink, paper) >= 7 for ink, paper in shown.values())
        assert len({paper for _, paper in shown.values()}) == len(shown)

    @pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True)])
    def test_the_page_is_sound(self, tab: Page, site: Path, width: int, dark: bool) -> None:
        """With scripts."""
        check_page(tab, f"{site.as_uri()}/main/slices.html", width, dark=dark)
