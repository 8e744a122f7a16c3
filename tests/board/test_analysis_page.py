"""The page with the analysis of a track, and the charts of a board: cached, and hidden where they must be."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from scorer.board.board import ShakeUp
from scorer.board.site.analysis_page import analysis_values
from scorer.board.site.figures import analysis_figures, board_figures
from scorer.scoring.analysis.analysis import Settings, TaskAnalysis, analysed
from scorer.scoring.analysis.kept import Task
from tests import boards
from tests.accessibility import check_page
from tests.browser import IN_BROWSER, Page
from tests.commands import here
from tests.seeded_challenge import QUALITY, QUERIES, SETTINGS, write_challenge


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A challenge that was run."""
    folder = tmp_path_factory.mktemp("analysed") / "challenge"
    write_challenge(folder)
    assert here("run", folder).code == 0
    return folder


def page(folder: Path, name: str) -> str:
    """A page of the track."""
    return (folder / "site" / "main" / name).read_text(encoding="utf-8")


def cells(text: str, number: int) -> list[list[str]]:
    """The rows of the body of a table of the page, by its number from 1, as text."""
    table = re.findall(r"<table.*?</table>", text, re.DOTALL)[number - 1]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", re.findall(r"<tbody>.*?</tbody>", table, re.DOTALL)[0], re.DOTALL)
    return [[re.sub("<[^>]*>", "", cell).strip() for cell in re.findall(r"<t[hd].*?</t[hd]>", row)] for row in rows]


def test_the_analysis_shows_the_numbers_of_the_board(folder: Path) -> None:
    """Tiers, ranks, ranges of ranks, teams, means and intervals are equal."""
    analysed = cells(page(folder, "analysis.html"), 1)
    exported = (folder / "site" / "main" / "leaderboard.csv").read_text().splitlines()
    ranked = [line.split(",") for line in exported[1:] if line.split(",")[0]]

    assert len(analysed) == len(QUALITY) == len(ranked)
    for found, line in zip(analysed, ranked, strict=True):
        rank, team, _, mean, *_, low, high, first, last, tier, _ = line
        assert found[:2] == [tier, rank]
        assert found[2] == (f"{first} only" if first == last else f"{first} to {last}")
        assert found[3:5] == [team, mean]
        assert [float(end) for end in found[5].split(" to ")] == pytest.approx([float(low), float(high)], abs=0.00051)


def test_the_analysis_is_linked_and_describes_every_chart(folder: Path) -> None:
    """Each image has a title and a description, each team is linked, and no query is named."""
    text = page(folder, "analysis.html")

    assert 'href="analysis.html"' in page(folder, "index.html")
    charts = re.findall(r'<svg [^>]*class="chart".*?</svg>', text, re.DOTALL)
    assert len(charts) == 3
    assert all("<title>" in chart and "<desc>" in chart for chart in charts)
    assert all(f'href="../teams/{team}.html"' in text for team in QUALITY)
    assert not any(re.search(rf"\b{query}\b", text) for query in QUERIES)


@pytest.mark.parametrize("teams", [2, 7, 25, 70])
def test_the_tables_show_what_the_analysis_found(teams: int) -> None:
    """Every mark of every row is at the value of an array; equal teams are the same, and long boards have fewer."""
    random = np.random.default_rng(teams)
    drawn = random.normal(np.linspace(0.7, 0.2, teams)[:, None], 0.2, (teams, 40))
    values = np.asarray(np.clip(drawn, 0, 1).round(1), dtype=np.float64)
    values[-1] = values[-2]
    names = tuple(f"team {at}" for at in range(teams))
    found = analysed(Task("main", names, tuple(map(str, range(40))), values), Settings(resamples=300))
    view = json.loads(json.dumps(analysis_values(found)), object_hook=lambda values: SimpleNamespace(**values))
    values = found.task.values

    assert [row.team for row in view.rows] == list(found.names)
    for at, row in enumerate(view.rows):
        assert row.ranks is not None
        often = found.resampling.frequencies[at]
        if teams > 60:
            assert row.ranks.dots == []
        else:
            seen = {float(x[:-1]) / 100 * teams + 0.5: radius for x, radius in row.ranks.dots}
            expected = {rank + 1: 9 * often[rank] ** 0.5 for rank in range(teams) if often[rank] >= 0.005}
            assert sorted(seen) == pytest.approx(sorted(expected), abs=0.02)
            assert [seen[rank] for rank in sorted(seen)] == pytest.approx(list(expected.values()), abs=0.06)
        assert row.scores.best == sum(values[at] == values.max(axis=0))
        assert row.scores.zeros == f"{100 * (values[at] == 0).mean():.0f} %"
        for (rank, differs), rule in zip(row.rules, found.rules.values(), strict=True):
            if not rule.is_defined:
                assert (rank, differs) == ("–", False)
                continue
            is_shared = (rule.ranks == rule.ranks[at]).sum() > 1
            assert rank == f"{'=' if is_shared else ''}{rule.ranks[at]}"
            assert differs == (rule.ranks[at] != found.ranking.ranks[at])
        _check_pairs(found, at, row.pairs)


