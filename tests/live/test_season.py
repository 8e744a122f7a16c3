"""A simulated season: its record and its boards equal those of an oracle at every phase end and as of any event."""

from __future__ import annotations

import csv
import json
import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from example.season import SIZES, Simulation
from example.season_plan import ERRATUM, FIRST_RUN, SEASON, Season, season
from scorer.board.board import Board, counting_scores, score_at
from scorer.board.build import board
from scorer.live.entries import entries
from scorer.live.now import Now, published_log
from scorer.organising.render import boards
from scorer.settings.tracks import Challenge
from scorer.store.snapshot import Cache, Snapshot
from tests.oracles import (
    LiveRecord,
    LiveRow,
    Until,
    live_board,
    live_entries,
    live_excluded,
    live_late,
    live_log_end,
    live_public,
    live_selected,
    live_solution,
)
from tests.pages import read

pytestmark = pytest.mark.usefixtures("no_pictures")

SECOND = timedelta(seconds=1)

SMALL = {"teams": 12, "files": 50, "runs": 4}
"""Every kind of step, and a file on each side of every boundary, are in a season of any size."""


def moments(plan: Season) -> list[datetime]:
    """The times to compare at: the last second before each phase closes and the first one after it, the beginnings of
    freezes, some random times, and the end.
    """
    chance = random.Random(plan.seed)
    found = {plan.steps[-1].at}
    for track in plan.tracks:
        for phase in track.phases:
            closes = phase.end + phase.grace
            found |= {closes - SECOND, closes}
            found |= {phase.end - phase.freeze} if phase.freeze else set()
    found |= {FIRST_RUN + chance.random() * (plan.steps[-1].at - FIRST_RUN) for _ in range(2)}
    found |= {step.at + timedelta(hours=chance.randrange(1, 30)) for step in plan.steps if step.kind == "extend"}
    return sorted(found)


def compare(live: LiveRecord, view: Snapshot, challenge: Challenge, now: datetime) -> None:
    """Fail if the record, the entries, the public boards or the public log of a view are not those of the oracle."""
    assert [(event.index, event.track, event.kind, event.at) for event in view.events()] == [
        (event.index, event.track, event.kind, event.at) for event in live.events
    ]
    log = published_log(view, challenge.tracks)
    assert [(line.index, line.kind) for line in log.lines] == [
        (event.index, event.kind) for event in live.events[: live_log_end(live, now)]
    ]
    for track, public in zip(challenge.tracks, boards(view, challenge.tracks, Cache({})), strict=True):
        solution = live_solution(live.events, (), track.name)
        assert entry_values(view, challenge, track.name) == [
            (each.index, each.team, each.file, each.digest, each.presence, each.admission, each.outcome, each.phase)
            for each in live_entries(live, track.name, (), now, solution)
        ]
        assert_same_board(live, public, *live_public(live, track.name, now))


def entry_values(view: Snapshot, challenge: Challenge, name: str) -> list[tuple[object, ...]]:
    """What the rules of a track say about each entry."""
    track = challenge.track(name)
    found = entries(Now.of(view, track)).all
    return [
        (each.index, each.team, each.file, each.digest, each.presence, each.admission, each.outcome, each.phase)
        for each in found
    ]


def assert_same_board(live: LiveRecord, found: Board, until: Until, now: datetime) -> None:
    """Fail if a board has other rows, ranks, scores or entries than that of the oracle."""
    rows, every = live_board(live, found.track.name, until, now)
    assert len(found.rows) == len(rows)
    assert {
        row.team.folder: LiveRow(
            row.rank,
            row.preliminary_rank,
            row.entry.index if row.entry else None,
            found.shown_scores(row.entry)[0],
            row.looks if found.shows_looks else -1,
        )
        for row in found.rows
    } == rows
    selected = live_selected(live.events, until)
    end = max(now, found.now, *(event.at for event in selected))  # the clock of a run was set back
    for row in found.rows:
        score = None if row.team.folder in live_excluded(selected) else rows[row.team.folder].score
        last = max([end, *(entry.received for entry in row.entries if entry.may_count)])  # a clock may be ahead
        assert score_at(counting_scores(found, row), last) == score  # where the line of the figure ends
    by_index = {each.index: each for each in every}
    for row in found.rows:
        for each in row.entries:
            wanted = by_index[each.index]
            values = (each.presence, each.admission, each.outcome, each.phase, each.is_counting, each.received)
            assert values == (
                wanted.presence, wanted.admission, wanted.outcome, wanted.phase, wanted.counts, wanted.received,
            )  # fmt: skip
            assert each.answer == wanted.answer
            assert (each.preliminary[0], each.final[0]) == (wanted.preliminary, wanted.final)
    late = live_late(every, selected)
    assert {row.team.folder: row.entry.index for row in found.late if row.entry} == late


