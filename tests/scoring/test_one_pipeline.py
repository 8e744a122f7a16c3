"""A pair has the same numbers everywhere: on the board, its pages, in `scorer compare` and in `scorer report`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from scorer.board.board import Board
from scorer.live.now import Now
from scorer.organising.render import track_task
from scorer.scoring.analysis.analysis import TaskAnalysis, analysed
from scorer.settings.loading import read_challenge
from scorer.store.store import Store
from tests.board.test_board_statistics import board_of
from tests.commands import here
from tests.seeded_challenge import BASELINE, SETTINGS, write_challenge

TEAMS = {f"team-{number:02}": 0.15 + 0.03 * number for number in range(25)}
"""So many that a ranking needs more sign flips than the fewest."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A challenge of 25 teams and a baseline that was run."""
    folder = tmp_path_factory.mktemp("many") / "challenge"
    write_challenge(folder, SETTINGS.replace("decimals = 3\n", ""), TEAMS)
    assert here("run", folder).code == 0
    return folder


@pytest.fixture(scope="module")
def board(folder: Path) -> Board:
    """The board with its statistics."""
    return board_of(folder)


@pytest.fixture(scope="module")
def page(folder: Path, board: Board) -> TaskAnalysis:
    """The analysis that the analysis page shows."""
    challenge = read_challenge(folder)
    with Store.open(challenge.database_address) as store:
        return analysed(store.read(lambda view: track_task(Now.of(view, challenge.tracks[0]), board)))


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    """The task in the report."""
    document: dict[str, Any] = json.loads(here("report", folder, "--format", "json", "-o", "-").out)
    (task,) = document["tasks"]
    return dict(task)


def compared(folder: Path, *teams: str) -> dict[str, Any]:
    """What `scorer compare` prints of some teams."""
    answer = here("compare", "--challenge", folder, "--track", "main", *teams, "--format", "json")
    assert answer.code == 0, answer.err
    document: dict[str, Any] = json.loads(answer.out)
    return document


@pytest.fixture(scope="module")
def every(folder: Path) -> dict[str, Any]:
    """What it prints of all teams."""
    return compared(folder, *TEAMS)


def test_a_pair_has_one_p_value_and_one_interval(
    folder: Path, board: Board, page: TaskAnalysis, report: dict[str, Any], every: dict[str, Any]
) -> None:
    """To the last bit, whichever teams are compared with it; so the page of a team shows the same digits."""
    names = [row.team.name for row in board.rows]
    pairs = [pair for pair in board.pairs if BASELINE not in (names[pair.row], names[pair.other])]

    assert len(pairs) > 80
    for pair in pairs:
        first, second = names[pair.row], names[pair.other]
        of_all = every["differences"][first][second]
        test = page.tests["randomisation"]
        assert pair.p_value == of_all["p"] == report["pairwise"]["randomisation"][first][second]["p"]
        assert pair.p_value == test.p[page.names.index(first), page.names.index(second)]
        assert pair.interval == tuple(of_all["interval"])
        assert (pair.difference, pair.wins, pair.ties, pair.losses) == tuple(
            of_all[key] for key in ("difference", "wins", "ties", "losses")
        )
    for pair in pairs[:: len(pairs) // 4]:
        first, second = names[pair.row], names[pair.other]
        alone = compared(folder, second, first)["differences"][first][second]
        assert (pair.p_value, pair.interval) == (alone["p"], tuple(alone["interval"]))
    least = 1 / (12_000 + 1)
    assert min(pair.p_value for pair in pairs) == least
    assert {round(pair.p_value / least, 6) % 1 for pair in pairs} == {0}


def test_a_pair_with_a_baseline_has_one_p_value(folder: Path, board: Board) -> None:
    """The flips are those of the ranked teams, also of a comparison with a baseline."""
    names = [row.team.name for row in board.rows]
    pair = next(pair for pair in board.pairs if BASELINE in (names[pair.row], names[pair.other]))
    first, second = names[pair.row], names[pair.other]

    found = compared(folder, first, second)["differences"][first][second]

    assert (pair.p_value, pair.interval, pair.difference) == (found["p"], tuple(found["interval"]), found["difference"])


def test_a_team_has_one_interval_and_one_range_of_ranks(
    board: Board, page: TaskAnalysis, report: dict[str, Any], every: dict[str, Any]
) -> None:
    """To the last bit, and the tiers are the same teams."""
    for row in board.rows:
        certainty, name = row.certainty[0], row.team.name
        assert certainty is not None
        if row.baseline:
            continue
        assert certainty.interval is not None
        assert certainty.rank_range is not None
        at = page.names.index(name)
        assert certainty.rank_range == tuple(page.simultaneous[at].tolist())
        assert certainty.interval == tuple(page.resampling.intervals[at].tolist())
        for task in (every, report):
            assert list(certainty.rank_range) == task["ranks"][name]["simultaneous"]
            assert list(certainty.interval) == task["intervals"][name]["interval"]
    tiers = board.certainty[0].tiers if board.certainty[0] else ()
    assert [[board.rows[row].team.name for row in tier.rows] for tier in tiers] == report["tiers"] == every["tiers"]


def test_the_page_of_a_team_shows_the_p_values(folder: Path, board: Board) -> None:
    """With three decimals."""
    for pair in board.pairs[:6]:
        text = (folder / "site/teams" / f"{board.rows[pair.other].team.slug}.html").read_text(encoding="utf-8")
        shown = "&lt; 0.001" if pair.p_value < 0.001 else f"{pair.p_value:.3f}"
        assert shown in text
