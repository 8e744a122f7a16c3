"""The rules in force: once a phase has started, changed files do not move the board until an erratum is applied."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from scorer.live.rules import RULES
from scorer.settings.tracks import Track
from tests.live_challenges import ANNOUNCED, DAY, END, FLAGGED, ONE, START, TWO, Live, lists, ranking, solution
from tests.strategies import some

HOUR = timedelta(hours=1)

CHANGED_SOLUTION = solution().replace("q0:1:a|1", "q0:1:b|1")
"""A wrong answer to the first query is right now."""

CHANGES = {
    "list_length": ("list_length = 2", "list_length = 1"),
    "cutoffs": ("list_length = 2", "list_length = 2\ncutoffs = [1]"),
    "primary": ('primary = "P@1"', 'primary = "P@2"'),
    "decimals": ("decimals = 3", "decimals = 0"),
    "exclude": ("decimals = 3", 'decimals = 3\nexclude = "self"'),
    "clusters": ("decimals = 3", 'decimals = 3\nclusters = "{cluster}*"'),
    "missing": ("decimals = 3", 'decimals = 3\nmissing = "reject"'),
    "ties": ("decimals = 3", 'decimals = 3\nties = "order"'),
    "unjudged": ("decimals = 3", 'decimals = 3\nunjudged = "drop"'),
    "equal_ranks": ("decimals = 3", 'decimals = 3\nequal_ranks = "earlier"'),
    "entry": ("decimals = 3", 'decimals = 3\nentry = "last"'),
    "picks": ('entry = "picks"', 'entry = "picks"\npicks = 1'),
    "rows": ("decimals = 3", 'decimals = 3\nrows = "entry"'),
    "rows_per_team": ('rows = "entry"', 'rows = "entry"\nrows_per_team = 1'),
    "final": ("decimals = 3", 'decimals = 3\nfinal = "rest"'),
    "trusted_times": ("decimals = 3", "decimals = 3\ntrusted_times = true"),
    "quota": ("decimals = 3", "decimals = 3\nquota = {total = 1}"),
    "split": ("decimals = 3", "decimals = 3\nsplit = {preliminary = 0.5}"),
    "baselines": ("decimals = 3", 'decimals = 3\nbaselines = ["a"]'),
    "solution_format": ("decimals = 3", 'decimals = 3\nsolution_format = "vlnet"'),
    "machine_weight": ('checked = "people.txt"', 'checked = "people.txt"\nmachine_weight = 0.5'),
    "submission_format": ("decimals = 3", 'decimals = 3\nsubmission_format = "vlnet"'),
}
"""By key: a text of challenge.toml and what replaces it."""

FROM = {
    "picks": 'entry = "picks"',
    "rows_per_team": 'rows = "entry"',
    "machine_weight": 'checked = "people.txt"',
}
"""The settings in which a key has an effect."""

KEPT = ("primary", "missing", "picks", "quota", "split", "baselines")
"""Rules about scores, entries, teams and queries, whose values are names, tables and lists."""

OF_SEVERAL = {"overall", "visibility"}
"""Rules of several tracks, which `test_overall` and `test_visibility` change."""

Ranking = list[tuple[int | None, str, float | None]]


def set_rule(live: Live, key: str) -> None:
    """Change a rule in challenge.toml."""
    settings = live.folder / "challenge.toml"
    before, after = CHANGES[key]
    text = settings.read_text()
    assert before in text
    settings.write_text(text.replace(before, after))


def make(folder: Path, settings: str = "", key: str = "") -> Live:
    """A challenge whose phases are announced, in which a rule can be changed."""
    # All queries are one cluster, so that none may be flagged.
    live = Live.of(folder, ONE, TWO, settings=settings, flagged=0 if key == "clusters" else FLAGGED)
    (folder / "split.key").write_text("1" * 64 + "\n")
    (folder / "people.txt").write_text(solution())
    live.run(ANNOUNCED)
    return live


def send(live: Live) -> None:
    """Write files of two teams; the first one is better on the preliminary queries."""
    live.put("a/1", lists(3, 1), START)
    live.put("a/2", lists(2, 0), START + HOUR)
    live.put("b/1", lists(0, 3, "b"), START)


def started(folder: Path, settings: str = "", key: str = "") -> Live:
    """The same challenge after the first run of its first phase."""
    live = make(folder, settings, key)
    send(live)
    live.run(START + 2 * HOUR)
    return live


def ranks_of(live: Live) -> Ranking:
    """The ranking now, and after the last phase has closed."""
    return [*ranking(live.board()), *ranking(live.board(END + 100 * DAY))]


def test_every_rule_is_tested() -> None:
    """Each key that decides scores, ranks, or which entries count; all other keys may change."""
    assert set(CHANGES) == set(RULES) - OF_SEVERAL
    free = {"title", "description", "measures", "per_query", "statistics", "reveal_solution", "late_board"}
    free |= {"phases", "stage", "slices", "slices_public", "judged_bounds"}
    places = {"solution", "checked", "queries", "items", "submissions", "ignore", "file_names"}
    assert set(Track.keys()) == {*RULES, *free, *places} - OF_SEVERAL


@pytest.mark.parametrize("key", some(CHANGES, *KEPT))
def test_a_rule_that_changes_after_the_start_does_not_move_the_board(tmp_path: Path, key: str) -> None:
    """The run says which key differs, and scores later files by the recorded rules. Restored, the note is gone."""
    live = started(tmp_path, FROM.get(key, ""), key)
    before, text = ranks_of(live), (live.folder / "challenge.toml").read_text()
    set_rule(live, key)
    work = live.run(START + 3 * HOUR)

    assert work.notes == (
        f"main: {key} differs from the rules in force, which an erratum changes once a phase has started; "
        "`scorer erratum preview` shows what the change does",
    )
    assert ranks_of(live) == before
    assert live.outcomes == []
    live.put("c/1", lists(4, 4), START + 4 * HOUR)
    live.run(START + 5 * HOUR)
    assert ranking(live.board())[0] == (1, "c", 0.8)
    (live.folder / "challenge.toml").write_text(text)
    assert live.run(START + 6 * HOUR).notes == ()


@pytest.mark.parametrize("key", some(CHANGES, *KEPT))
def test_before_the_start_a_changed_rule_is_in_force_at_once(tmp_path: Path, key: str) -> None:
    """Without a note; from the start on it is the recorded one."""
    live = make(tmp_path, FROM.get(key, ""), key)
    set_rule(live, key)
    if key == "split":
        live.write_solution(solution(0))
    assert live.run(START - HOUR).notes == ()

    (live.folder / "challenge.toml").write_text((live.folder / "challenge.toml").read_text().replace("Main", "Other"))
    send(live)
    assert live.run(START + 2 * HOUR).notes == ()
    recorded, declared = live.board().track, live.track
    if key == "split":
        assert recorded.split is not None
        assert recorded.split.preliminary == Decimal("0.5")
    else:
        assert getattr(recorded, key) == getattr(declared, key)


def test_a_solution_that_changes_after_the_start_does_not_move_the_board(tmp_path: Path) -> None:
    """The archived bytes are used: for new files too, and also if the file is invalid or gone."""
    live = started(tmp_path)
    before = ranks_of(live)
    live.write_solution(CHANGED_SOLUTION)
    (note,) = live.run(START + 3 * HOUR).notes
    assert note.startswith("main: solution differs from the rules in force")
    assert ranks_of(live) == before

    live.put("c/1", "".join(f"q{number}:b,c\n" for number in range(10)), START + 4 * HOUR)
    live.put("d/1", lists(1, 0, "d"), START + 4 * HOUR)
    live.run(START + 5 * HOUR)
    assert ranking(live.board())[-2:] == [(3, "b", 0.0), (3, "c", 0.0)]
    assert (2, "d", 0.2) in ranking(live.board())
    live.write_solution(solution())
    assert live.run(START + 6 * HOUR).notes == ()


def test_before_the_start_a_changed_solution_is_used(tmp_path: Path) -> None:
    """And without phases at any time."""
    live = make(tmp_path)
    live.write_solution(CHANGED_SOLUTION)
    assert live.run(START - HOUR).notes == ()
    send(live)
    live.run(START + 2 * HOUR)
    assert ranking(live.board()) == [(1, "a", 0.4), (2, "b", 0.2)]

    other = Live.of(tmp_path / "other", settings='stage = "preliminary"')
    other.put("a/1", lists(3, 1), START)
    other.run(START + HOUR)
    other.write_solution(CHANGED_SOLUTION)
    assert other.run(START + 2 * HOUR).notes == ()
    assert ranking(other.board()) == [(1, "a", 0.4)]


def test_the_list_of_items_is_a_rule(tmp_path: Path) -> None:
    """Its bytes are archived like those of the solution."""
    (tmp_path / "items.txt").write_text("a\nb\nc\ncb\n")
    live = started(tmp_path, 'items = "items.txt"')
    before = ranks_of(live)
    (tmp_path / "items.txt").write_text("b\nc\ncb\n")
    (note,) = live.run(START + 3 * HOUR).notes

    assert note.startswith("main: items differs from the rules in force")
    assert ranks_of(live) == before


def test_several_changes_are_listed_together(tmp_path: Path) -> None:
    """In the order of challenge.toml, the files last. Titles and further measures may change; they move no rank."""
    live = started(tmp_path)
    before = ranks_of(live)
    settings = live.folder / "challenge.toml"
    settings.write_text(settings.read_text().replace('title = "Main"', 'title = "Other"\nmeasures = ["RR"]'))

    assert live.run(START + 3 * HOUR).notes == ()
    assert ranks_of(live) == before
    found = live.board()
    assert (found.track.title, found.columns) == ("Other", ("P@1", "RR"))
    assert all(row.entry and row.entry.preliminary[1] is not None for row in found.rows)

    set_rule(live, "list_length")
    set_rule(live, "decimals")
    live.write_solution(CHANGED_SOLUTION)
    (note,) = live.run(START + 4 * HOUR).notes

    assert note.startswith("main: list_length, decimals, solution differ from the rules in force")