def closes(plan: Season) -> set[datetime]:
    """When the second phase of the first track closes, as planned, and the end."""
    phase = plan.tracks[0].phases[1]
    return {plan.steps[-1].at, phase.end + phase.grace}


def assert_same_site(live: LiveRecord, site: Path, now: datetime) -> None:
    """Fail if a published board lacks a team of the oracle, has one twice, or shows another rank or score of it."""
    for track in live.season.tracks:
        rows, _ = live_board(live, track.name, *live_public(live, track.name, now))
        document = json.loads((site / track.name / "leaderboard.json").read_text(encoding="utf-8"))
        score = document["columns"][3]
        assert "MARp" in score
        assert sorted((row["id"], row["rank"], row[score]) for row in document["rows"]) == sorted(
            (team, row.rank, row.score) for team, row in rows.items()
        )
        shown = [(row["team"], row["rank"], row[score]) for row in document["rows"]]
        text = (site / track.name / "leaderboard.csv").read_text(encoding="utf-8")
        assert [
            (row["team"], int(row["rank"]) if row["rank"] else None, float(row[score]) if row[score] else None)
            for row in csv.DictReader(text.splitlines())
        ] == shown
        table = read((site / track.name / "index.html").read_text(encoding="utf-8")).of_class("board")
        heads = [each for each in table.all("th") if each.attributes.get("scope") == "row"]
        assert [next(head.all("a")).attributes["href"] for head in heads] == [
            f"../teams/{row['id']}.html" for row in document["rows"]
        ]
        assert all((site / "teams" / f"{team}.html").is_file() for team in rows)


def test_the_boards_of_a_season_equal_the_oracle(tmp_path: Path) -> None:
    """At the boundaries of all phases, and at random times; the record has the same events in the same order."""
    check(season(**SMALL), tmp_path / "season")


@pytest.mark.endurance
def test_the_boards_of_a_full_season_equal_the_oracle(tmp_path: Path) -> None:
    """The same with 60 teams, about 2,500 files and a run every two days."""
    check(season(**SIZES["full"]), tmp_path / "season")


def check(plan: Season, folder: Path) -> None:
    """Carry out a season, and compare it with the oracle on the way and at the end."""
    simulation, live = Simulation(plan, folder), LiveRecord(plan)
    for moment in moments(plan):
        simulation.until(moment)
        live.until(moment)
        with simulation.opened() as (challenge, store):
            store.read(lambda view: compare(live, view, challenge, moment))  # noqa: B023
        if moment in closes(plan):
            simulation.render()
            assert_same_site(live, simulation.folder / "site", moment)
    with simulation.opened() as (challenge, store):
        store.read(lambda view: compare_the_past(live, view, challenge))


def compare_the_past(live: LiveRecord, view: Snapshot, challenge: Challenge) -> None:
    """Fail if a board as of some events or times is not that of the oracle."""
    chance = random.Random(live.season.seed)
    arrivals = [event.body["received"] for event in live.events if event.kind == "arrival"]
    untils: list[datetime | int] = [chance.randrange(1, len(live.events) + 1) for _ in range(3)]
    untils += [chance.choice(arrivals), chance.choice(live.events).at, FIRST_RUN + chance.random() * SEASON]
    for until in untils:
        if isinstance(until, datetime) and until > view.now:
            continue  # the clock of the run was wrong, or that of the file
        past = view.as_of(until)
        now = min(live.events[until - 1].at, view.now) if isinstance(until, int) else until
        for track in challenge.tracks:
            found = board(Now(past, track, is_public=True))  # the oracle has no freeze here
            assert_same_board(live, found, (until,), now)


def test_a_season_has_files_that_vanish_after_a_close_and_before_the_erratum() -> None:
    """So the comparison includes entries that are scored for the erratum without their files, also late ones."""
    plan = season(**SMALL)
    first, second = plan.tracks[0].phases[:2]
    received = {step.file: step.time for step in plan.steps if step.kind == "file" and step.at < second.start}
    vanished = [
        received[step.file]
        for step in plan.steps
        if step.track == "items" and step.kind in ("file", "delete") and second.start <= step.at < ERRATUM
        if step.file in received
    ]
    closes = first.end + first.grace
    assert {moment < closes for moment in vanished} == {True, False}
    assert len(vanished) > 10