def _check_pairs(found: TaskAnalysis, at: int, pairs: SimpleNamespace | None) -> None:
    shown = min(len(found.names), 60)
    assert (pairs is None) == (at >= shown)
    if pairs is None:
        return
    filled = np.zeros(shown, dtype=bool)
    for x, width in pairs.better:
        first = round(float(x[:-1]) / 100 * shown)
        filled[first : first + round(float(width[:-1]) / 100 * shown)] = True
    assert filled.tolist() == found.better[at, :shown].tolist()
    assert pairs.wins == filled.sum()
    if len(found.names) > 20:
        assert pairs.p_values == []
        return
    for other, text in enumerate(pairs.p_values):
        p = found.tests["wilcoxon"].holm[at, other]
        equal = bool((found.task.values[at] == found.task.values[other]).all())
        assert text == ("" if other == at else "same" if equal else "< 0.001" if p < 0.0005 else f"{p:.3f}")


@pytest.mark.parametrize(
    ("settings", "is_shown"),
    [
        (SETTINGS, True),
        (SETTINGS.replace('stage = "final"', 'stage = "preliminary"'), False),
        (SETTINGS.replace('stage = "final"', 'stage = "preliminary"\nper_query = "public"'), True),
        (SETTINGS.replace('primary = "MARp"', 'primary = "NumRelRet"').replace('"NumRelRet"]', '"RR"]'), False),
    ],
    ids=["final", "preliminary", "public", "sum"],
)
def test_an_analysis_needs_public_scores_of_queries_and_a_mean(settings: str, is_shown: bool, tmp_path: Path) -> None:
    """While final scores are hidden, nothing shows how the scores of single queries are distributed."""
    write_challenge(tmp_path / "challenge", settings)
    assert here("run", tmp_path / "challenge").code == 0

    assert (tmp_path / "challenge/site/main/analysis.html").exists() == is_shown
    assert ('href="analysis.html"' in page(tmp_path / "challenge", "index.html")) == is_shown


# Figures


def test_the_chart_of_leaders_has_scored_entries_only() -> None:
    """Entries that were rejected, and those without a possible time, are in no line."""
    board = boards.board(boards.challenge().tracks[0])
    row = board.rows[0]
    wrong = tuple(
        replace(boards.in_state(entry, "misdated"), received=entry.received - timedelta(days=4000))
        for entry in row.entries
    )

    (shown,) = board_figures(replace(board, rows=board.rows[:3]))
    (without,) = board_figures(replace(board, rows=(replace(row, entries=(*row.entries, *wrong)), *board.rows[1:3])))

    assert shown.caption.endswith("Final MARp of the entry that counted at each time; a ring is an entry.")
    assert shown.svg.text == without.svg.text
    assert shown.narrow is not None
    assert shown.narrow.text != shown.svg.text


def test_a_board_without_two_scores_has_no_chart() -> None:
    """One entry is no line."""
    board = boards.board(boards.challenge().tracks[0])
    first = replace(board.rows[0], entries=board.rows[0].entries[:1])

    assert board_figures(replace(board, rows=())) == ()
    assert board_figures(replace(board, rows=(first,))) == ()


@pytest.mark.parametrize(
    ("mean", "words"),
    [(0.4, "no more than chance explains"), (1.5, "more than chance explains"), (0.05, "less than chance would")],
)
def test_moves_are_compared_with_chance(mean: float, words: str) -> None:
    """The caption of the chart says on which side of the middle 95 % of chance they are."""
    board = boards.board(boards.challenge().tracks[0])
    moved = ShakeUp(moved=3, mean_move=mean, expected_range=(0.1, 1.2))

    figure = analysis_figures(replace(board, shake_up=moved))[0]

    assert figure.caption == (
        f"3 teams moved, by {mean:.1f} ranks in the mean over all teams: {words}; random preliminary queries would "
        "move them by 0.1 to 1.2."
    )


# In a browser


class TestInBrowser:
    """The pages of a challenge that was run."""

    pytestmark = IN_BROWSER

    @pytest.mark.parametrize(
        "dark", [pytest.param(False, id="light"), pytest.param(True, id="dark", marks=pytest.mark.endurance)]
    )
    @pytest.mark.parametrize(
        ("name", "width"),
        [
            *(("main/analysis.html", width) for width in (320, 768, 1440)),
            *((name, 1440) for name in ("index.html", "measures.html", "404.html", "main/index.html")),
            ("teams/even-tide.html", 1440),
        ],
    )
    def test_a_page_is_sound(self, tab: Page, folder: Path, name: str, width: int, dark: bool) -> None:
        """Every kind of page, and that of the analysis at every width."""
        check_page(tab, (folder / "site" / name).as_uri(), width, dark=dark)
