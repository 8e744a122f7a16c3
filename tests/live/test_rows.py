"""Boards whose rows are entries: their numbers, names, pages, and what they cannot be combined with."""

from __future__ import annotations

import csv
import io
import json
import random
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from scorer.errors import ChallengeError
from scorer.settings.loading import read_challenge
from tests.live_challenges import BEFORE, GOOD, OTHER, POOR, Live, day

QUERIES = 40
ROWS = 'rows = "entry"\nstage = "final"\n'
RUNS = [
    ("alder", "first"),
    ("birch", "run"),
    ("alder", "second"),
    ("popular", "top"),
    ("alder", "third"),
    ("birch", "b"),
]
"""Teams and names of files, in the order of receipt; no two have the same score."""


def lists(number: int) -> str:
    """The better, the higher the number."""
    found = random.Random(number).sample(range(QUERIES), 8 + 5 * number)
    return "".join(f"q{query}:{'a,b,c' if query in found else 'b,c,a'}\n" for query in range(QUERIES))


def live_of(folder: Path, rules: str, names: list[str]) -> Live:
    """A challenge with the files of `RUNS` under these names, scored and rendered."""
    live = Live.graded(folder, rules=rules, phases="")
    live.write_solution("".join(f"q{query}:0:a|1\n" for query in range(QUERIES)))
    for number, name in enumerate(names):
        live.put(name, lists(number), BEFORE + timedelta(minutes=number))
    live.run_and_render(day(6))
    return live


def document(live: Live) -> dict[str, Any]:
    """The board as JSON."""
    found: dict[str, Any] = json.loads(live.page("main/leaderboard.json"))
    return found


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Live:
    """A board with the files of `RUNS` as rows."""
    return live_of(tmp_path_factory.mktemp("rows"), ROWS, [f"{team}/{name}.txt" for team, name in RUNS])


def test_rows_have_the_numbers_of_teams_of_one_entry_each(live: Live, tmp_path: Path) -> None:
    """Scores, intervals, ranges of ranks, tiers and all statistics, also those of pairs."""
    names = ["popular.txt" if team == "popular" else f"{team}-{name}.txt" for team, name in RUNS]
    other = live_of(tmp_path, 'stage = "final"\n', names)

    rows, apart = document(live), document(other)
    own = ("id", "team", "run", "changes", "last entry")
    assert [{key: row[key] for key in row if key not in own} for row in rows["rows"]] == [
        {key: row[key] for key in row if key not in own} for row in apart["rows"]
    ]
    ids = {row["id"]: other["id"] for row, other in zip(rows["rows"], apart["rows"], strict=True)}
    statistics = json.dumps(rows["statistics"])
    for row, one in ids.items():
        statistics = statistics.replace(f'"{row}"', f'"{one}"')
    assert json.loads(statistics) == apart["statistics"]
    assert live.board().pairs == other.board().pairs
    assert len(rows["rows"]) == len(RUNS)
    assert apart["statistics"]["measures"]["nDCG@3"]["tiers"]


def test_rows_are_named_by_team_and_file(live: Live) -> None:
    """In JSON and CSV; the best first, and ids are addresses of rows on the board and in the comparison."""
    rows = document(live)["rows"]
    assert [(row["team"], row["run"]) for row in rows] == [*reversed(RUNS)]
    table = list(csv.DictReader(io.StringIO(live.page("main/leaderboard.csv"))))
    assert [(row["team"], row["run"], row["entries"]) for row in table] == [(*run, "1") for run in reversed(RUNS)]
    board, compare = live.page("main/index.html"), live.page("main/compare.html")
    for row in rows:
        assert f'id="team-{row["id"]}"' in board
        assert f'<option value="{row["id"]}"' in compare


def test_the_page_of_a_team_has_a_section_for_each_of_its_rows(live: Live) -> None:
    """There is one page for a team; no two elements of a page have the same id."""
    sites = live.challenge.site_path
    assert {path.name for path in (sites / "teams").glob("*.html")} == {"alder.html", "birch.html", "popular.html"}
    page = live.page("teams/alder.html")
    rows = [row for row in document(live)["rows"] if row["team"] == "alder"]
    for row in rows:
        assert f'<a href="../main/index.html#team-{row["id"]}">Main: <bdi>{row["run"]}</bdi></a>' in page
    for path in sites.rglob("*.html"):
        ids = re.findall(r'\bid="([^"]*)"', path.read_text(encoding="utf-8"))
        assert len(set(ids)) == len(ids), path


@pytest.mark.holds(
    r"Each entry is a row, and where rules and pages say team of .*, they mean a row\. (Of a team these .*)?"
    r"A team has at most 2 rows: the (last scored ones|ones with the best (preliminary )?P@1, .*)\. Rows of .*",
)
@pytest.mark.parametrize(
    ("entry", "kept"), [("best", ["third", "second"]), ("last", ["third", "second"]), ("picks", ["third", "second"])]
)
def test_a_team_has_at_most_so_many_rows(tmp_path: Path, entry: str, kept: list[str]) -> None:
    """The other entries are in a row without a score, and on the page of the team."""
    rules = f'{ROWS}rows_per_team = 2\nentry = "{entry}"\n'
    live = live_of(tmp_path, rules, [f"{team}/{name}.txt" for team, name in RUNS])
    rows = [row for row in document(live)["rows"] if row["team"] == "alder"]
    assert [row["run"] for row in rows] == [*kept, None]
    assert rows[-1]["rank"] is None
    assert rows[-1]["id"] == "alder"
    board = live.page("main/index.html")
    assert "Four rows in " in board
    assert ">alder: first<" not in board
    assert ">alder <" not in board  # no line of the figure is of entries that do not count
    assert "at most 2 rows" in live.page("main/rules.html")


def test_last_and_best_choose_other_rows(tmp_path: Path) -> None:
    """The best of a team came first here."""
    for entry, run in (("best", "a"), ("last", "b")):
        live = Live.graded(tmp_path / entry, rules=f'{ROWS}rows_per_team = 1\nentry = "{entry}"\n', phases="")
        live.put("alder/a.txt", GOOD, BEFORE)
        live.put("alder/b.txt", POOR, BEFORE + timedelta(minutes=1))
        live.run_and_render(day(6))
        assert document(live)["rows"][0]["run"] == run


def test_equal_names_of_one_team_are_numbered(tmp_path: Path) -> None:
    """The text of a participant stays text. An entry without a name, as the service names it, has its number."""
    live = Live.graded(tmp_path, rules=ROWS, phases="")
    unnamed = "20270105T000000Z-000001.txt"
    names = ((unnamed, POOR), ("run.txt", GOOD), ("run.csv", OTHER), ("<b>.bm25", f"{POOR}\n"))
    for number, (name, text) in enumerate(names):
        live.put(f"alder/{name}", text, BEFORE + timedelta(minutes=number))
    live.run_and_render(day(6))
    assert sorted(row["run"] for row in document(live)["rows"]) == ["<b>.bm25", "entry 1", "run", "run (2)"]
    assert "<b>.bm25</b>" not in live.page("main/index.html")
    assert "&lt;b&gt;" in live.page("main/index.html")


def test_a_row_that_is_withdrawn_or_replaced_leaves_the_board(tmp_path: Path) -> None:
    """What moved since then counts it where it was; its place is given to the next one."""
    live = Live.graded(tmp_path, rules=ROWS, phases="")
    live.put("alder/a.txt", GOOD, BEFORE)
    live.put("birch/b.txt", OTHER, BEFORE)
    live.run_and_render(day(6))
    live.path("alder/a.txt").unlink()
    live.put("alder/c.txt", POOR, day(7))
    live.run_and_render(day(8))
    rows = document(live)["rows"]
    assert [(row["rank"], row["team"], row["run"]) for row in rows] == [(1, "birch", "b"), (2, "alder", "c")]
    assert any("rank 2 then, 1 now" in change for change in rows[0]["changes"])
    assert "withdrawn" in live.page("teams/alder.html")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("rows_per_team = 2\n", 'rows_per_team: found 2, which has no effect with rows = "team"'),
        (
            'rows = "entry"\ndecimals = 3\n[[tracks.main.phases]]\nname = "one"\nstart = 2027-01-10T00:00:00Z\n'
            'end = 2027-01-20T00:00:00Z\nshows = "ladder"\nladder_step = 0.1\n',
            "which ranks teams",
        ),
    ],
)
def test_what_cannot_be_combined_is_refused(tmp_path: Path, settings: str, reason: str) -> None:
    """With the key and the reason."""
    Live.graded(tmp_path, rules=settings, phases="")
    with pytest.raises(ChallengeError, match=re.escape(reason)):
        read_challenge(tmp_path)


def test_an_overall_ranking_needs_one_row_a_team(tmp_path: Path) -> None:
    """It says which track has others."""
    live = Live.graded(tmp_path, rules='rows = "entry"\n', phases="", tracks=("main", "other"))
    live.edit('name = "Live"\n', 'name = "Live"\n[overall]\ntracks = ["main", "other"]\n')
    with pytest.raises(ChallengeError, match='found main, where rows = "entry"'):
        read_challenge(tmp_path)


def test_the_default_is_not_recorded(tmp_path: Path) -> None:
    """So the rules in force, and what was committed to, are those of versions without the key."""
    recorded = []
    for name, rules in (("plain", ""), ("team", 'rows = "team"\n'), ("entry", 'rows = "entry"\nrows_per_team = 3\n')):
        live = Live.graded(tmp_path / name, rules=f'{rules}stage = "final"\n', phases="")
        live.put("alder/a.txt", GOOD, BEFORE)
        live.run(day(6))
        (basis,) = live.events("basis")
        recorded.append(basis.values["settings"])
    assert recorded[0] == recorded[1]
    assert recorded[2] == {**recorded[0], "rows": "entry", "rows_per_team": 3}
